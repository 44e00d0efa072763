/**
 * Files of tensors as Hugging Face's safetensors writes them (format 0.4):
 *
 *     8 bytes: the length of the header, little-endian │ header: JSON, padded by spaces │ the tensors' bytes
 *     {"__metadata__": {"format": "pt"}, NAME: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …}
 *
 * Numbers are little-endian; the tensors lie without gaps.
 */

import { TrainletError } from '../base/errors.js';

/** @typedef {{ dims: number[], data: Float32Array }} Floats */
/** @typedef {'float32' | 'float16' | 'bfloat16'} FloatType */
/**
 * @typedef {{ name: string, dtype: string, dims: number[], from: number, to: number, count: number, isFloat: boolean }}
 * Place of a tensor, from the end of the header on
 */

const BYTES = /** @type {Record<string, number>} */ ({ F64: 8, F32: 4, F16: 2, BF16: 2 });
const DTYPES = { float32: 'F32', float16: 'F16', bfloat16: 'BF16' };
/** Bytes of the header of 100,000 tensors; the format's own reader takes six times as many. */
const MOST_HEADER = 2 ** 24;

/** @typedef {(message: string) => Error} Bad */
/** @param {string} file @returns {Bad} */
const badIn = (file) => (message) => new TrainletError('source-unreadable', `${file}: ${message}`);

/**
 * The tensors of floats by their names, as float32, and the notes.
 * @param {Uint8Array} bytes @param {string} file what errors call it
 * @returns {{ tensors: Map<string, Floats>, notes: Record<string, string> }}
 */
export function readSafetensors(bytes, file) {
  const bad = badIn(file);
  const start = startOf(bytes, bytes.length, bad);
  const header = headerOf(bytes.subarray(8, start), bad);
  const places = placesIn(header, bytes.length - start, bad);
  const stray = places.find(({ isFloat }) => !isFloat);
  if (stray) throw bad(`tensor '${stray.name}' is ${stray.dtype}; floats are F32, F16, BF16 or F64`);
  const view = new DataView(bytes.buffer, bytes.byteOffset + start);
  const tensors = new Map(
    places.map(({ name, dtype, dims, from, count }) => [name, { dims, data: floatsOf(view, dtype, from, count) }]),
  );
  return { tensors, notes: header.__metadata__ ?? {} };
}

/**
 * Opens a file that is read by ranges: tensors of any type, and their offsets.
 * @param {import('../sources/external-data.js').Ranges} ranges @param {string} file
 */
export async function openSafetensors({ bytes, read }, file) {
  const bad = badIn(file);
  const start = startOf(await read(0, Math.min(8, bytes)), bytes, bad);
  const header = headerOf(await read(8, start - 8), bad);
  return { places: placesIn(header, bytes - start, bad), start };
}

/** The end of the header. @param {Uint8Array} bytes @param {number} total @param {Bad} bad */
function startOf(bytes, total, bad) {
  if (total < 8) throw bad(`has ${total} bytes, too few for a safetensors file`);
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  if (length > total - 8)
    throw bad(`says that its header has ${length} bytes, and has ${total}: it is no safetensors file`);
  if (length > MOST_HEADER) throw bad(`has a header of ${length} bytes; at most ${MOST_HEADER} are read`);
  return 8 + length;
}

/** @param {Uint8Array} bytes @param {Bad} bad @returns {Record<string, any>} */
function headerOf(bytes, bad) {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    const header = JSON.parse(text);
    if (isObject(header) && isPlain(header, text)) return header;
  } catch {
    // refused below
  }
  throw bad('its header is no JSON object: it is no safetensors file');
}

/** @param {unknown} value */
const isObject = (value) => Boolean(value) && typeof value === 'object' && !Array.isArray(value);

/**
 * Refuses what JSON.parse takes and the format's own reader does not: a key twice, half a letter, a number with a
 * fraction, notes that are no texts.
 * @param {Record<string, any>} header @param {string} text
 */
function isPlain(header, text) {
  const notes = header.__metadata__ ?? {};
  const keys = [header, ...Object.values(header)].flatMap((part) => (isObject(part) ? Object.keys(part) : []));
  const others = text.replace(/"(?:[^"\\]|\\.)*"/g, '');
  const isOnce = others.split(':').length - 1 === keys.length;
  const texts = [...keys, ...Object.values(notes)];
  const isText = (/** @type {unknown} */ one) => typeof one === 'string' && !/\p{Surrogate}/u.test(one);
  return isObject(notes) && isOnce && texts.every(isText) && !/\d[.e]|-/i.test(others);
}

/** @param {Record<string, any>} header @param {number} bytes after it @param {Bad} bad */
function placesIn(header, bytes, bad) {
  const entries = Object.entries(header).filter(([name]) => name !== '__metadata__');
  const places = entries.map(([name, entry]) => placeOf(bad, name, entry));
  checkPlaces(bad, places, bytes);
  return places;
}

/** @param {Bad} bad @param {string} name @param {any} entry @returns {Place} */
function placeOf(bad, name, entry) {
  const { dtype, shape, data_offsets: offsets } = entry ?? {};
  const isCount = (/** @type {unknown} */ n) => Number.isSafeInteger(n) && /** @type {number} */ (n) >= 0;
  const whole = Array.isArray(shape) && shape.every(isCount) && Array.isArray(offsets) && offsets.length === 2;
  if (!whole || !offsets.every(isCount) || typeof dtype !== 'string')
    throw bad(`tensor '${name}' has no type, no shape, or no place`);
  const isFloat = Object.hasOwn(BYTES, dtype);
  const count = shape.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1);
  const [from, to] = offsets;
  if (to < from) throw bad(`tensor '${name}' ends at byte ${to}, and begins at ${from}`);
  if (isFloat && to - from !== count * BYTES[dtype])
    throw bad(`tensor '${name}' of [${shape}] has ${to - from} bytes, and needs ${count * BYTES[dtype]}`);
  return { name, dtype, dims: /** @type {number[]} */ (shape), from, to, count, isFloat };
}

/**
 * One after the other, all of the file.
 * @param {Bad} bad @param {{ name: string, from: number, to: number }[]} places @param {number} bytes
 */
function checkPlaces(bad, places, bytes) {
  let end = 0;
  for (const { name, from, to } of [...places].sort((a, b) => a.from - b.from || a.to - b.to)) {
    if (from !== end) throw bad(`tensor '${name}' begins at byte ${from}, where ${end} is wanted`);
    end = to;
  }
  if (end !== bytes) throw bad(`its tensors have ${end} bytes, and ${bytes} follow the header: was it cut off?`);
}

/** @param {DataView} view @param {string} dtype @param {number} from @param {number} count */
export function floatsOf(view, dtype, from, count) {
  const at = view.byteOffset + from;
  const bytes = /** @type {ArrayBuffer} */ (view.buffer).slice(at, at + count * BYTES[dtype]);
  if (dtype === 'F32') return new Float32Array(bytes);
  if (dtype === 'F64') return Float32Array.from(new Float64Array(bytes));
  const [all, numbers] = [new Uint16Array(bytes), tables[dtype === 'F16' ? 'F16' : 'BF16']()];
  const data = new Float32Array(count);
  for (let i = 0; i < count; i++) data[i] = numbers[all[i]];
  return data;
}

/** A lazily made table of the value of each 16 bits. @param {(bits: number) => number} decode */
function tableOf(decode) {
  /** @type {Float32Array | undefined} */
  let table;
  return () => {
    table ??= Float32Array.from({ length: 2 ** 16 }, (_, bits) => decode(bits));
    return table;
  };
}
const tables = { F16: tableOf(halfOf), BF16: tableOf(brainOf) };

const word = new DataView(new ArrayBuffer(4));

/** @param {number} bits of bfloat16, the upper half of a float32 */
function brainOf(bits) {
  word.setUint32(0, bits * 2 ** 16);
  return word.getFloat32(0);
}

/** @param {number} bits of float16: sign, 5 of exponent, 10 of fraction */
function halfOf(bits) {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size =
    exponent === 0
      ? fraction * 2 ** -24
      : exponent === 31
        ? fraction
          ? Number.NaN
          : Number.POSITIVE_INFINITY
        : (1024 + fraction) * 2 ** (exponent - 25);
  return bits & 0x8000 ? -size : size;
}

/** To the nearest, the even one of two. @param {number} x @returns {number} bits of bfloat16 */
export function toBrain(x) {
  word.setFloat32(0, x);
  const bits = word.getUint32(0);
  if (Number.isNaN(x)) return (bits >>> 16) | 64;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

/** @param {number} x of a finite size @returns {number} the even whole number of two that are as near */
function nearestEven(x) {
  const low = Math.floor(x);
  const over = x - low;
  return over > 0.5 || (over === 0.5 && low % 2 === 1) ? low + 1 : low;
}

/** To the nearest, the even one of two. @param {number} x @returns {number} bits of float16 */
export function toHalf(x) {
  const sign = x < 0 || Object.is(x, -0) ? 0x8000 : 0;
  const size = Math.abs(x);
  if (Number.isNaN(x)) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  const exponent = Math.max(-14, Math.floor(Math.log2(size)));
  const steps = nearestEven(size * 2 ** (10 - exponent)); // 1024 to 2048 of them, or fewer below the normal ones
  return sign | (steps + (exponent + 14) * 1024);
}

/**
 * @param {Map<string, Floats>} tensors @param {FloatType} type @param {Record<string, string>} [notes]
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function writeSafetensors(tensors, type, notes = { format: 'pt' }) {
  const each = BYTES[DTYPES[type]];
  const names = [...tensors.keys()].sort();
  let end = 0;
  const entries = names.map((name) => {
    const { dims, data } = /** @type {Floats} */ (tensors.get(name));
    const from = end;
    end += data.length * each;
    return [name, { dtype: DTYPES[type], shape: dims, data_offsets: [from, end] }];
  });
  const header = Object.fromEntries([['__metadata__', notes], ...entries]);
  const text = new TextEncoder().encode(JSON.stringify(header));
  const length = Math.ceil(text.length / 8) * 8;
  const bytes = new Uint8Array(8 + length + end).fill(0x20, 8, 8 + length);
  bytes.set(text, 8);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(length), true);
  let at = 8 + length;
  for (const name of names)
    for (const x of /** @type {Floats} */ (tensors.get(name)).data) {
      if (type === 'float32') view.setFloat32(at, x, true);
      else view.setUint16(at, type === 'float16' ? toHalf(x) : toBrain(x), true);
      at += each;
    }
  return bytes;
}
