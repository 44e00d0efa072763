/** Tensors: typed data with a shape, checked when made, and packed into one buffer for the way to the engine. */

import { badFeed as bad, nameOf } from './errors.js';

/** @import { DataType, DataTypeMap, NumberType, TensorLike, TypedArray } from '../types.js' */
/** @import { PackedFeeds } from '../engine/protocol.js' */

/** The class that holds each type's data, as in onnxruntime-common; that of strings is an array. */
export const ARRAYS = Object.freeze({
  float32: Float32Array,
  float64: Float64Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  bool: Uint8Array,
});

/**
 * The class for a type; of those of 8 bits and fewer that have none of their own, each element has a byte.
 * @param {string} type
 * @returns {any} false where there is none
 */
export const arrayOf = (type) =>
  /^u?int[24]$|^float(4e2m1|8e(8m0|5m2(fnuz)?|4m3fn(uz)?))$/.test(type)
    ? Uint8Array
    : Object.hasOwn(ARRAYS, type) && ARRAYS[/** @type {keyof typeof ARRAYS} */ (type)];

/**
 * Reads a field by the prototype's getter, even if the typed array overrides it.
 * @param {string | symbol} field
 * @returns {(array: unknown) => any}
 */
function fieldOf(field) {
  const { get } = /** @type {PropertyDescriptor} */ (
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), field)
  );
  return (array) => get?.call(array);
}
const classNameOf = /* @__PURE__ */ fieldOf(Symbol.toStringTag);
const bufferOf = /* @__PURE__ */ fieldOf('buffer');
const offsetOf = /* @__PURE__ */ fieldOf('byteOffset');
const lengthOf = /* @__PURE__ */ fieldOf('length');

const types = () => [...Object.keys(ARRAYS), 'string'].join(', ');

/**
 * A tensor's fields, looked at once: what they came from may be something else at each look.
 * @template {TypedArray | string[]} [D=TypedArray | string[]]
 * @typedef {{ type: DataType, data: D, dims: readonly number[] }} Taken
 */
/** @typedef {TypedArray | readonly number[] | readonly bigint[] | readonly boolean[] | readonly string[]} Values */

/** @template {DataType} [T=NumberType] */
export class Tensor {
  static get name() {
    return 'Tensor';
  }

  /**
   * @param {[T, Values, (readonly number[])?] | [Values, (readonly number[])?]} args the type may be left out,
   * as in ONNX Runtime
   */
  constructor(...args) {
    const [type, data, dims = [data?.length]] =
      typeof args[0] === 'string'
        ? /** @type {[T, Values, (readonly number[])?]} */ (args)
        : /** @type {[T, Values, (readonly number[])?]} */ ([typeOf(args[0]), ...args]);
    if (!Array.isArray(data) && !ArrayBuffer.isView(data))
      throw bad(`the data of a tensor must be a typed array or an array, not ${nameOf(data)}`);
    if (!Array.isArray(dims)) throw bad(`the dims of a tensor must be an array of whole numbers, not ${nameOf(dims)}`);
    this.type = type;
    this.data = /** @type {DataTypeMap[T]} */ (Array.isArray(data) ? convert(type, data) : data);
    /** @type {readonly number[]} */
    this.dims = Object.freeze([...dims]);
    this.size = this.data.length;
    check('the tensor', this);
  }
}

/** The type that the class of the data tells. @param {unknown} data */
function typeOf(data) {
  const first = Array.isArray(data) ? typeof data[0] : undefined;
  if (first === 'boolean') return 'bool';
  if (first === 'string') return 'string';
  const found = Object.entries(ARRAYS).find(([type, array]) => !/at16/.test(type) && array.name === classOf(data));
  if (found) return found[0];
  throw bad(`a tensor of ${classOf(data)} needs a type before its data: ${types()}`);
}

/** @param {DataType} type @param {readonly unknown[]} values @returns {TypedArray | string[]} */
export function convert(type, values) {
  if (type === 'string') return [.../** @type {string[]} */ (values)]; // checked with the tensor
  const array = arrayOf(type);
  if (!array) throw bad(`there is no tensor type '${type}'; there are ${types()}`);
  if (/at(16|.e)/.test(type)) throw bad(`the data of a ${type} tensor must be a ${array.name} of bits`);
  const big = array === BigInt64Array || array === BigUint64Array;
  const data = new array(values.length);
  values.forEach((value, i) => {
    const number = typeof value === 'boolean' ? Number(value) : value;
    const fits = big ? typeof number === 'bigint' || Number.isInteger(number) : typeof number === 'number';
    if (fits) data[i] = big ? BigInt(/** @type {number} */ (number)) : /** @type {number} */ (number);
    if (!fits || (Number(data[i]) !== Number(number) && type !== 'float32' && type !== 'float64'))
      throw bad(`element ${i} of the ${type} tensor cannot be ${describe(value)}`);
  });
  return data;
}

/** @param {unknown} value */
const describe = (value) => {
  if (Array.isArray(value)) return 'an array: the elements are given flat, and the dims after them';
  return typeof value === 'string' ? `the string '${value}'` : String(value);
};

/**
 * Takes anything of a tensor's shape, if it is one, and names it in what it throws. Numbers stay where they are, in a
 * view of their own.
 * @param {string} what
 * @param {unknown} value
 * @returns {Taken}
 */
export function check(what, value) {
  const { type, data, dims } = /** @type {Partial<TensorLike>} */ (value ?? {});
  if (typeof type !== 'string' || !Array.isArray(dims))
    throw bad(
      `${what} must be a tensor, an object with type, data and dims` +
        (value === undefined ? '' : `, not ${nameOf(value)}`),
    );
  const taken = type === 'string' ? takeStrings(what, data) : takeNumbers(what, type, data);
  const shape = [...dims];
  if (!shape.every((d) => Number.isSafeInteger(d) && d >= 0))
    throw bad(`${what}: dims must be whole numbers, not [${shape}]`);
  const wanted = sizeOf(shape);
  if (wanted !== taken.length)
    throw bad(`${what}: dims [${shape}] make ${wanted} elements, but the data has ${taken.length}`);
  return { type: /** @type {DataType} */ (type), data: taken, dims: shape };
}

/** @param {string} what @param {string} type @param {unknown} data @returns {TypedArray} */
function takeNumbers(what, type, data) {
  const array = arrayOf(type);
  if (!array) throw bad(`${what}: there is no tensor type '${type}'; there are ${types()}`);
  if (classNameOf(data) !== array.name)
    throw bad(`${what} is of type ${type}, so its data must be a ${array.name}, not ${classOf(data)}`);
  const length = lengthOf(data);
  return length ? new array(bufferOf(data), offsetOf(data), length) : new array();
}

/** @param {string} what @param {unknown} data */
function takeStrings(what, data) {
  if (!Array.isArray(data)) throw bad(`${what} is of type string, so its data must be an array, not ${classOf(data)}`);
  const strings = [...data];
  const odd = strings.findIndex((text) => typeof text !== 'string' || /\0|\p{Surrogate}/u.test(text));
  if (odd < 0) return strings;
  const text = strings[odd];
  const why = typeof text === 'string' ? 'a string with a zero character or half of a surrogate pair' : String(text);
  throw bad(`${what}: element ${odd} of the string tensor cannot be ${why}`);
}

/** @param {unknown} data */
const classOf = (data) =>
  data === null || typeof data !== 'object' ? typeof data : (data.constructor?.name ?? 'an object');

/** @param {readonly number[]} dims */
export const sizeOf = (dims) => dims.reduce((product, d) => product * d, 1);

/**
 * Room for the tensors in one buffer that can be transferred.
 * @param {readonly { name: string, type: DataType, dims: readonly number[], bytes: number }[]} wanted
 * @returns {PackedFeeds}
 */
export function layout(wanted) {
  let end = 0;
  const tensors = wanted.map(({ name, type, dims, bytes }) => {
    const offset = end;
    end += Math.ceil(bytes / 8) * 8;
    return { name, type, dims: [...dims], offset, bytes };
  });
  return { tensors, sequences: [], buffer: new ArrayBuffer(end) };
}

/** @param {TypedArray} data */
export const bytesOf = (data) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

const encoder = new TextEncoder();

/**
 * The bytes of a tensor that are transferred; strings as text with a zero byte after each.
 * @param {string} name
 * @param {Taken} tensor
 */
function contentsOf(name, tensor) {
  const { data } = tensor;
  if (Array.isArray(data)) return encoder.encode(data.map((text) => `${text}\0`).join(''));
  checkWhole(name, tensor);
  return data.length ? bytesOf(data) : new Uint8Array();
}

/** True if the buffer is still the one that was taken. @param {Taken} tensor */
export const isWhole = ({ data, dims }) => data.length === sizeOf(dims);

/** @param {string} name @param {Taken} tensor */
export function checkWhole(name, tensor) {
  if (!isWhole(tensor)) throw bad(`'${name}': its data was resized or transferred while it was read`);
}

/**
 * Copies tensors into one buffer; the user's arrays stay the user's.
 * @param {readonly [string, Taken | Taken[]][]} feeds
 * @returns {PackedFeeds}
 */
export function pack(feeds) {
  /** @type {Uint8Array[]} */
  const contents = [];
  const wanted = [];
  const sequences = [];
  for (const [name, value] of feeds) {
    if (Array.isArray(value)) sequences.push({ name, count: value.length });
    for (const tensor of Array.isArray(value) ? value : [value]) {
      const taken = contentsOf(name, tensor);
      contents.push(taken);
      wanted.push({ name, type: tensor.type, dims: tensor.dims, bytes: taken.length });
    }
  }
  const packed = { ...layout(wanted), sequences };
  const all = new Uint8Array(packed.buffer);
  packed.tensors.forEach(({ offset }, i) => {
    all.set(contents[i], offset);
  });
  return packed;
}
