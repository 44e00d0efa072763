/** A table of numbers and texts to the tensors that a network learns from, and the same for new rows. */

import { checkSignal, checkWhole, invalid, nameOf, sentenceOf } from '../base/errors.js';
import { isKind } from '../base/kind.js';
import { ownOptions } from '../base/own-options.js';
import { readSource } from '../sources/source.js';
import { numberOf, tableOf, textOf, unreadable } from './csv.js';
import { missingValues, TYPES } from './table-columns.js';
import { encodeAgain, encodeAnew } from './table-encoding.js';

/** @import { Source, Table, TableOptions } from '../types.js' */
/** @import { Loaded } from './table-encoding.js' */

/** Options that the encoding of a table holds already. */
const LEARNED = /** @type {const} */ (['target', 'task', 'types', 'ignore', 'validation', 'seed']);
export const TABLE_KEYS = /** @type {const} */ ([
  ...LEARNED,
  ...['columns', 'missing', 'naValues', 'header', 'separator', 'decimal', 'encoding', 'input', 'signal', 'onProgress'],
]);

/**
 * @param {Source | readonly Readonly<Record<string, unknown>>[]} source
 * @param {TableOptions} [wish]
 * @returns {Promise<Table>}
 */
export async function readTable(source, wish = {}) {
  const options = ownOptions('readTable', wish, TABLE_KEYS);
  checkOptions(options);
  const loaded = await load(source, options);
  return options.columns ? encodeAgain(loaded, options.columns, options) : encodeAnew(loaded, options);
}

/** @param {TableOptions} options */
function checkOptions({ columns, ...options }) {
  const checkChoice = (
    /** @type {string} */ name,
    /** @type {unknown} */ value,
    /** @type {readonly unknown[]} */ known,
  ) => {
    if (value !== undefined && !known.includes(value))
      throw invalid(`readTable: ${name} is ${known.map((word) => `'${word}'`).join(' or ')}, not ${nameOf(value)}`);
  };
  checkChoice('task', options.task, ['regression', 'classification']);
  checkChoice('missing', options.missing, ['fill', 'drop', 'refuse']);
  checkChoice('decimal', options.decimal, ['.', ',']);
  for (const [name, type] of Object.entries(options.types ?? {})) checkChoice(`types: ${name}`, type, TYPES);
  const { separator, validation = 0, seed = 0 } = options;
  if (separator !== undefined && (typeof separator !== 'string' || !/^[^"\r\n]$/.test(separator)))
    throw invalid(`readTable: separator is one character, not ${nameOf(separator)}`);
  if (!(validation >= 0 && validation < 1))
    throw invalid(`readTable: validation is a share below 1, not ${validation}`);
  checkWhole('readTable: seed', seed, 0);
  for (const name of /** @type {const} */ (['ignore', 'naValues', 'header']))
    if (options[name] !== undefined && !isTexts(options[name]))
      throw invalid(`readTable: ${name} is an array of texts, not ${nameOf(options[name])}`);
  if (!columns) return;
  const twice = LEARNED.find((name) => options[name] !== undefined);
  if (twice) throw invalid(`readTable: ${twice} is for a table that is read anew, and columns say how it was`);
  if (!Array.isArray(columns) || !columns.every((column) => column?.name && TYPES.includes(column.type)))
    throw invalid('readTable: columns are those that an earlier readTable gave');
}

/** @param {unknown} value */
const isTexts = (value) => Array.isArray(value) && value.every((text) => typeof text === 'string');

/**
 * @param {Source | readonly Readonly<Record<string, unknown>>[]} source @param {TableOptions} options
 * @returns {Promise<Loaded>}
 */
async function load(source, options) {
  const where = sourceName(source);
  const table = Array.isArray(source)
    ? objectsOf(source, options)
    : tableOf(where, await cellsIn(where, /** @type {Source} */ (source), options), options);
  const twice = table.names.find((name, i) => name && table.names.indexOf(name) !== i);
  if (twice !== undefined) throw unreadable(`${where} has two columns '${twice}'`);
  if (!options.header && areNumbers(table.names))
    throw unreadable(`${where} has numbers in its first line: say by header how the columns are called`);
  const warnings = /** @type {string[]} */ ([]);
  if (table.decimal === ',' && !options.decimal) warnings.push("numbers are read with decimal commas: '1,5' is 1.5");
  return { where, ...table, isMissing: missingValues(options.naValues), warnings };
}

/** True for an example, false for the names that pandas gives: 0, 1, 2 …. @param {readonly string[]} names */
const areNumbers = (names) =>
  names.every((name) => !Number.isNaN(numberOf(name))) && names.some((name, i) => name !== String(i));

/** @param {unknown} source */
function sourceName(source) {
  if (isKind(source, 'URL')) return source.href;
  if (typeof source === 'string' && !isText(source)) return source;
  return (isKind(source, 'Blob') && 'name' in source && String(source.name)) || 'the table';
}

/** A text of several lines, of none or of tags is the table itself, not where one is. @param {string} source */
const isText = (source) => /[\r\n]|^\s*</.test(source) || !source.trim();

/** The text, if it is no web page. @param {string} where @param {Source} source @param {TableOptions} options */
async function cellsIn(where, source, options) {
  const text = await textIn(where, source, options);
  if (/^\s*<(!doctype|html)/i.test(text))
    throw unreadable(`${where} is a web page, not a table: is the file on the server?`);
  return text;
}

/** @param {string} where @param {Source} source @param {TableOptions} options */
async function textIn(where, source, { encoding, signal, onProgress }) {
  checkSignal(signal);
  if (typeof source === 'string' && isText(source)) return source;
  const bytes = await readSource('table', source, { signal, onProgress });
  try {
    return textOf(where, bytes, encoding);
  } catch (error) {
    throw encoding ? error : unreadable(`${sentenceOf(error)}: name its encoding, as windows-1252`);
  }
}

/** @param {readonly Readonly<Record<string, unknown>>[]} objects @param {TableOptions} options */
function objectsOf(objects, { header }) {
  const odd = objects.find((row) => typeof row !== 'object' || row === null || Array.isArray(row));
  if (!objects.length || odd !== undefined)
    throw invalid(`readTable: wanted rows as objects, [{ name: value }], not ${odd ? nameOf(odd) : 'an empty array'}`);
  const names = [...(header ?? new Set(objects.flatMap((row) => Object.keys(row))))];
  const rows = objects.map((row) => names.map((name) => String(row[name] ?? '')));
  return { names, rows, decimal: '.' };
}
