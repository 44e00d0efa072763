/** What every engine may be told, and what of it is refused. */

import { checkKeys, checkObject, invalid } from '../base/errors.js';
import { check, pack } from '../base/tensor.js';

/** @import { EngineOptions, TensorLike } from '../types.js' */

export const ENGINE_KEYS = /** @type {const} */ ([
  'worker',
  'threads',
  'reproducible',
  'maxMemoryBytes',
  'maxWork',
  'passes',
  'wasmUrl',
  'workerUrl',
  'wasmBinary',
  'integrity',
  'externalData',
  'constants',
  'signal',
  'onProgress',
]);
/**
 * @param {string} where
 * @param {EngineOptions} options
 * @param {readonly string[]} sources the arguments that integrity may name
 * @param {readonly string[]} [more] what is known beside the engine's options
 */
export function checkEngineOptions(where, options, sources, more = []) {
  checkObject(`${where}: options`, options);
  checkKeys(where, options, [...more, ...ENGINE_KEYS]);
  checkKeys(`${where}: integrity`, options.integrity, sources);
  checkObject(`${where}: externalData`, options.externalData);
  checkObject(`${where}: constants`, options.constants);
  const { threads = 'auto', maxMemoryBytes = 0, maxWork = 1, passes = 'none' } = options;
  if (threads !== 'auto' && !(Number.isInteger(threads) && threads >= 1))
    throw invalid(`${where}: threads must be a whole number of at least 1 or 'auto', not ${threads}`);
  if (passes !== 'none' && !Array.isArray(passes))
    throw invalid(`${where}: passes must be an array of names or 'none', not ${passes}`);
  if (!(maxMemoryBytes >= 0))
    throw invalid(`${where}: maxMemoryBytes must be a number of bytes, not ${maxMemoryBytes}`);
  if (!(maxWork > 0)) throw invalid(`${where}: maxWork must be a number above 0, not ${maxWork}`);
}

/** What inputs are bound to once. @param {EngineOptions} options */
export function packConstants({ constants = {} }) {
  return pack(Object.entries(constants).map(([name, value]) => [name, constantOf(name, value)]));
}

/** @param {string} name @param {bigint | number | boolean | TensorLike} value */
function constantOf(name, value) {
  const what = `constants: '${name}'`;
  if (typeof value === 'bigint') return check(what, { type: 'int64', data: BigInt64Array.of(value), dims: [] });
  if (typeof value === 'number') return check(what, { type: 'float32', data: Float32Array.of(value), dims: [] });
  if (typeof value === 'boolean') return check(what, { type: 'bool', data: Uint8Array.of(Number(value)), dims: [] });
  const tensor = check(what, value);
  if (tensor.type === 'string') throw invalid(`${what} is of strings, constants are of numbers`);
  return tensor;
}
