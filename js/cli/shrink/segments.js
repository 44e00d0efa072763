/**
 * Joins the segments of a wasm file's memory where few zeros lie between them: these compress better than one more
 * head.
 */

import { leb, Reader, SECTION, sectionsOf, signedLeb, withSections } from './wasm-file.js';

const ZEROS_MOST = 96;
const DATA_COUNT = 12;
const I32_CONST = 0x41;
const END = 0x0b;

/** @typedef {{ address: number, data: Uint8Array }} Segment */

/** @param {Uint8Array} bytes as binaryen writes it; a file with passive segments stays as it is */
export function joinSegments(bytes) {
  const sections = sectionsOf(bytes);
  const section = sections.find(({ id }) => id === SECTION.data);
  const segments = section && segmentsIn(new Reader(bytes, section.start, section.end));
  if (!segments?.every((segment) => segment)) return bytes;
  const joined = join(/** @type {Segment[]} */ (segments));
  const data = joined.flatMap((it) => [
    Uint8Array.of(0, I32_CONST),
    signedLeb(it.address),
    Uint8Array.of(END),
    leb(it.data.length),
    it.data,
  ]);
  const contents = new Map([[SECTION.data, Buffer.concat([leb(joined.length), ...data])]]);
  if (sections.some(({ id }) => id === DATA_COUNT)) contents.set(DATA_COUNT, Buffer.from(leb(joined.length)));
  return withSections(bytes, sections, contents);
}

/** Undefined for a passive one. @param {Reader} reader */
function segmentsIn(reader) {
  return reader.list(() => {
    const isActive = reader.count() === 0 && reader.byte() === I32_CONST;
    const address = isActive ? reader.signed() : 0;
    if (isActive) reader.skip(1);
    const count = reader.count();
    const data = reader.bytes.subarray(reader.at, reader.at + count);
    reader.skip(count);
    return isActive ? { address, data } : undefined;
  });
}

/** @param {Segment[]} segments */
function join(segments) {
  /** @type {Segment[]} */
  const joined = [];
  for (const { address, data } of segments) {
    const last = joined.at(-1);
    const gap = last ? address - last.address - last.data.length : -1;
    if (last && gap >= 0 && gap <= ZEROS_MOST) last.data = Buffer.concat([last.data, new Uint8Array(gap), data]);
    else joined.push({ address, data });
  }
  return joined;
}
