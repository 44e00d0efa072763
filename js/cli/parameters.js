/** The parameters of a model as a table: name, shape, who reads it as what, and whether it trains. */

/** @import { ModelParameter } from '../types.js' */

const HEAD = ['parameter', 'shape', 'read as', 'trains'];
const READERS = 2;

/** @param {readonly ModelParameter[]} parameters @returns {string[]} lines */
export function parameterTable(parameters) {
  if (parameters.length === 0) return ['parameters        none'];
  const rows = [HEAD, ...parameters.map(rowOf)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const table = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd(),
  );
  return [...table, total(parameters)];
}

/** @param {ModelParameter} parameter */
function rowOf({ name, dims, readers, trainable, reason }) {
  const shown = readers.slice(0, READERS).map(({ as, op, node }) => `${as} of ${op} '${node}'`);
  const more = readers.length > READERS ? [`${readers.length - READERS} more`] : [];
  return [name, `[${dims.join(', ')}]`, [...shown, ...more].join(', '), trainable ? 'yes' : `no: ${reason}`];
}

/** @param {readonly ModelParameter[]} parameters */
function total(parameters) {
  const sizeOf = (/** @type {readonly ModelParameter[]} */ some) =>
    some.reduce((sum, { size }) => sum + size, 0).toLocaleString('en');
  const trained = parameters.filter(({ trainable }) => trainable);
  return `parameters        ${sizeOf(parameters)}, of which ${sizeOf(trained)} train by default`;
}
