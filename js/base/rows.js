/** Rows of tensors: the parts along the first dim, one for each example. */

import { Tensor } from './tensor.js';

/** @import { TypedArray } from '../types.js' */

/** @typedef {{ readonly type: string, readonly data: any, readonly dims: readonly number[] }} Numbers of any type */

/**
 * A view of row `i` of data that has `count` rows.
 * @template {TypedArray} D
 * @param {D} data @param {number} count @param {number} i
 */
export function rowOf(data, count, i) {
  const each = data.length / count;
  return /** @type {D} */ (data.subarray(i * each, (i + 1) * each));
}

/**
 * A view of each row.
 * @template {TypedArray} D
 * @param {D} data @param {number} count
 */
export const rowsOf = (data, count) => Array.from({ length: count }, (_, i) => rowOf(data, count, i));

/**
 * The rows from `from` up to, not including, `to`: a view, of strings a copy.
 * @param {Numbers} tensor @param {number} from @param {number} to
 */
export function sliceRows({ type, data, dims }, from, to) {
  const each = data.length / dims[0];
  const part = Array.isArray(data) ? data.slice(from * each, to * each) : data.subarray(from * each, to * each);
  return tensorOf(type, part, to - from, dims);
}

/** A copy of the rows with these numbers, in their order. @param {Numbers} tensor @param {ArrayLike<number>} rows */
export function takeRows({ type, data, dims }, rows) {
  const taken = new data.constructor((data.length / dims[0]) * rows.length);
  copyRows(data, dims[0], rows, taken);
  return tensorOf(type, taken, rows.length, dims);
}

/**
 * Copies the rows with these numbers, in their order, to the beginning of `target`.
 * @template {TypedArray} D
 * @param {D} data @param {number} count its rows @param {ArrayLike<number>} rows @param {D} target
 */
export function copyRows(data, count, rows, target) {
  const each = data.length / count;
  for (let i = 0; i < rows.length; i++)
    target.set(/** @type {any} */ (data.subarray(rows[i] * each, (rows[i] + 1) * each)), i * each);
}

/** A copy of the rows of all, of one type and with rows of one shape. @param {readonly Numbers[]} tensors */
export function concatRows(tensors) {
  const [{ type, data, dims }] = tensors;
  const parts = tensors.map((tensor) => tensor.data);
  const all = Array.isArray(data) ? parts.flat() : concat(data.constructor, parts);
  return tensorOf(
    type,
    all,
    tensors.reduce((sum, tensor) => sum + tensor.dims[0], 0),
    dims,
  );
}

/** A copy of all bytes, one after the other. @param {readonly Uint8Array[]} arrays */
export const concatBytes = (arrays) => concat(Uint8Array, arrays);

/** A copy of all floats, one after the other. @param {readonly Float32Array[]} arrays */
export const concatFloats = (arrays) => concat(Float32Array, arrays);

/**
 * @template {TypedArray} D
 * @param {new (length: number) => D} Data @param {readonly TypedArray[]} arrays of that class
 */
function concat(Data, arrays) {
  const all = new Data(arrays.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const array of arrays) {
    all.set(/** @type {any} */ (array), at);
    at += array.length;
  }
  return all;
}

/**
 * @param {string} type
 * @param {any} data @param {number} count its rows @param {readonly number[]} dims of some rows
 */
const tensorOf = (type, data, count, dims) => new Tensor(/** @type {any} */ (type), data, [count, ...dims.slice(1)]);
