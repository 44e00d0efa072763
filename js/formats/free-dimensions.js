/**
 * Numbers for the dims that a model's inputs leave free, set in its ONNX file before the engine reads that.
 *
 *     ModelProto ─7─▶ GraphProto ─11─▶ ValueInfoProto ─2─▶ TypeProto ─1─▶ Tensor ─2─▶ shape ─1─▶ dim: 1 value, 2 name
 */

import { invalid } from '../base/errors.js';
import { concatBytes } from '../base/rows.js';
import { changed, Message } from './protobuf.js';
import { varint } from './protobuf-writer.js';

/** @import { Parts } from './protobuf-writer.js' */

/** A dim is an int32 in most runtimes. */
const MOST = 2 ** 31 - 1;

/**
 * @param {Uint8Array<ArrayBuffer>} model
 * @param {Readonly<Record<string, number>>} numbers by the dim's name, or `x[0]` where dim 0 of input x has none
 * @returns {Uint8Array<ArrayBuffer>} the model itself if it is no ONNX file, which the engine refuses
 */
export function withDimensions(model, numbers) {
  for (const [name, number] of Object.entries(numbers))
    if (!(Number.isInteger(number) && number >= 1 && number <= MOST))
      throw invalid(`freeDimensionOverrides: '${name}' must be a whole number of at least 1, not ${number}`);
  if (String.fromCharCode(...model.subarray(4, 8)) === 'ORTM')
    throw invalid('freeDimensionOverrides: the model is in ORT format; dims are set in ONNX files');
  /** @type {Set<string>} */
  const names = new Set();
  const parts = partsOf(model, numbers, names);
  const unknown = parts && Object.keys(numbers).find((name) => !names.has(name));
  if (unknown === undefined) return parts ? concatBytes(parts) : model;
  const there = [...names].map((name) => `'${name}'`).join(', ') || 'none';
  throw invalid(`freeDimensionOverrides: no input has a free dim '${unknown}'; there are ${there}`);
}

/**
 * @param {Uint8Array} model @param {Readonly<Record<string, number>>} numbers
 * @param {Set<string>} names gets all free dims
 * @returns {Parts | undefined} undefined: it is no ONNX file, or damaged
 */
function partsOf(model, numbers, names) {
  const inputOf = (/** @type {Uint8Array} */ input) => {
    let axis = 0;
    const dimOf = (/** @type {Uint8Array} */ bytes) => {
      const dim = new Message(bytes);
      const isNumber = dim.all(1).length && dim.number(1) >= 0n;
      const name = dim.text(2) || `${new Message(input).text(1)}[${axis}]`;
      axis++;
      if (isNumber) return [bytes];
      names.add(name);
      return Object.hasOwn(numbers, name) ? [Uint8Array.of(1 << 3, ...varint(numbers[name]))] : [bytes];
    };
    return changed(input, [2, 1, 2, 1], dimOf);
  };
  try {
    let hasGraph = false;
    const parts = changed(model, [7], (graph) => {
      hasGraph = true;
      return changed(graph, [11], inputOf);
    });
    return hasGraph ? parts : undefined;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
