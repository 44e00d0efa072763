/** Columns of a table: their types, guessed from the cells; cells to numbers; numbers to the rows of a tensor. */

import { isKind } from '../base/kind.js';
import { Tensor } from '../base/tensor.js';
import { numberOf, unreadable } from './csv.js';

/** @import { TableColumn } from '../types.js' */
/**
 * @typedef {TableColumn['type']} ColumnType
 * @typedef {Float64Array | Int32Array} Values numbers, NaN where a cell is missing; or indices of categories, -1 there
 * @typedef {{ where: string, decimal: string, isMissing: (cell: string) => boolean, warnings: string[] }} Reader
 */

/** @type {readonly ColumnType[]} */
export const TYPES = ['number', 'boolean', 'category'];
/** Texts that are no value: pandas' list, and the question mark of the UCI repository. */
const NO_VALUES = [
  ...['', '?', '#N/A', '#N/A N/A', '#NA', '-1.#IND', '-1.#QNAN', '-NaN', '-nan', '1.#IND', '1.#QNAN', '<NA>', 'N/A'],
  ...['NA', 'NULL', 'NaN', 'None', 'n/a', 'nan', 'null'],
];
/** More texts than these, and than half of the cells up to MOST_CATEGORIES, are no categories. */
const FEW_CATEGORIES = 20;
const MOST_CATEGORIES = 100;
const DATE = /^(?:\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?:[T ].*)?|\d{1,2}:\d\d(?::\d\d.*)?)$/;
const BOOLEAN = /^(?:true|false)$/i;

/** @param {readonly string[]} [more] */
export function missingValues(more = []) {
  const all = new Set([...NO_VALUES, ...more]);
  return (/** @type {string} */ cell) => all.has(cell);
}

/**
 * The type of a column that has a value, or a sentence that says why it has none.
 * @param {string} name @param {readonly string[]} cells @param {Reader} reader
 * @returns {{ type?: ColumnType, refusal?: string }}
 */
export function guessType(name, cells, { decimal, isMissing }) {
  const present = cells.filter((cell) => !isMissing(cell));
  const texts = present.filter((cell) => Number.isNaN(numberOf(cell, decimal)));
  if (!texts.length) return { type: 'number' };
  if (present.every((cell) => BOOLEAN.test(cell))) return { type: 'boolean' };
  const [first] = texts;
  const place = `'${first}' in example ${cells.indexOf(first) + 1}`;
  const isMost = (/** @type {number} */ count) => 2 * count > present.length;
  if (!isMost(texts.length))
    return { refusal: `column '${name}' has numbers, and ${place}: is it one of naValues, or the type category?` };
  if (isMost(texts.filter((cell) => DATE.test(cell)).length))
    return { refusal: `column '${name}' has dates (${place}): ignore it, or put numbers there, as the days since one` };
  const different = new Set(texts).size;
  if (different > Math.max(FEW_CATEGORIES, Math.min(MOST_CATEGORIES, present.length / 2)))
    return {
      refusal: `column '${name}' has ${different} different texts (${place}): ignore it, or say the type category`,
    };
  return { type: 'category' };
}

/** Numbers by their size, other texts by the alphabet. @param {Iterable<string>} texts */
export function sorted(texts) {
  const all = [...new Set(texts)];
  const areNumbers = all.every((text) => !Number.isNaN(numberOf(text)));
  return areNumbers ? all.sort((a, b) => numberOf(a) - numberOf(b)) : all.sort();
}

/**
 * @param {Pick<TableColumn, 'name' | 'role' | 'type' | 'categories'>} column
 * @param {readonly string[]} cells @param {Reader} reader
 * @returns {Values}
 */
export function valuesOf(column, cells, reader) {
  if (column.type === 'category') return indicesOf(column, cells, reader);
  const parse = column.type === 'number' ? numberOf : truthOf;
  return Float64Array.from(cells, (cell, i) => {
    if (reader.isMissing(cell)) return Number.NaN;
    const value = parse(cell, reader.decimal);
    if (Number.isFinite(Math.fround(value))) return value;
    const wanted = column.type === 'number' ? 'a finite number' : 'true or false';
    throw unreadable(
      `${reader.where}: column '${column.name}' has '${cell}' in example ${i + 1} where ${wanted} is wanted`,
    );
  });
}

/** True and false, or 1 and 0. @param {string} cell */
function truthOf(cell) {
  if (BOOLEAN.test(cell)) return Number(cell.toLowerCase() === 'true');
  return cell === '1' || cell === '0' ? Number(cell) : Number.NaN;
}

/**
 * @param {Pick<TableColumn, 'name' | 'role' | 'categories'>} column
 * @param {readonly string[]} cells @param {Reader} reader
 */
function indicesOf({ name, role, categories = [] }, cells, { where, isMissing, warnings }) {
  const places = new Map(categories.map((category, i) => [category, i]));
  const indices = Int32Array.from(cells, (cell) => (isMissing(cell) ? -1 : (places.get(cell) ?? -1)));
  const odd = cells.findIndex((cell) => !isMissing(cell) && !places.has(cell));
  if (odd < 0) return indices;
  const place = `column '${name}' has '${cells[odd]}' in example ${odd + 1}, which is none of its`;
  if (role === 'target') throw unreadable(`${where}: ${place} classes ${categories.join(', ')}`);
  warnings.push(`${place} categories: all of them are 0 there`);
  return indices;
}

/** True for a missing cell, or a category that is not known. @param {Values} values @param {number} row */
const isAbsent = (values, row) => (isKind(values, 'Int32Array') ? values[row] < 0 : Number.isNaN(values[row]));

/**
 * Mean and variance of numbers in some rows, missing ones at the mean, as scikit-learn's SimpleImputer and
 * StandardScaler have them; the variance of what is always the same is 1.
 * @param {Values} values @param {readonly number[]} rows
 */
export function momentsOf(values, rows) {
  if (isKind(values, 'Int32Array')) return {};
  const present = rows.filter((row) => !isAbsent(values, row));
  const mean = present.reduce((sum, row) => sum + values[row], 0) / Math.max(present.length, 1);
  const squares = present.reduce((sum, row) => sum + (values[row] - mean) ** 2, 0);
  return { mean, variance: squares / rows.length || 1 };
}

/** The elements of a row that a column takes: a number, or one for each category. @param {TableColumn} column */
export const featuresOf = ({ name, categories }) => categories?.map((category) => `${name}=${category}`) ?? [name];

/**
 * The rows of a tensor: each column's number, or a 1 at its category.
 * @param {readonly TableColumn[]} columns @param {readonly Values[]} values @param {readonly number[]} rows
 */
export function encode(columns, values, rows) {
  const widths = columns.map((column) => featuresOf(column).length);
  const width = widths.reduce((sum, width) => sum + width, 0);
  const data = new Float32Array(rows.length * width);
  let at = 0;
  columns.forEach(({ categories, mean = 0 }, c) => {
    rows.forEach((row, i) => {
      const absent = isAbsent(values[c], row);
      if (!categories) data[i * width + at] = absent ? mean : values[c][row];
      else if (!absent) data[i * width + at + values[c][row]] = 1;
    });
    at += widths[c];
  });
  return new Tensor('float32', data, [rows.length, width]);
}
