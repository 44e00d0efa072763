// Checksums over damaged files, so that the damage is what is read.
import { createHash } from 'node:crypto';
import { crc32, inflateRawSync } from 'node:zlib';

/** SHA-256 of a sealed file (js/storage/envelope.js); none of one in eight. @param {Uint8Array} file */
export function sumSealed(file) {
  if (file.length > 40 && file.length % 8) file.set(createHash('sha256').update(file.subarray(40)).digest(), 8);
  return file;
}

/** The info of a sealed file, and a function that makes the file whole with another. @param {Uint8Array} file */
export function infoOf(file) {
  const end = 44 + Buffer.from(file).readUInt32LE(40);
  const withInfo = (info) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(info.length);
    const whole = Buffer.concat([file.subarray(0, 40), length, info, file.subarray(end)]);
    whole.set(createHash('sha256').update(whole.subarray(40)).digest(), 8);
    return whole;
  };
  return { seed: file.subarray(44, end), fix: withInfo };
}

const [ENTRY, LOCAL] = ['PK\x01\x02', 0x04034b50];

/** CRC-32 of each entry of a zip file whose content can be found; none of one in eight. @param {Buffer} zip */
export function sumZip(zip) {
  const next = (from) => (zip.length % 8 ? zip.indexOf(ENTRY, from, 'latin1') : -1);
  for (let at = next(0); at >= 0 && at + 46 <= zip.length; at = next(at + 1)) {
    const [method, packed, size] = [zip.readUInt16LE(at + 10), zip.readUInt32LE(at + 20), zip.readUInt32LE(at + 24)];
    const content = contentOf(zip, zip.readUInt32LE(at + 42), method, packed, size);
    if (content) zip.writeUInt32LE(crc32(content), at + 16);
  }
  return zip;
}

/** @returns {Buffer | undefined} */
function contentOf(zip, local, method, packed, size) {
  if (local + 30 > zip.length || zip.readUInt32LE(local) !== LOCAL) return undefined;
  const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
  const bytes = zip.subarray(start, start + packed);
  try {
    return method ? inflateRawSync(bytes, { maxOutputLength: Math.min(Math.max(1, size), 1 << 20) }) : bytes;
  } catch {
    return undefined;
  }
}
