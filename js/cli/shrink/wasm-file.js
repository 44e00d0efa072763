/**
 * Reads the sections of a WebAssembly file.
 *
 * https://webassembly.github.io/spec/core/binary/modules.html
 */

const MAGIC = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

export const SECTION = { custom: 0, import: 2, function: 3, start: 8, export: 7, element: 9, code: 10, data: 11 };

/** Bytes read from front to back. Throws RangeError past their end. */
export class Reader {
  /** @param {Uint8Array} bytes @param {number} [at] @param {number} [end] */
  constructor(bytes, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  get done() {
    return this.at >= this.end;
  }

  byte() {
    if (this.at >= this.end) throw new RangeError('the file ends too soon');
    return this.bytes[this.at++];
  }

  /** @param {number} count */
  skip(count) {
    if (count < 0 || this.at + count > this.end) throw new RangeError('the file ends too soon');
    this.at += count;
  }

  /** An unsigned LEB128 number of at most 32 bits. */
  count() {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
      if (shift >= 28) throw new RangeError('a number is too long');
    }
  }

  /** A signed LEB128 number of at most 64 bits; exact only below 2^53. */
  signed() {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return byte & 64 ? value - 2 ** (shift + 7) : value;
      if (shift >= 63) throw new RangeError('a number is too long');
    }
  }

  name() {
    const count = this.count();
    const from = this.at;
    this.skip(count);
    return new TextDecoder().decode(this.bytes.subarray(from, this.at));
  }

  /** @template T @param {() => T} item */
  list(item) {
    return Array.from({ length: this.count() }, item);
  }
}

/**
 * @typedef {object} Section
 * @property {number} id
 * @property {string} name of a custom section, else ''
 * @property {number} head where its id stands
 * @property {number} start of its contents, after a custom section's name
 * @property {number} end
 */

/** @param {Uint8Array} bytes @returns {Section[]} */
export function sectionsOf(bytes) {
  if (MAGIC.some((byte, i) => bytes[i] !== byte)) throw new RangeError('it does not begin as WebAssembly does');
  const reader = new Reader(bytes, MAGIC.length);
  const sections = [];
  while (!reader.done) {
    const head = reader.at;
    const id = reader.byte();
    const size = reader.count();
    const end = reader.at + size;
    const name = id === SECTION.custom ? reader.name() : '';
    const start = reader.at;
    reader.skip(end - start);
    sections.push({ id, name, head, start, end });
  }
  return sections;
}

/**
 * The file of these of its sections, with other contents where `contents` has some.
 * @param {Uint8Array} bytes @param {Section[]} sections @param {Map<number, Uint8Array>} [contents] by the section's id
 */
export function withSections(bytes, sections, contents = new Map()) {
  const parts = sections.flatMap(({ id, head, end }) => {
    const other = contents.get(id);
    return other ? [Uint8Array.of(id), leb(other.length), other] : [bytes.subarray(head, end)];
  });
  return Buffer.concat([Uint8Array.from(MAGIC), ...parts]);
}

/** An unsigned number as LEB128. @param {number} value */
export function leb(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value & 127) | 128);
  return Uint8Array.of(...bytes, value);
}

/**
 * A number that is not negative, as signed LEB128: its sixth bit would make the last byte's a minus.
 * @param {number} value
 */
export function signedLeb(value) {
  const bytes = leb(value);
  const last = bytes.length - 1;
  return bytes[last] & 64 ? Uint8Array.of(...bytes.subarray(0, last), bytes[last] | 128, 0) : bytes;
}
