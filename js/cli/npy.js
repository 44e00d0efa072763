/** Arrays in files: NumPy's .npy, and IDX as MNIST comes in. */

import { TrainletError } from '../errors.js';
import { arrayOf, sizeOf } from '../tensor.js';
import { readData } from './files.js';

/** @import { NumberType, TypedArray } from '../types.js' */
/** @typedef {{ type: NumberType, dims: number[], data: TypedArray }} Raw */

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

/** The newest that there is. */
const NPY_VERSION = 3;

/** @param {string} message */
const bad = (message) => new TrainletError('source-unreadable', message);

/** @param {string} file @returns {Promise<Raw>} */
export async function readArray(file) {
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
export function parseNpy(file, bytes) {
  if (bytes.length < 12) throw bad(`${file} is truncated`);
  if (bytes[6] > NPY_VERSION)
    throw new TrainletError(
      'unsupported-version',
      `${file} is of version ${bytes[6]} of .npy, we read versions 1 to ${NPY_VERSION}`,
    );
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
  checkRoom(file, dims, buffer.byteLength / arrayOf(type).BYTES_PER_ELEMENT);
  return { type, dims, data: new (arrayOf(type))(buffer) };
}

/** @param {string} file @param {number[]} dims @param {number} elements that follow */
function checkRoom(file, dims, elements) {
  if (dims.every((d) => Number.isSafeInteger(d) && d >= 0) && sizeOf(dims) === elements) return;
  throw bad(`${file}: its dims are [${dims}], but ${Math.floor(elements)} elements follow`);
}
