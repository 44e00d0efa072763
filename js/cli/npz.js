/** NumPy's .npz: a zip file of .npy files, each the array of its name. */

import zlib from 'node:zlib';
import { sentenceOf, TrainletError } from '../base/errors.js';
import { readData } from './files.js';
import { parseNpy } from './npy.js';

/** @import { Raw } from './npy.js' */
/**
 * @typedef {{ name: string, method: number, packed: number, size: number, sum: number, at: number,
 * end: number }} Entry `packed` bytes between `at` and `end`, which make `size` with the CRC-32 `sum`
 */

const [END, ENTRY, LOCAL] = [0x06054b50, 0x02014b50, 0x04034b50];
const [STORED, DEFLATED] = [0, 8];
/** The end of a zip file is at most this long: a comment has a length of 16 bits. */
const END_MOST = 22 + 0xffff;
/** No entry makes more of fewer bytes than deflate can. */
const DEFLATE_MOST = 1033;
/** Bytes of all arrays together: no engine takes more. */
const UNPACKED_MOST = 2 ** 32 - 1;
/** Arrays of more bytes than these are taken for a bomb, if they have so many times as many as the file. */
const SUSPECT_BYTES = 2 ** 28;
const SUSPECT_TIMES = 100;
/** Flags of an entry that is encrypted or a patch. */
const UNREADABLE = 0x61;
/** The newest version of zip whose entries Python reads. */
const VERSION_MOST = 63;
/** An extra field that gives an entry another name. */
const OTHER_NAME = 0x7075;

/** @param {string} message */
const bad = (message) => new TrainletError('source-unreadable', message);

/** @param {string} file @returns {Promise<Record<string, Raw>>} */
export async function readNpz(file) {
  const { buffer } = await readData(file);
  const zip = Buffer.from(buffer);
  try {
    const contents = entriesOf(zip).map((entry) => /** @type {const} */ ([entry.name, contentOf(zip, entry)]));
    const arrays = contents.filter(([name]) => name.endsWith('.npy'));
    return Object.fromEntries(
      arrays.map(([name, content]) => [name.slice(0, -4), parseNpy(`${file}: ${name}`, content)]),
    );
  } catch (error) {
    if (error instanceof TrainletError) throw error;
    throw bad(`${file} is no .npz, or not all of it: ${sentenceOf(error)}`);
  }
}

/** The entries of the directory at the end of the file. @param {Buffer} zip @returns {Entry[]} */
function entriesOf(zip) {
  let end = zip.length - 22;
  while (end >= Math.max(0, zip.length - END_MOST) && zip.readUInt32LE(end) !== END) end--;
  if (end < 0 || zip.readUInt32LE(end) !== END) throw new Error('it has no directory at its end');
  const [begin, count] = [zip.readUInt32LE(end + 16), zip.readUInt16LE(end + 10)];
  if (begin + zip.readUInt32LE(end + 12) !== end || end + 22 + zip.readUInt16LE(end + 20) !== zip.length)
    throw new Error('its directory is not at its end');
  if (![LOCAL, END].includes(zip.readUInt32LE(0))) throw new Error('it does not begin with an entry');
  const entries = [];
  let at = begin;
  while (entries.length < count) {
    const { next, ...entry } = entryAt(zip, at);
    entries.push(entry);
    at = next;
  }
  if (at !== end) throw new Error('its directory is damaged');
  checkEntries(entries, zip.length);
  const starts = [...entries.map((entry) => entry.at), begin].sort((a, b) => a - b);
  return entries.map((entry) => ({ ...entry, end: starts[starts.indexOf(entry.at) + 1] }));
}

/** @param {Buffer} zip @param {number} at of the directory */
function entryAt(zip, at) {
  if (zip.readUInt32LE(at) !== ENTRY) throw new Error('its directory is damaged');
  const [packed, size, name] = [zip.readUInt32LE(at + 20), zip.readUInt32LE(at + 24), zip.readUInt16LE(at + 28)];
  if (size === 0xffffffff || packed === 0xffffffff) throw new Error('it has arrays of 4 GB or more');
  if (zip[at + 6] > VERSION_MOST || zip.readUInt16LE(at + 8) & UNREADABLE)
    throw new Error('an entry is encrypted, or of a newer version of zip');
  const extra = at + 46 + name;
  const extraEnd = extra + zip.readUInt16LE(at + 30);
  for (let field = extra; field + 4 <= extraEnd; field += 4 + zip.readUInt16LE(field + 2))
    if (zip.readUInt16LE(field) === OTHER_NAME || field + 4 + zip.readUInt16LE(field + 2) > extraEnd)
      throw new Error('its directory is damaged');
  return {
    name: new TextDecoder('utf-8', { fatal: true }).decode(zip.subarray(at + 46, extra)),
    method: zip.readUInt16LE(at + 10),
    packed,
    size,
    sum: zip.readUInt32LE(at + 16),
    at: zip.readUInt32LE(at + 42),
    next: extraEnd + zip.readUInt16LE(at + 32),
  };
}

/** Before anything is unpacked. @param {{ name: string, size: number }[]} entries @param {number} packed bytes */
function checkEntries(entries, packed) {
  if (new Set(entries.map(({ name }) => name)).size < entries.length) throw new Error('it has two arrays of one name');
  const size = entries.reduce((sum, entry) => sum + entry.size, 0);
  if (size > UNPACKED_MOST) throw new Error(`it unpacks to ${size} bytes; at most ${UNPACKED_MOST} are read`);
  if (size > SUSPECT_BYTES && size > packed * SUSPECT_TIMES)
    throw new Error(
      `it unpacks to ${size} bytes, more than ${SUSPECT_TIMES} times its own ${packed}: ` +
        'numpy.savez writes such arrays unpacked',
    );
  const free = process.availableMemory?.() ?? Infinity;
  if (size > free) throw new Error(`it unpacks to ${size} bytes, and ${free} bytes of memory are free`);
}

/** @param {Buffer} zip @param {Entry} entry @returns {Buffer} */
function contentOf(zip, { name, method, packed, size, sum, at, end }) {
  if (zip.readUInt32LE(at) !== LOCAL) throw new Error(`${name} is not where the directory says`);
  const named = at + 30 + zip.readUInt16LE(at + 26);
  if (zip.toString('utf8', at + 30, named) !== name) throw new Error(`${name} has another name where it is`);
  const start = named + zip.readUInt16LE(at + 28);
  const bytes = zip.subarray(start, start + packed);
  if (start + packed > end) throw new Error(`${name} overlaps what follows it`);
  if (bytes.length !== packed || size > packed * DEFLATE_MOST + 1) throw new Error(`${name} is cut short`);
  if (method !== STORED && method !== DEFLATED) throw new Error(`${name} is packed by method ${method}`);
  const content = method === STORED ? bytes : inflated(bytes, size);
  if (content.length !== size) throw new Error(`${name} has ${content.length} bytes instead of ${size}`);
  if (crcOf(content) === sum) return content;
  throw new Error(`${name} has other bytes than were saved`);
}

/** In one piece, which is not copied. @param {Buffer} bytes @param {number} size */
const inflated = (bytes, size) =>
  zlib.inflateRawSync(bytes, { maxOutputLength: Math.max(1, size), chunkSize: Math.max(64, size) });

/** CRC-32 of each byte: the polynomial x³² + x²⁶ + … + 1, its bits reversed. */
const CRC = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  return crc;
});

/** @param {Uint8Array} bytes */
function crcOf(bytes) {
  if (zlib.crc32) return zlib.crc32(bytes);
  let crc = -1;
  for (let i = 0; i < bytes.length; i++) crc = CRC[(crc ^ bytes[i]) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}
