/** NumPy's .npz: a zip file of .npy files, each the array of its name. */

import { inflateRawSync } from 'node:zlib';
import { sentenceOf, TrainletError } from '../errors.js';
import { readData } from './files.js';
import { parseNpy } from './npy.js';

/** @import { Raw } from './npy.js' */
/** @typedef {{ name: string, method: number, packed: number, size: number, at: number }} Entry */

const [END, ENTRY, LOCAL] = [0x06054b50, 0x02014b50, 0x04034b50];
const [STORED, DEFLATED] = [0, 8];
/** The end of a zip file is at most this long: a comment has a length of 16 bits. */
const END_MOST = 22 + 0xffff;
/** No entry makes more of fewer bytes than deflate can. */
const DEFLATE_MOST = 1033;

/** @param {string} message */
const bad = (message) => new TrainletError('source-unreadable', message);

/** @param {string} file @returns {Promise<Record<string, Raw>>} */
export async function readNpz(file) {
  const { buffer } = await readData(file);
  const zip = Buffer.from(buffer);
  try {
    const arrays = entriesOf(zip)
      .filter(({ name }) => name.endsWith('.npy'))
      .map((entry) => [entry.name.slice(0, -4), parseNpy(`${file}: ${entry.name}`, contentOf(zip, entry))]);
    return Object.fromEntries(arrays);
  } catch (error) {
    if (error instanceof TrainletError) throw error;
    throw bad(`${file} is no .npz, or not all of it: ${sentenceOf(error)}`);
  }
}

/** What the directory at the end of the file lists. @param {Buffer} zip @returns {Entry[]} */
function entriesOf(zip) {
  let end = zip.length - 22;
  while (end >= Math.max(0, zip.length - END_MOST) && zip.readUInt32LE(end) !== END) end--;
  if (end < 0 || zip.readUInt32LE(end) !== END) throw new Error('it has no directory at its end');
  const entries = [];
  for (let at = zip.readUInt32LE(end + 16), left = zip.readUInt16LE(end + 10); left > 0; left--) {
    if (zip.readUInt32LE(at) !== ENTRY) throw new Error('its directory is damaged');
    const [packed, size, name] = [zip.readUInt32LE(at + 20), zip.readUInt32LE(at + 24), zip.readUInt16LE(at + 28)];
    if (size === 0xffffffff || packed === 0xffffffff) throw new Error('it has arrays of 4 GB or more');
    entries.push({
      name: zip.toString('utf8', at + 46, at + 46 + name),
      method: zip.readUInt16LE(at + 10),
      packed,
      size,
      at: zip.readUInt32LE(at + 42),
    });
    at += 46 + name + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  return entries;
}

/** @param {Buffer} zip @param {Entry} entry @returns {Buffer} */
function contentOf(zip, { name, method, packed, size, at }) {
  if (zip.readUInt32LE(at) !== LOCAL) throw new Error(`${name} is not where the directory says`);
  const start = at + 30 + zip.readUInt16LE(at + 26) + zip.readUInt16LE(at + 28);
  const bytes = zip.subarray(start, start + packed);
  if (bytes.length !== packed || size > packed * DEFLATE_MOST + 1) throw new Error(`${name} is cut short`);
  if (method !== STORED && method !== DEFLATED) throw new Error(`${name} is packed by method ${method}`);
  const content = method === STORED ? bytes : inflateRawSync(bytes, { maxOutputLength: Math.max(1, size) });
  if (content.length === size) return content;
  throw new Error(`${name} has ${content.length} bytes instead of ${size}`);
}
