/** Tensors: typed data with a shape, checked when made, and packed into one buffer for the way to the engine. */

import { TrainletError } from './errors.js';
import { flatten } from './structure.js';

/** @import { DataType, Feeds, NumberType, TensorLike, TypedArray, ValueInfo } from './types.js' */
/** @import { PackedFeeds } from './protocol.js' */

/** The class that holds each type's data, as in onnxruntime-common; that of strings is an array. */
export const ARRAYS = Object.freeze({
  float32: Float32Array, float64: Float64Array, float16: Uint16Array, bfloat16: Uint16Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array,
  uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, bool: Uint8Array,
});

/** @type {(message: string) => TrainletError} */
const bad = (message) => new TrainletError('invalid-feed', message);

const TYPES = [...Object.keys(ARRAYS), 'string'].join(', ');

/** @typedef {Tensor<TypedArray | string[]>} AnyTensor */
/** @typedef {TypedArray | readonly number[] | readonly bigint[] | readonly boolean[] | readonly string[]} Values */

/** @template {TypedArray | string[]} [D=TypedArray] */
export class Tensor {
  /** @param {[DataType, Values, (readonly number[])?] | [Values, (readonly number[])?]} args the type may be left out, as in ONNX Runtime */
  constructor(...args) {
    const [type, data, dims = [data.length]] = typeof args[0] === 'string'
      ? /** @type {[DataType, Values, (readonly number[])?]} */ (args)
      : /** @type {[DataType, Values, (readonly number[])?]} */ ([typeOf(args[0]), ...args]);
    /** @type {DataType} */
    this.type = type;
    /** @type {D} */
    this.data = /** @type {D} */ (Array.isArray(data) ? convert(type, data) : data);
    /** @type {readonly number[]} */
    this.dims = Object.freeze([...dims]);
    this.size = this.data.length;
    check(`a ${type} tensor`, this);
  }
}

/** The type that the class of the data tells. @param {unknown} data */
function typeOf(data) {
  const first = Array.isArray(data) ? typeof data[0] : undefined;
  if (first === 'boolean') return 'bool';
  if (first === 'string') return 'string';
  const found = Object.entries(ARRAYS).find(([type, array]) => type !== 'float16' && type !== 'bfloat16' && array.name === classOf(data));
  if (found) return found[0];
  throw bad(`a tensor of ${classOf(data)} needs a type before its data: ${TYPES}`);
}

/** @param {DataType} type @param {readonly unknown[]} values @returns {TypedArray | string[]} */
function convert(type, values) {
  if (type === 'string') return [.../** @type {string[]} */ (values)]; // checked with the tensor
  const array = ARRAYS[type];
  if (!array) throw bad(`there is no tensor type '${type}'; there are ${TYPES}`);
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
 * @returns {AnyTensor}
 */
export function check(what, value) {
  const { type, data, dims } = /** @type {Partial<TensorLike>} */ (value ?? {});
  if (typeof type !== 'string' || !Array.isArray(dims)) throw bad(`${what} must be a tensor: an object with type, data and dims`);
  checkData(what, type, data);
  if (!dims.every((d) => Number.isSafeInteger(d) && d >= 0)) throw bad(`${what}: dims must be whole numbers, not [${dims}]`);
  const length = /** @type {TypedArray} */ (data).length;
  const wanted = sizeOf(dims);
  if (wanted !== length) throw bad(`${what}: dims [${dims}] make ${wanted} elements, but the data has ${length}`);
  return /** @type {AnyTensor} */ (value);
}

/** @param {string} what @param {string} type @param {unknown} data */
function checkData(what, type, data) {
  const array = type === 'string' ? Array : ARRAYS[/** @type {NumberType} */ (type)];
  if (!array) throw bad(`${what}: ${type} tensors are not supported; there are ${TYPES}`);
  if (Object.prototype.toString.call(data) !== `[object ${array.name}]`) {
    throw bad(`${what} is of type ${type}, so its data must be ${type === 'string' ? 'an array' : `a ${array.name}`}, not ${classOf(data)}`);
  }
  if (type !== 'string') return;
  const strings = /** @type {unknown[]} */ (data);
  const odd = strings.findIndex((text) => typeof text !== 'string' || text.includes('\0'));
  if (odd >= 0) throw bad(`${what}: element ${odd} of a string tensor cannot be ${typeof strings[odd] === 'string' ? 'a string with a zero character' : String(strings[odd])}`);
}

/** @param {unknown} data */
const classOf = (data) => (data === null || typeof data !== 'object' ? typeof data : (data.constructor?.name ?? 'an object'));

/** @param {readonly number[]} dims */
export const sizeOf = (dims) => dims.reduce((product, d) => product * d, 1);

/** @param {readonly ValueInfo[]} values */
const wishes = (values) => values.map((value) => `'${value.name}' (${describeInfo(value)})`).join(', ');

/** @param {ValueInfo} value */
export const describeInfo = ({ type, dims, sequence, optional }) => `${optional ? 'optional ' : ''}${sequence ? 'sequence of ' : ''}${type} [${dims.join(', ')}]`;

/**
 * The tensors of the feeds that are there, nested ones flattened, each checked and known to the graph; an array of them for a sequence.
 * @param {Feeds} feeds
 * @param {readonly ValueInfo[]} inputs
 * @returns {[string, AnyTensor | AnyTensor[]][]}
 */
export function bind(feeds, inputs) {
  if (feeds === null || typeof feeds !== 'object') throw bad(`feeds must be an object of tensors by name: ${wishes(inputs)}`);
  const find = (/** @type {string} */ path) => inputs.find(({ name }) => name === path);
  /** @type {[string, AnyTensor | AnyTensor[]][]} */
  const bound = [];
  for (const [name, value] of flatten(feeds, (path) => find(path) !== undefined)) {
    const input = find(name);
    if (!input) throw bad(`there is no input '${name}'; wanted are ${wishes(inputs)}`);
    if (value !== null && (value !== undefined || !input.optional)) bound.push([name, checkFeed(input, value)]);
  }
  return bound;
}

/** @param {ValueInfo} input @param {unknown} value */
function checkFeed({ name, type, sequence }, value) {
  const what = `input '${name}'`;
  const one = (/** @type {string} */ title, /** @type {unknown} */ given) => {
    const tensor = check(title, given);
    if ((tensor.type === 'string') !== (type === 'string')) throw bad(`${title} wants ${type}, ${tensor.type} came`);
    return tensor;
  };
  if (sequence && Array.isArray(value)) return value.map((item, i) => one(`${what}, item ${i}`, item));
  if (sequence) throw bad(`${what} is a sequence: it must be an array of tensors`);
  if (Array.isArray(value)) throw bad(`${what} must be a tensor, not an array: it is no sequence`);
  return one(what, value);
}

/** Those of a graph that trains, which are neither sequences nor strings. @param {Feeds} feeds @param {readonly ValueInfo[]} inputs */
export const bindNumbers = (feeds, inputs) => /** @type {[string, Tensor][]} */ (bind(feeds, inputs));

/**
 * Room for the tensors in one buffer that can be transferred.
 * @param {readonly { name: string, type: DataType, dims: readonly number[], bytes: number }[]} wanted
 * @returns {PackedFeeds}
 */
export function layout(wanted) {
  let end = 0;
  const tensors = wanted.map((tensor) => {
    const offset = end;
    end += Math.ceil(tensor.bytes / 8) * 8;
    return { ...tensor, dims: [...tensor.dims], offset };
  });
  return { tensors, sequences: [], buffer: new ArrayBuffer(end) };
}

/** @param {TypedArray} data */
export const bytesOf = (data) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

const encoder = new TextEncoder();

/** What travels of a tensor: its bytes, or its strings as text with a zero byte after each. @param {{ data: TypedArray | string[] }} tensor */
const contentsOf = ({ data }) => (Array.isArray(data) ? encoder.encode(data.map((text) => `${text}\0`).join('')) : bytesOf(data));

/**
 * Copies tensors into one buffer; the user's arrays stay the user's.
 * @param {readonly [string, AnyTensor | AnyTensor[]][]} feeds
 * @returns {PackedFeeds}
 */
export function pack(feeds) {
  const tensors = feeds.flatMap(([name, value]) => [value].flat().map(({ type, dims, data }) => {
    const contents = contentsOf({ data });
    return { name, type, dims, contents, bytes: contents.length };
  }));
  const packed = layout(tensors.map(({ name, type, dims, bytes }) => ({ name, type, dims, bytes })));
  for (const [name, value] of feeds) if (Array.isArray(value)) packed.sequences.push({ name, count: value.length });
  packed.tensors.forEach(({ offset }, i) => { new Uint8Array(packed.buffer, offset).set(tensors[i].contents); });
  return packed;
}
