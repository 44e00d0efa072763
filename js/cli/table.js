/** Data sets in text: CSV with a line of names, and JSON lines, each line an example. */

import { sentenceOf } from '../base/errors.js';
import { numberOf, tableOf, textOf, unreadable as bad } from '../data/csv.js';
import { indicesOf } from './classes.js';
import { readData } from './files.js';

/** @import { ValueInfo } from '../types.js' */
/** @import { Columns, Reading } from './arrays.js' */
/** @import { Raw } from './npy.js' */

/** Dims of a tensor at most, as the engine has it. */
const RANK_MOST = 8;

/**
 * @param {string} file
 * @param {readonly ValueInfo[]} wanted the labels last
 * @param {Reading} options
 * @returns {Promise<Columns>}
 */
export async function readCsv(file, wanted, options) {
  const { names, rows, decimal } = tableOf(file, textOf(file, await readData(file)));
  const places = placesOf(file, names, wanted);
  return Object.fromEntries(
    wanted.map((input) => {
      const { name } = input;
      const from = `${file}: ${name}`;
      const cells = rows.flatMap((row) => places[name].map((place) => row[place]));
      const raw = namesClasses(input, wanted, cells, options)
        ? indicesOf(from, cells, options)
        : numbersOf(from, cells, places[name].length, decimal);
      return [name, { from, raw }];
    }),
  );
}

/**
 * The columns of each input: those named NAME, or NAME.0, NAME.1 …; the others belong to the one input without any.
 * @param {string} file
 * @param {string[]} names
 * @param {readonly ValueInfo[]} wanted
 * @returns {Record<string, number[]>}
 */
function placesOf(file, names, wanted) {
  const columnsOf = (/** @type {string} */ input) =>
    names.flatMap((name, i) =>
      name === input || (name.startsWith(`${input}.`) && /^\d+$/.test(name.slice(input.length + 1))) ? [i] : [],
    );
  const places = Object.fromEntries(wanted.map(({ name }) => [name, columnsOf(name)]));
  const label = wanted[wanted.length - 1].name;
  const usual = names.findIndex((name) => ['label', 'class'].includes(name.toLowerCase()));
  if (!places[label].length && usual >= 0) places[label] = [usual];
  const taken = Object.values(places).flat();
  const rest = names.flatMap((_, i) => (taken.includes(i) ? [] : [i]));
  const without = wanted.filter(({ name }) => !places[name].length).map(({ name }) => name);
  if (without.length > 1 || without.includes(label) || (without.length && !rest.length))
    throw bad(`${file} has no column '${without.at(-1)}', which the model takes; it has ${names.join(', ')}`);
  return without.length ? { ...places, [without[0]]: rest } : places;
}

/**
 * True if a column has labels by name, not by index.
 * @param {ValueInfo} input
 * @param {readonly ValueInfo[]} wanted the labels last
 * @param {readonly unknown[]} cells
 * @param {Reading} options
 */
function namesClasses(input, wanted, cells, { classes }) {
  if (!input.labels && input !== wanted.at(-1)) return false;
  const known = new Set(classes);
  return cells.some((cell) => typeof cell === 'string' && (known.has(cell) || (cell !== '' && isText(cell))));
}

/**
 * @param {string} from @param {string[]} cells @param {number} columns @param {string} decimal
 * @returns {Raw}
 */
function numbersOf(from, cells, columns, decimal) {
  const odd = cells.findIndex((cell) => isText(cell, decimal));
  if (odd >= 0)
    throw bad(`${from}: example ${Math.floor(odd / columns) + 1} has '${cells[odd]}' where a number is wanted`);
  const data = Float64Array.from(cells, (cell) => numberOf(cell, decimal));
  const rows = cells.length / columns;
  return { type: 'float64', dims: columns === 1 ? [rows] : [rows, columns], data };
}

/** NaN is a number here, as in NumPy. @param {string} cell @param {string} [decimal] */
const isText = (cell, decimal) => cell.toLowerCase() !== 'nan' && Number.isNaN(numberOf(cell, decimal));

/**
 * Each line is an object with a number, a nested array of numbers, or as a label the name of a class, for each input.
 * @param {string} file
 * @param {readonly ValueInfo[]} wanted
 * @param {Reading} options
 * @returns {Promise<Columns>}
 */
export async function readJsonLines(file, wanted, options) {
  const examples = textOf(file, await readData(file))
    .split('\n')
    .flatMap((line, i) => (line.trim() ? [parsed(file, line, i + 1)] : []));
  if (!examples.length) throw bad(`${file} has no example: wanted is an object in each line`);
  const column = (/** @type {ValueInfo} */ input) => {
    const from = `${file}: ${input.name}`;
    const values = examples.map((example) => inputOf(file, example, input.name));
    const areNames = values.every((value) => typeof value === 'string') && namesClasses(input, wanted, values, options);
    return { from, raw: areNames ? indicesOf(from, values, options) : nested(from, values) };
  };
  return Object.fromEntries(wanted.map((input) => [input.name, column(input)]));
}

/** @param {string} file @param {string} line @param {number} number */
function parsed(file, line, number) {
  try {
    return { number, value: JSON.parse(line) };
  } catch (error) {
    throw bad(`${file}: line ${number} is not JSON: ${sentenceOf(error)}`);
  }
}

/** @param {string} file @param {{ number: number, value: any }} example @param {string} name */
function inputOf(file, { number, value }, name) {
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, name)) return value[name];
  throw bad(`${file}: line ${number} has no '${name}', which the model takes`);
}

/** @param {string} from @param {unknown[]} values @returns {Raw} */
function nested(from, values) {
  const dims = dimsOf(values[0]);
  const data = values.flatMap((value, i) => {
    const shape = dimsOf(value);
    if (String(shape) !== String(dims)) throw bad(`${from}: example ${i + 1} is [${shape}], and the first [${dims}]`);
    const flat = /** @type {unknown[]} */ ([value].flat(RANK_MOST + 1));
    const odd = flat.find((cell) => typeof cell !== 'number' && typeof cell !== 'boolean');
    if (odd !== undefined || flat.length !== dims.reduce((size, d) => size * d, 1))
      throw bad(`${from}: example ${i + 1} must be numbers [${dims}], not ${start(value)}`);
    return flat.map(Number);
  });
  return { type: 'float64', dims: [values.length, ...dims], data: Float64Array.from(data) };
}

/** The dims of nested arrays, down to the rank of a tensor. @param {unknown} value @returns {number[]} */
const dimsOf = (value, left = RANK_MOST) =>
  Array.isArray(value) && left ? [value.length, ...(value.length ? dimsOf(value[0], left - 1) : [])] : [];

/** The beginning of a value as JSON. @param {unknown} value */
function start(value) {
  try {
    return JSON.stringify(value).slice(0, 60);
  } catch {
    return 'arrays nested so deep'; // JSON.stringify has no room for them
  }
}
