/** Arrays in files: NumPy's .npy, and IDX as MNIST comes in. */

import { TrainletError } from '../base/errors.js';
import { arrayOf, sizeOf } from '../base/tensor.js';
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
/** Bytes of a .npy header; NumPy reads no longer one either. */
const HEADER_MOST = 10_000;

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
  const [major, minor] = [bytes[6], bytes[7]];
  if (bytes.toString('latin1', 0, 6) !== '\x93NUMPY' || major < 1) throw bad(`${file} is no .npy`);
  if (major > NPY_VERSION || minor > 0)
    throw new TrainletError(
      'unsupported-version',
      `${file} is of version ${minor ? `${major}.${minor}` : major} of .npy, we read versions 1 to ${NPY_VERSION}`,
    );
  const start = major > 1 ? 12 : 10;
  const length = major > 1 ? bytes.readUInt32LE(8) : bytes.readUInt16LE(8);
  if (length > Math.min(HEADER_MOST, bytes.length - start))
    throw bad(`${file}: its header would have ${length} bytes; it is truncated, or no array`);
  const { descr, fortran, dims } = headerOf(file, bytes.toString('latin1', start, start + length));
  const type = Object.hasOwn(NPY_TYPES, descr) && NPY_TYPES[descr];
  if (!type) throw bad(`${file}: arrays of type ${descr} are not read`);
  if (fortran) throw bad(`${file} is in Fortran order; save it with numpy.ascontiguousarray`);
  const { buffer } = new Uint8Array(bytes.subarray(start + length));
  checkRoom(file, dims, buffer.byteLength / arrayOf(type).BYTES_PER_ELEMENT);
  return { type, dims, data: new (arrayOf(type))(buffer) };
}

/** A token of a .npy header: a string, a word, a number or a sign, with the spaces before it. */
const TOKEN = /[ \t\n\r\f]*(?:'([^'\\\n]*)'|"([^"\\\n]*)"|(True|False)|(-?(?:0|[1-9]\d*))|([{}():,[\]]))/y;

/**
 * A Python dict with the keys descr, fortran_order and shape, once each.
 * @param {string} file
 * @param {string} text
 */
function headerOf(file, text) {
  const tokens = tokensOf(text);
  const unfit = () => bad(`${file}: its header is none of NumPy: ${JSON.stringify(text.trim().slice(0, 80))}`);
  /** @type {Map<string, unknown>} */
  const found = new Map();
  const take = () => tokens?.shift();
  if (take() !== '{') throw unfit();
  while (tokens?.length && tokens[0] !== '}') {
    const key = /** @type {any} */ (take());
    if (!key.text || found.has(key.text) || take() !== ':') throw unfit();
    found.set(key.text, tokens[0] === '(' ? tupleIn(tokens) : take());
    if (tokens[0] !== '}' && take() !== ',') throw unfit();
  }
  const [descr, fortran, dims] = ['descr', 'fortran_order', 'shape'].map((key) => /** @type {any} */ (found.get(key)));
  const whole = tokens?.join() === '}' && found.size === 3 && typeof fortran === 'boolean' && Array.isArray(dims);
  if (!whole || !descr) throw unfit();
  return { descr: String(descr.text ?? 'of fields'), fortran, dims: /** @type {number[]} */ (dims) };
}

/**
 * Strings as { text }, so that they are no signs.
 * @param {string} text
 * @returns {({ text: string } | boolean | number | string)[] | undefined} undefined: it has something else
 */
function tokensOf(text) {
  const tokens = [];
  let end = text.length;
  while (' \t\n\r\f'.includes(text[end - 1])) end--;
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < end; ) {
    const match = TOKEN.exec(text);
    if (!match) return undefined;
    const [, single, double, word, number, sign] = match;
    const string = single ?? double;
    tokens.push(string !== undefined ? { text: string } : word ? word === 'True' : number ? Number(number) : sign);
  }
  return tokens;
}

/** A Python tuple of whole numbers: (), (3,) or (3, 4). @param {unknown[]} tokens from which it is taken */
function tupleIn(tokens) {
  const end = tokens.indexOf(')');
  const inside = tokens.splice(0, end + 1).slice(1, -1);
  const dims = inside.filter((_, i) => i % 2 === 0);
  const commas = inside.filter((_, i) => i % 2 === 1);
  const isTuple = end > 0 && commas.every((sign) => sign === ',') && inside.length !== 1;
  return isTuple && dims.every((dim) => typeof dim === 'number') ? dims : undefined;
}

/** @param {string} file @param {number[]} dims @param {number} elements that follow */
function checkRoom(file, dims, elements) {
  if (dims.every((d) => Number.isSafeInteger(d) && d >= 0) && sizeOf(dims) === elements) return;
  throw bad(`${file}: its dims are [${dims}], but ${Math.floor(elements)} elements follow`);
}
