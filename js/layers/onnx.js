/** Writes a graph as an ONNX file. The numbers of fields and types are those of onnx.proto. */

import { isKind } from '../base/kind.js';
import { concatBytes } from '../base/rows.js';
import { bytesOf } from '../base/tensor.js';
import { message } from '../formats/protobuf-writer.js';
import { TYPES } from './names.js';

/** @import { Parts } from '../formats/protobuf-writer.js' */
/** @import { InputType } from '../types/layers/index.js' */
/**
 * @typedef {{ dims: readonly number[], data: Float32Array | BigInt64Array }} Values
 * @typedef {number | string | Float32Array | readonly number[] | readonly string[] | Values} Attribute a whole number;
 * a Float32Array of one element is a float
 * @typedef {{ name: string, dtype: InputType, dims: readonly (number | string | null)[] }} Info
 * @typedef {object} GraphNode
 * @property {string} name
 * @property {string} op
 * @property {string[]} inputs
 * @property {string[]} outputs
 * @property {Record<string, Attribute>} attributes
 *
 * @typedef {object} Graph
 * @property {string} name
 * @property {GraphNode[]} nodes
 * @property {(Values & { name: string })[]} initializers
 * @property {Info[]} inputs
 * @property {Info[]} outputs
 * @property {Record<string, string>} metadata
 */

/** The newest that both the engine and onnxruntime-web 1.30 read. */
const [IR_VERSION, OPSET] = [13, 26];
const [FLOAT, INT, STRING, TENSOR, INTS, STRINGS] = [1, 2, 3, 4, 7, 8];

/** @param {Graph} graph @returns {Uint8Array<ArrayBuffer>} */
export function onnxOf({ name, nodes, initializers, inputs, outputs, metadata }) {
  const graph = message(
    ...fieldsOf(1, nodes.map(nodeOf)),
    [2, name],
    ...fieldsOf(
      5,
      initializers.map((values) => tensorOf(values, values.name)),
    ),
    ...fieldsOf(11, inputs.map(infoOf)),
    ...fieldsOf(12, outputs.map(infoOf)),
  );
  return concatBytes(
    message(
      [1, IR_VERSION],
      [2, 'trainlet'],
      [7, graph],
      [8, message([1, ''], [2, OPSET])],
      ...fieldsOf(
        14,
        Object.entries(metadata).map(([key, value]) => message([1, key], [2, value])),
      ),
    ),
  );
}

/**
 * One field for each message.
 * @template {number | string | Parts} T
 * @param {number} field @param {readonly T[]} values
 * @returns {[number, T][]}
 */
const fieldsOf = (field, values) => values.map((value) => [field, value]);

/** @param {GraphNode} node */
const nodeOf = ({ name, op, inputs, outputs, attributes }) =>
  message(
    ...fieldsOf(1, inputs),
    ...fieldsOf(2, outputs),
    [3, name],
    [4, op],
    ...fieldsOf(5, Object.entries(attributes).map(attributeOf)),
  );

/** @param {[string, Attribute]} attribute @returns {Parts} */
function attributeOf([name, value]) {
  const named = message([1, name]);
  if (typeof value === 'number') return [...named, ...message([3, value], [20, INT])];
  if (typeof value === 'string') return [...named, ...message([4, value], [20, STRING])];
  if (isKind(value, 'Float32Array'))
    return [...named, Uint8Array.of(2 * 8 + 5), bytesOf(value), ...message([20, FLOAT])];
  if ('data' in value) return [...named, ...message([5, tensorOf(value)], [20, TENSOR])];
  const isText = typeof value[0] === 'string';
  const items = /** @type {readonly (number | string)[]} */ (value);
  return [...named, ...message(...fieldsOf(isText ? 9 : 8, items), [20, isText ? STRINGS : INTS])];
}

/** @param {Values} values @param {string} [name] */
const tensorOf = ({ dims, data }, name = '') =>
  message(
    ...fieldsOf(1, dims),
    [2, isKind(data, 'Float32Array') ? TYPES.float32 : TYPES.int64],
    [8, name],
    [9, bytesOf(data)],
  );

/** @param {Info} info */
const infoOf = ({ name, dtype, dims }) =>
  message([1, name], [2, message([1, message([1, TYPES[dtype]], [2, message(...fieldsOf(1, dims.map(dimOf)))])])]);

/** @param {number | string | null} dim a size, a name, or neither */
const dimOf = (dim) => (dim === null ? [] : message([typeof dim === 'string' ? 2 : 1, dim]));
