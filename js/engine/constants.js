/** Values of inputs that are constants of a model (the option `constants`), packed. */

import { invalid } from '../base/errors.js';
import { check, pack } from '../base/tensor.js';

/** @import { EngineOptions, TensorLike } from '../types.js' */

/** @param {NonNullable<EngineOptions['constants']>} constants */
export function packConstants(constants) {
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
