// Data for a model: what the readers of tables, pictures and arrays give, and the share that is held out.

/**
 * @typedef {import('../js/types.js').Tensor} Tensor
 * @typedef {{ inputs: Record<string, Tensor>, labels: Tensor }} Examples labels: int64 class indices (N), or float32
 * targets (N, columns)
 * @typedef {object} Data
 * @property {'table' | 'pictures' | 'arrays' | 'random'} kind
 * @property {string} words what was understood, a sentence
 * @property {readonly string[]} warnings
 * @property {number} count of the examples, those that are held out too
 * @property {'classes' | 'numbers'} task
 * @property {readonly string[]} [classes]
 * @property {Examples} learned
 * @property {Examples} [heldOut] absent: they are few
 * @property {number[]} judged the places of those that are held out; of all where none are
 * @property {string[]} head the names of what `example` gives
 * @property {(place: number) => (Node | string)[]} example
 * @property {Record<string, any>} read the way in which it was read, for the code
 */

/** Fewer examples than these are all learned, and judged too. */
export const FEW = 10;

/**
 * Rows of a tensor in another. It stands in the code that the page shows, as it is here.
 * @param {Tensor} tensor @param {readonly number[]} rows @param {typeof import('../js/index.js').Tensor} Tensor
 */
export function rowsOf({ type, data, dims }, rows, Tensor) {
  const width = dims.slice(1).reduce((a, b) => a * b, 1);
  const taken = new data.constructor(rows.length * width);
  rows.forEach((row, i) => taken.set(data.subarray(row * width, (row + 1) * width), i * width));
  return new Tensor(type, taken, [rows.length, ...dims.slice(1)]);
}

/**
 * Every fifth example is held out.
 * @param {Examples} all @param {typeof import('../js/index.js').Tensor} Tensor
 * @returns {Pick<Data, 'learned' | 'heldOut' | 'judged'>}
 */
export function split(all, Tensor) {
  const places = Array.from({ length: all.labels.dims[0] }, (_, i) => i);
  if (places.length < FEW) return { learned: all, judged: places };
  const taken = (/** @type {number[]} */ rows) => ({
    inputs: Object.fromEntries(Object.entries(all.inputs).map(([name, t]) => [name, rowsOf(t, rows, Tensor)])),
    labels: rowsOf(all.labels, rows, Tensor),
  });
  const judged = places.filter((i) => i % 5 === 4);
  return { learned: taken(places.filter((i) => i % 5 !== 4)), heldOut: taken(judged), judged };
}
