/**
 * A WebAssembly file of ours, taken apart: its functions with what each refers to, and its memory as it begins.
 *
 * A function's address is a number from 5,123 on (the linker's --table-base), an address of data lies after the stack.
 * No two addresses are equal, so a number in the data that is an address identifies its target. A number in the code
 * does so if it is an address of data, or of a function that the code takes the address of (wasm/layout.mjs). A number
 * that equals an address by chance keeps something that could go, and does no harm.
 */

import { Reader, SECTION, sectionsOf } from './wasm-file.js';

/**
 * @typedef {object} Body
 * @property {number} start
 * @property {number} end
 * @property {Set<number>} calls functions that it calls
 * @property {Set<number>} numbers constants, and offsets of loads and stores: perhaps addresses
 * @property {Load[]} loads of words whose address is a constant, in order
 */

/**
 * @typedef {object} Load
 * @property {number} start of the constant
 * @property {number} end
 * @property {number} address
 */

/**
 * @typedef {object} Image
 * @property {Uint8Array} bytes
 * @property {import('./wasm-file.js').Section[]} sections
 * @property {number} imported functions, which have the first indices
 * @property {{ name: string, kind: number, index: number }[]} exports of all kinds; 0 is a function
 * @property {number | undefined} started the function that runs at first
 * @property {number} tableBase address of the first of `table`
 * @property {number[]} table the functions that have an address
 * @property {Body[]} bodies of the functions after the imported ones
 * @property {{ address: number, at: number, count: number }[]} segments of memory: `at` is where they stand in the file
 * @property {Buffer} memory as it begins, from address 0 on
 */

/** @param {Uint8Array} bytes @returns {Image} */
export function readImage(bytes) {
  const sections = sectionsOf(bytes);
  /** @template T @param {number} id @param {(reader: Reader) => T} read @param {T} otherwise */
  const sectionOf = (id, read, otherwise) => {
    const section = sections.find((it) => it.id === id);
    return section ? read(new Reader(bytes, section.start, section.end)) : otherwise;
  };
  const bodies = sectionOf(
    SECTION.code,
    (reader) => reader.list(() => readBody(reader)),
    /** @type {Scanned[]} */ ([]),
  );
  const { base, table } = sectionOf(SECTION.element, readTable, { base: 0, table: [] });
  const written = new Map(bodies.flatMap(({ writes }) => writes));
  const segments = sectionOf(SECTION.data, (reader) => readSegments(reader, written), []);
  const memory = Buffer.alloc(Math.max(0, ...segments.map(({ address, count }) => address + count)));
  for (const { address, at, count } of segments) memory.set(bytes.subarray(at, at + count), address);
  return {
    bytes,
    sections,
    imported: sectionOf(SECTION.import, countImports, 0),
    exports: sectionOf(SECTION.export, readExports, []),
    started: sectionOf(SECTION.start, (reader) => reader.count(), /** @type {number | undefined} */ (undefined)),
    tableBase: base,
    table,
    bodies,
    segments,
    memory,
  };
}

/** @param {Reader} reader */
function countImports(reader) {
  const kinds = reader.list(() => {
    reader.name();
    reader.name();
    const kind = reader.byte();
    if (kind === 0) reader.count();
    else if (kind === 3) reader.skip(2);
    else {
      if (kind === 1) reader.byte();
      if (reader.byte() & 1) reader.count();
      reader.count();
    }
    return kind;
  });
  return kinds.filter((kind) => kind === 0).length;
}

/** @param {Reader} reader */
function readExports(reader) {
  return reader.list(() => ({ name: reader.name(), kind: reader.byte(), index: reader.count() }));
}

/** Reads the one element section that the linker writes. @param {Reader} reader */
function readTable(reader) {
  const count = reader.count();
  const flags = reader.count();
  if (count !== 1 || flags !== 0) throw new RangeError('its table of functions is none of ours');
  const base = offsetOf(reader);
  return { base, table: reader.list(() => reader.count()) };
}

/** i32.const, end. @param {Reader} reader */
function offsetOf(reader) {
  if (reader.byte() !== I32_CONST) throw new RangeError('an offset in it is no number');
  const offset = reader.signed();
  reader.byte();
  return offset;
}

/**
 * @param {Reader} reader
 * @param {Map<number, number>} written addresses of the passive segments
 */
function readSegments(reader, written) {
  let index = 0;
  return reader.list(() => {
    const passive = reader.count() === 1;
    const address = passive ? (written.get(index) ?? 0) : offsetOf(reader);
    index++;
    const count = reader.count();
    const at = reader.at;
    reader.skip(count);
    return { address, at, count };
  });
}

/** @typedef {Body & { writes: [segment: number, address: number][] }} Scanned */

const I32_CONST = 0x41;
const I32_LOAD = 0x28;

/** @param {Reader} reader @returns {Scanned} */
function readBody(reader) {
  const end = reader.count() + reader.at;
  /** @type {Scanned} */
  const body = { start: reader.at, end, calls: new Set(), numbers: new Set(), loads: [], writes: [] };
  reader.list(() => {
    reader.count();
    reader.byte();
  });
  /** @type {number[]} */
  const last = [];
  for (let before = end; reader.at < end; ) {
    const { at, bytes } = reader;
    if (bytes[at] === I32_LOAD && bytes[before] === I32_CONST) loadOf(reader, body, before);
    else instruction(reader, body, last);
    before = at;
  }
  return body;
}

/** @param {Reader} reader @param {Scanned} body @param {number} start of the constant */
function loadOf(reader, body, start) {
  const base = new Reader(reader.bytes, start + 1).signed();
  reader.skip(1);
  reader.count();
  const offset = reader.count();
  body.loads.push({ start, end: reader.at, address: base + offset });
}

/**
 * https://webassembly.github.io/spec/core/binary/instructions.html
 * @param {Reader} reader @param {Scanned} body @param {number[]} last constants before it, the latest at the end
 */
function instruction(reader, body, last) {
  const code = reader.byte();
  if (code === I32_CONST) {
    const number = reader.signed();
    body.numbers.add(number);
    last.push(number);
  } else if (code === 0x10) body.calls.add(reader.count());
  else if (code >= I32_LOAD && code <= 0x3e) memoryArgument(reader, body);
  else if (code >= 0x02 && code <= 0x04) reader.signed();
  else if (code === 0x0c || code === 0x0d || (code >= 0x20 && code <= 0x26) || code === 0xd2) reader.count();
  else if (code === 0x0e) {
    reader.list(() => reader.count());
    reader.count();
  } else if (code === 0x11) {
    reader.count();
    reader.count();
  } else if (code === 0x1c) reader.list(() => reader.byte());
  else if (code === 0x3f || code === 0x40 || code === 0xd0) reader.byte();
  else if (code === 0x42) reader.signed();
  else if (code === 0x43) reader.skip(4);
  else if (code === 0x44) reader.skip(8);
  else if (code === 0xfc) bulk(reader, body, last);
  else if (code === 0xfd) vector(reader, body);
  else if (code === 0xfe) {
    if (reader.count() === 3) reader.byte();
    else memoryArgument(reader, body);
  }
}

/** @param {Reader} reader @param {Body} body */
function memoryArgument(reader, body) {
  reader.count();
  body.numbers.add(reader.count());
}

/** @param {Reader} reader @param {Scanned} body @param {number[]} last */
function bulk(reader, body, last) {
  const code = reader.count();
  if (code < 8) return;
  if (code === 8) {
    body.writes.push([reader.count(), last[last.length - 3]]); // address, offset in the segment, bytes
    reader.byte();
  } else if (code === 9 || code === 11) reader.count();
  else if (code === 10) reader.skip(2);
  else throw new RangeError(`it has an instruction 0xfc ${code}, which none of ours has`);
}

/** @param {Reader} reader @param {Body} body */
function vector(reader, body) {
  const code = reader.count();
  if (code <= 11 || code === 92 || code === 93) memoryArgument(reader, body);
  else if (code === 12 || code === 13) reader.skip(16);
  else if (code >= 21 && code <= 34) reader.byte();
  else if (code >= 84 && code <= 91) {
    memoryArgument(reader, body);
    reader.byte();
  }
}
