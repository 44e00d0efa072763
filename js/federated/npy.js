/** Arrays as NumPy's .npy, version 1: the form in which Flower sends them. */

import { invalid, TrainletError } from '../base/errors.js';
import { numbersOf } from '../base/half-floats.js';
import { lazy } from '../base/lazy.js';
import { concatBytes } from '../base/rows.js';
import { sizeOf } from '../base/tensor.js';

const MAGIC = '\x93NUMPY\x01\x00';
/** The multiple of bytes after which NumPy begins the data. */
const ALIGNED = 64;
/** NumPy reads no longer header. */
const HEADER_MOST = 10_000;
const DESCR = { float16: '<f2', float32: '<f4', float64: '<f8' };
/** Bits of a float16 that is not finite. */
const INFINITE = 0x7c00;
const BYTES = { float16: 2, float32: 4, float64: 8 };

/** @param {readonly number[]} dims as Python writes a tuple */
const tupleOf = (dims) => `(${dims.join(', ')}${dims.length === 1 ? ',' : ''})`;

/** @param {readonly number[]} dims @param {Float32Array} data @param {'float32' | 'float16'} type */
export async function writeNpy(dims, data, type) {
  const text = `{'descr': '${DESCR[type]}', 'fortran_order': False, 'shape': ${tupleOf(dims)}, }`;
  const room = MAGIC.length + 2;
  const length = Math.ceil((room + text.length + 1) / ALIGNED) * ALIGNED - room;
  const head = Uint8Array.from(
    `${MAGIC}${String.fromCharCode(length & 255, length >> 8)}${text.padEnd(length - 1)}\n`,
    (character) => character.charCodeAt(0),
  );
  const values = type === 'float16' ? await halvesOf(data) : data;
  return concatBytes([head, new Uint8Array(values.buffer, values.byteOffset, values.byteLength)]);
}

/** @param {Float32Array} data */
async function halvesOf(data) {
  const { toHalf } = await lazy(() => import('../formats/safetensors.js'));
  const halves = Uint16Array.from(data, toHalf);
  const stray = halves.findIndex((half) => (half & INFINITE) === INFINITE);
  if (stray >= 0) throw new TrainletError('non-finite-loss', `${data[stray]} is too large for float16`);
  return halves;
}

/** @param {keyof typeof DESCR} type @param {ArrayBuffer} buffer @returns {ArrayLike<number>} */
function numbersIn(type, buffer) {
  if (type === 'float64') return new Float64Array(buffer);
  if (type === 'float32') return new Float32Array(buffer);
  return /** @type {Float32Array} */ (numbersOf({ type, data: new Uint16Array(buffer) }));
}

/**
 * The numbers of a file that came in chunks; all must be finite.
 * @param {string} name for messages
 * @param {readonly number[]} order the chunks that make the file
 * @param {readonly Uint8Array[]} chunks
 * @param {unknown} type as Flower says it
 * @param {readonly number[]} dims that are wanted
 */
export function readNpy(name, order, chunks, type, dims) {
  const bad = (/** @type {string} */ why) =>
    new TrainletError('source-unreadable', `the SuperLink sent '${name}' ${why}`);
  if (type !== 'float32' && type !== 'float16' && type !== 'float64')
    throw invalid(`the SuperLink's '${name}' is ${JSON.stringify(type)}, not float32`);
  const bytes = sizeOf(dims) * BYTES[type];
  const length = order.reduce((sum, at) => sum + chunks[at].length, 0);
  if (length > bytes + HEADER_MOST) throw bad(`with ${length} bytes, where ${bytes} were wanted`);
  const file = concatBytes(order.map((at) => chunks[at]));
  const text = String.fromCharCode(...file.subarray(0, MAGIC.length + 2));
  const start = MAGIC.length + 2 + text.charCodeAt(8) + 256 * text.charCodeAt(9);
  const head = String.fromCharCode(...file.subarray(MAGIC.length + 2, Math.min(start, HEADER_MOST)));
  const wanted = `{'descr': '${DESCR[type]}', 'fortran_order': False, 'shape': ${tupleOf(dims)}, }`;
  if (!text.startsWith(MAGIC) || head.trim() !== wanted)
    throw bad(`with a header that is not ${wanted} (np.ascontiguousarray makes such arrays)`);
  if (file.length !== start + bytes) throw bad(`with ${file.length - start} bytes of data, where ${bytes} were wanted`);
  const data = new Float32Array(numbersIn(type, file.slice(start).buffer));
  const stray = data.findIndex((value) => !Number.isFinite(value));
  if (stray >= 0) throw new TrainletError('non-finite-loss', `the SuperLink's '${name}' has ${data[stray]} in it`);
  return data;
}
