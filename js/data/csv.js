/** CSV as spreadsheets, pandas and R write it: from bytes to text, from text to cells, from cells to numbers. */

import { TrainletError } from '../base/errors.js';

const SEPARATORS = [',', ';', '\t', '|'];
/** A number as NumPy reads it: 0x10 is none. */
const NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i;
const INFINITE = /^[-+]?inf(?:inity)?$/i;
/** A number whose thousands are apart: 1,234.5 or 1'234 or 1 234. */
const GROUPED = /^[-+]?\d{1,3}([,'’ \u00a0\u202f])\d{3}(?:\1\d{3})*(?:\.\d*)?$/;
/** Rows that tell what the decimal sign is. */
const ROWS_OF_DECIMALS = 1000;

/** @param {string} message */
export const unreadable = (message) => new TrainletError('source-unreadable', message);

/**
 * UTF-8, or UTF-16 with a byte order mark, as Excel's "Unicode text"; else the encoding that the caller names.
 * @param {string} where @param {Uint8Array} bytes @param {string} [encoding]
 */
export function textOf(where, bytes, encoding = markedOf(bytes)) {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    throw unreadable(`${where} is not text in ${encoding.toUpperCase()}`);
  }
}

/** @param {Uint8Array} bytes */
function markedOf({ length, 0: first, 1: second }) {
  const isWide = length % 2 === 0 && first + second === 0xff + 0xfe && first >= 0xfe;
  return isWide ? `utf-16${first === 0xff ? 'l' : 'b'}e` : 'utf-8';
}

/**
 * A cell in quotes may hold separators, ends of lines and, doubled, quotes. Empty lines are left out.
 * @param {string} where
 * @param {string} text
 * @param {string} separator
 */
function cellsOf(where, text, separator) {
  /** @type {string[][]} */
  const rows = [];
  const between = /\w/.test(separator) ? separator : `\\${separator}`;
  const end = `(${between}|\\r\\n?|\\n|$)`;
  const cell = new RegExp(` *"([^"]*(?:""[^"]*)*)" *${end}|(?! *")([^${between}\\r\\n]*)${end}`, 'y');
  cell.lastIndex = text.startsWith('\ufeff') ? 1 : 0;
  for (let row = []; cell.lastIndex < text.length || row.length; ) {
    const at = cell.lastIndex;
    const match = cell.exec(text);
    if (!match)
      throw unreadable(`${where}: line ${text.slice(0, at).split(/\r\n?|\n/).length} has a quote where none can be`);
    const [, quoted, quotedEnd, plain] = match;
    row.push(quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"'));
    if ((quotedEnd ?? match[4]) === separator) continue;
    if (row.length > 1 || row[0] !== '') rows.push(row);
    row = [];
  }
  return rows;
}

/** The separator that the first line has most often, outside quotes. @param {string} text */
function separatorOf(text) {
  const [line] = text.trimStart().split(/[\r\n]/, 1);
  const bare = line.replaceAll(/"[^"]*"/g, '');
  const counts = SEPARATORS.map((separator) => bare.split(separator).length);
  return SEPARATORS[counts.indexOf(Math.max(...counts))];
}

/**
 * A table in text: the names in its first line, unless `header` has them, and the rows below, a cell for each name.
 * @param {string} where
 * @param {string} text
 * @param {{ separator?: string, decimal?: string, header?: readonly string[] }} [options]
 */
export function tableOf(where, text, { separator = separatorOf(text), decimal, header } = {}) {
  const cells = cellsOf(where, text, separator);
  const names = header ?? cells.shift();
  if (!names || !cells.length)
    throw unreadable(`${where} has no example: wanted are a line of names and one for each example`);
  const odd = cells.findIndex((row) => row.length !== names.length);
  if (odd >= 0)
    throw unreadable(
      `${where}: example ${odd + 1} has ${cells[odd].length} cells, and there are ${names.length} names`,
    );
  return { names: [...names], rows: cells, decimal: decimal ?? decimalOf(cells, separator === ',') };
}

/**
 * The decimal sign of a table: the comma where more of its numbers have one. 1,234 counts as thousands where commas
 * part the cells.
 * @param {string[][]} rows @param {boolean} byCommas
 */
function decimalOf(rows, byCommas) {
  const withComma = byCommas ? /^[-+]?\d+,(?!\d{3}$)\d+$/ : /^[-+]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+$/;
  const withPoint = /^[-+]?(?:\d+|\d{1,3}(?:,\d{3})+)\.\d+$/;
  const cells = rows.slice(0, ROWS_OF_DECIMALS).flat();
  const count = (/** @type {RegExp} */ form) => cells.filter((cell) => form.test(cell)).length;
  return count(withComma) > count(withPoint) ? ',' : '.';
}

/** The number that a cell has; NaN: none. @param {string} cell @param {string} [decimal] */
export function numberOf(cell, decimal = '.') {
  const plain = decimal === '.' ? cell : cell.replace(/[.,]/g, (sign) => (sign === ',' ? '.' : ','));
  if (NUMBER.test(plain)) return Number(plain);
  if (GROUPED.test(plain)) return Number(plain.replace(/[,'’ \u00a0\u202f]/g, ''));
  return INFINITE.test(plain) ? (plain.startsWith('-') ? -Infinity : Infinity) : Number.NaN;
}
