/** A tensor of nested arrays, whose dims are read off them. */

import { badFeed, nameOf } from './errors.js';
import { Tensor } from './tensor.js';

/** @import { DataType } from '../types.js' */

/** One more than the engine has dims: an array that contains itself has no end. */
const DEEPEST = 9;
/** @type {Record<string, DataType>} */
const TYPES = { number: 'float32', bigint: 'int64', boolean: 'bool', string: 'string' };

/** @param {unknown} value @returns {value is any[]} */
const isList = (value) => Array.isArray(value) || (ArrayBuffer.isView(value) && 'length' in value);
const listOf = (/** @type {number} */ length) => `an array of ${length}`;

/**
 * @param {any} data
 * @param {DataType} [dtype]
 * @returns {any}
 */
export function tensor(data, dtype) {
  if (!dtype && ArrayBuffer.isView(data)) return new Tensor(/** @type {any} */ (data).slice());
  /** @type {number[]} */
  const dims = [];
  let first = data;
  for (; isList(first) && first.length && dims.length < DEEPEST; first = first[0]) dims.push(first.length);
  const kind = (typeof first) in TYPES ? typeof first : 'number';
  /** @type {any[]} */
  const values = [];
  /** @param {any} value @param {string} path @param {number} depth */
  const take = (value, path, depth) => {
    const dim = dims[depth];
    if (dim ? !isList(value) || value.length !== dim : typeof value !== kind) {
      const found = isList(value) ? listOf(value.length) : nameOf(value);
      throw badFeed(`tensor: ${path} is ${found}, not ${dim ? listOf(dim) : `a ${kind}`}`);
    }
    if (dim) for (let i = 0; i < dim; i++) take(value[i], `${path}[${i}]`, depth + 1);
    else values.push(value);
  };
  take(data, 'data', 0);
  return new Tensor(dtype ?? TYPES[kind], values, dims);
}
