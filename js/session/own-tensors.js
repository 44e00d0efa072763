/** A user's own tensors, filled with the outputs of a run. */

import { invalid } from '../base/errors.js';
import { bytesOf, checkWhole } from '../base/tensor.js';

/** @import { OutputValue, TensorLike, TypedArray } from '../types.js' */
/** @import { Taken } from '../base/tensor.js' */
/** @typedef {{ given: TensorLike, room: Taken } | null | undefined} Own the tensor and its fields at the call */

/** @param {Record<string, OutputValue>} tensors @param {Map<string, Own>} own */
export const fillAll = (tensors, own) =>
  Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, fill(name, own.get(name), tensor)]));

/**
 * @param {string} name
 * @param {Own} own
 * @param {OutputValue} tensor
 */
function fill(name, own, tensor) {
  if (!own) return tensor;
  const { given, room } = own;
  if (!tensor || Array.isArray(tensor))
    throw invalid(
      `output '${name}' is ${tensor ? 'a sequence' : 'an optional without an element'}; a tensor was given for it`,
    );
  if (room.type !== tensor.type || String(room.dims) !== String(tensor.dims)) {
    throw invalid(
      `output '${name}' is ${tensor.type} [${tensor.dims}]; the tensor given for it is ${room.type} [${room.dims}]`,
    );
  }
  checkWhole(name, room);
  const { data } = given;
  if (Array.isArray(data)) data.splice(0, data.length, .../** @type {string[]} */ (tensor.data));
  else if (room.data.length)
    bytesOf(/** @type {TypedArray} */ (room.data)).set(bytesOf(/** @type {TypedArray} */ (tensor.data)));
  return given;
}
