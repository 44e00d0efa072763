/** Tensors: typed data with a shape, checked when made, and packed into one buffer for the way to the engine. */

import { TrainletError } from './errors.js';
import { flatten } from './structure.js';

/** @import { DataType, Feeds, TensorLike, TypedArray, ValueInfo } from './types.js' */
/** @import { PackedFeeds } from './protocol.js' */

/** The class that holds each type's data, as in onnxruntime-common. */
export const ARRAYS = Object.freeze({
  float32: Float32Array, float64: Float64Array, float16: Uint16Array, bfloat16: Uint16Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array,
  uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, bool: Uint8Array,
});

/** @type {(message: string) => TrainletError} */
const bad = (message) => new TrainletError('invalid-feed', message);

/** @typedef {TypedArray | readonly number[] | readonly bigint[] | readonly boolean[]} Values */

export class Tensor {
  /** @param {[DataType, Values, (readonly number[])?] | [Values, (readonly number[])?]} args the type may be left out, as in ONNX Runtime */
  constructor(...args) {
    const [type, data, dims = [data.length]] = typeof args[0] === 'string'
      ? /** @type {[DataType, Values, (readonly number[])?]} */ (args)
      : /** @type {[DataType, Values, (readonly number[])?]} */ ([typeOf(args[0]), ...args]);
    /** @type {DataType} */
    this.type = type;
    /** @type {TypedArray} */
    this.data = Array.isArray(data) ? convert(type, data) : /** @type {TypedArray} */ (data);
    /** @type {readonly number[]} */
    this.dims = Object.freeze([...dims]);
    this.size = this.data.length;
    check(`a ${type} tensor`, this);
  }
}

/** The type that the class of the data tells. @param {unknown} data */
function typeOf(data) {
  if (Array.isArray(data) && typeof data[0] === 'boolean') return 'bool';
  const found = Object.entries(ARRAYS).find(([type, array]) => type !== 'float16' && type !== 'bfloat16' && array.name === classOf(data));
  if (found) return found[0];
  throw bad(`a tensor of ${classOf(data)} needs a type before its data: ${Object.keys(ARRAYS).join(', ')}`);
}

/** @param {DataType} type @param {readonly unknown[]} values @returns {TypedArray} */
function convert(type, values) {
  const array = ARRAYS[type];
  if (!array) throw bad(`there is no tensor type '${type}'; there are ${Object.keys(ARRAYS).join(', ')}`);
  if (type === 'float16' || type === 'bfloat16') throw bad(`a ${type} tensor takes a Uint16Array of bits, not an array of numbers`);
  const big = array === BigInt64Array || array === BigUint64Array;
  const data = new array(values.length);
  values.forEach((value, i) => {
    const number = typeof value === 'boolean' ? Number(value) : value;
    if (big && (typeof number === 'bigint' || Number.isInteger(number))) data[i] = BigInt(/** @type {number} */ (number));
    else if (!big && typeof number === 'number') data[i] = number;
    else throw bad(`element ${i} of a ${type} tensor cannot be ${describe(value)}`);
    const inexact = type !== 'float32' && type !== 'float64' && Number(data[i]) !== Number(number);
    if (inexact) throw bad(`element ${i} of a ${type} tensor cannot be ${describe(value)}`);
  });
  return data;
}

/** @param {unknown} value */
const describe = (value) => (typeof value === 'string' ? `the string '${value}'` : String(value));

/**
 * Checks that anything of a tensor's shape is one, and names it in what it throws.
 * @param {string} what
 * @param {unknown} value
 * @returns {Tensor}
 */
export function check(what, value) {
  const { type, data, dims } = /** @type {Partial<TensorLike>} */ (value ?? {});
  if (typeof type !== 'string' || !Array.isArray(dims)) throw bad(`${what} must be a tensor: an object with type, data and dims`);
  const array = ARRAYS[/** @type {DataType} */ (type)];
  if (!array) throw bad(`${what}: ${type} tensors are not supported; there are ${Object.keys(ARRAYS).join(', ')}`);
  if (Object.prototype.toString.call(data) !== `[object ${array.name}]`) {
    throw bad(`${what} is of type ${type}, so its data must be a ${array.name}, not ${classOf(data)}`);
  }
  if (!dims.every((d) => Number.isSafeInteger(d) && d >= 0)) throw bad(`${what}: dims must be whole numbers, not [${dims}]`);
  const length = /** @type {TypedArray} */ (data).length;
  const wanted = sizeOf(dims);
  if (wanted !== length) throw bad(`${what}: dims [${dims}] make ${wanted} elements, but the data has ${length}`);
  return /** @type {Tensor} */ (value);
}

/** @param {unknown} data */
const classOf = (data) => (data === null || typeof data !== 'object' ? typeof data : (data.constructor?.name ?? 'an object'));

/** @param {readonly number[]} dims */
export const sizeOf = (dims) => dims.reduce((product, d) => product * d, 1);

/** @param {readonly ValueInfo[]} values */
const wishes = (values) => values.map((v) => `'${v.name}' (${v.type} [${v.dims.join(', ')}])`).join(', ');

/**
 * The tensors of the feeds that are there, nested ones flattened, each checked and known to the graph.
 * @param {Feeds} feeds
 * @param {readonly ValueInfo[]} inputs
 * @returns {[string, Tensor][]}
 */
export function bind(feeds, inputs) {
  if (feeds === null || typeof feeds !== 'object') throw bad(`feeds must be an object of tensors by name: ${wishes(inputs)}`);
  const isInput = (/** @type {string} */ path) => inputs.some(({ name }) => name === path);
  /** @type {[string, Tensor][]} */
  const bound = [];
  for (const [name, value] of flatten(feeds, isInput)) {
    if (!isInput(name)) throw bad(`there is no input '${name}'; wanted are ${wishes(inputs)}`);
    if (Array.isArray(value)) throw bad(`input '${name}' must be a tensor, not an array: no input of this graph is a sequence`);
    if (value !== null) bound.push([name, check(`input '${name}'`, value)]);
  }
  return bound;
}

/**
 * Room for the tensors in one buffer that can be transferred.
 * @param {readonly { name: string, type: DataType, dims: number[], bytes: number }[]} wanted
 * @returns {PackedFeeds}
 */
export function layout(wanted) {
  let end = 0;
  const tensors = wanted.map((tensor) => {
    const offset = end;
    end += Math.ceil(tensor.bytes / 8) * 8;
    return { ...tensor, offset };
  });
  return { tensors, buffer: new ArrayBuffer(end) };
}

/** @param {TypedArray} data */
export const bytesOf = (data) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

/**
 * Copies tensors into one buffer; the user's arrays stay the user's.
 * @param {readonly [string, Tensor][]} tensors
 * @returns {PackedFeeds}
 */
export function pack(tensors) {
  const packed = layout(tensors.map(([name, t]) => ({ name, type: t.type, dims: [...t.dims], bytes: t.data.byteLength })));
  packed.tensors.forEach(({ offset }, i) => { new Uint8Array(packed.buffer, offset).set(bytesOf(tensors[i][1].data)); });
  return packed;
}
