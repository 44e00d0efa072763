/** Protobuf messages, read by the numbers of their fields. A damaged one is a RangeError, or has other entries. */

import { lengthOf, varint } from './protobuf-writer.js';

/** @import { Parts } from './protobuf-writer.js' */
/** @typedef {bigint | Uint8Array} Entry a number, or the bytes of anything else */

export class Message {
  /** @type {Map<number, Entry[]>} */
  #fields = new Map();

  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    const from = new Cursor(bytes);
    while (from.at < bytes.length) {
      const tag = Number(from.varint());
      const entry = from.entry(tag & 7),
        entries = this.#fields.get(tag >> 3);
      if (entries) entries.push(entry);
      else this.#fields.set(tag >> 3, [entry]);
    }
  }

  /** @param {number} field */
  bytes(field) {
    return /** @type {Uint8Array | undefined} */ (this.#fields.get(field)?.at(-1));
  }

  /** @param {number} field */
  text(field) {
    return textOf(this.bytes(field));
  }

  /** @param {number} field */
  number(field) {
    return /** @type {bigint} */ (this.#fields.get(field)?.at(-1) ?? 0n);
  }

  /** @param {number} field */
  float(field) {
    const bytes = this.bytes(field);
    return bytes ? new DataView(bytes.buffer, bytes.byteOffset).getFloat32(0, true) : 0;
  }

  /** Each by itself, or all in one entry. @param {number} field */
  numbers(field) {
    return (this.#fields.get(field) ?? []).flatMap((entry) => (typeof entry === 'bigint' ? entry : unpack(entry)));
  }

  /** @param {number} field */
  floats(field) {
    const entries = /** @type {Uint8Array[]} */ (this.#fields.get(field) ?? []);
    return entries.flatMap((bytes) => {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      return Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
    });
  }

  /** @param {number} field */
  all(field) {
    return /** @type {Uint8Array[]} */ (this.#fields.get(field) ?? []);
  }

  /** @param {number} field */
  messages(field) {
    return this.all(field).map((bytes) => new Message(bytes));
  }

  /** @param {number} field */
  message(field) {
    const bytes = this.bytes(field);
    return bytes && new Message(bytes);
  }
}

/** @param {Uint8Array} [bytes] */
export const textOf = (bytes) => new TextDecoder().decode(bytes);

/** @param {Uint8Array} bytes @returns {bigint[]} */
function unpack(bytes) {
  const from = new Cursor(bytes);
  const numbers = [];
  while (from.at < bytes.length) numbers.push(from.varint());
  return numbers;
}

/**
 * A message in which those at a path of fields are others.
 * @param {Uint8Array} bytes @param {number[]} path @param {(bytes: Uint8Array) => Parts} change @returns {Parts}
 */
export function changed(bytes, [field, ...inner], change) {
  const from = new Cursor(bytes);
  const parts = [];
  while (from.at < bytes.length) {
    const start = from.at;
    const tag = Number(from.varint());
    const entry = from.entry(tag & 7);
    if (from.at > bytes.length) throw new RangeError('a message ends within one of its parts');
    if (tag === field * 8 + 2) {
      const message = /** @type {Uint8Array} */ (entry);
      const others = inner.length ? changed(message, inner, change) : change(message);
      parts.push(Uint8Array.of(tag, ...varint(lengthOf(others))), ...others);
    } else parts.push(bytes.subarray(start, from.at));
  }
  return parts;
}

class Cursor {
  at = 0;

  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
  }

  varint() {
    let x = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (this.at >= this.bytes.length) throw new RangeError('a message ends within a number');
      const byte = this.bytes[this.at++];
      x |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asIntN(64, x);
    }
  }

  /** @param {number} kind of protobuf's wire @returns {Entry} */
  entry(kind) {
    if (kind === 0) return this.varint();
    const length = kind === 2 ? Number(this.varint()) : kind === 1 ? 8 : 4;
    if (length < 0) throw new RangeError('a message has a part of negative length');
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
}
