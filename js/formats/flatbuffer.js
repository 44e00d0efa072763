/**
 * FlatBuffers, written: every part after those that lead to it, tables that are alike with one vtable.
 *
 *   table(int32(5), undefined, text('x'))   field 0, no field 1, field 2
 */

import { TrainletError } from '../base/errors.js';

/** @typedef {{ bytes: number, put: (file: Writer, place: number) => void, part?: (file: Writer) => number }} Field */

/** FlatBuffers' own limit. */
const BYTES_MAX = 2 ** 31 - 1;

class Writer {
  count = 0;
  /** @type {Map<string, number>} */
  #vtables = new Map();

  /** @param {number} capacity */
  constructor(capacity) {
    this.bytes = new Uint8Array(capacity);
    this.view = new DataView(this.bytes.buffer);
  }

  /**
   * The place of new zeros; it lies, `shift` later, at a multiple of `align`. @param {number} bytes @param {number}
   * align @param {number} [shift]
   */
  room(bytes, align, shift = 0) {
    const place = Math.ceil((this.count + shift) / align) * align - shift;
    this.count = place + bytes;
    if (this.count > BYTES_MAX) throw new TrainletError('invalid-argument', 'an .ort file can have 2 GB at most');
    if (this.count > this.bytes.length) this.#grow(Math.min(2 * this.count, BYTES_MAX));
    return place;
  }

  /** The position of a vtable, shared by all tables that are alike. @param {number[]} numbers */
  vtable(numbers) {
    const key = String(numbers);
    const known = this.#vtables.get(key);
    if (known !== undefined) return known;
    const place = this.room(2 * numbers.length, 2);
    numbers.forEach((x, i) => {
      this.view.setUint16(place + 2 * i, x, true);
    });
    this.#vtables.set(key, place);
    return place;
  }

  /** @param {number} capacity */
  #grow(capacity) {
    const { bytes } = this;
    this.bytes = new Uint8Array(capacity);
    this.bytes.set(bytes);
    this.view = new DataView(this.bytes.buffer);
  }
}

/** @param {number} x @returns {Field} */
export const int8 = (x) => ({ bytes: 1, put: (file, place) => file.view.setInt8(place, x) });
/** @param {number} x @returns {Field} */
export const int32 = (x) => ({ bytes: 4, put: (file, place) => file.view.setInt32(place, x, true) });
/** @param {bigint} x @returns {Field} */
export const int64 = (x) => ({ bytes: 8, put: (file, place) => file.view.setBigInt64(place, x, true) });
/** @param {number} x @returns {Field} */
export const float32 = (x) => ({ bytes: 4, put: (file, place) => file.view.setFloat32(place, x, true) });

/**
 * A field that refers to a table or vector.
 * @param {(file: Writer) => number} part writes it, returns its position
 * @returns {Field}
 */
const partOf = (part) => ({ bytes: 4, put: () => {}, part });

/** @param {(Field | undefined)[]} fields */
export const table = (...fields) =>
  partOf((file) => {
    let bytes = 4;
    const offsets = fields.map((field) => {
      if (!field) return 0;
      const offset = Math.ceil(bytes / field.bytes) * field.bytes;
      bytes = offset + field.bytes;
      return offset;
    });
    const vtable = file.vtable([4 + 2 * fields.length, bytes, ...offsets]);
    const place = file.room(bytes, 8);
    file.view.setInt32(place, place - vtable, true);
    fields.forEach((field, i) => {
      if (field) write(file, field, place + offsets[i]);
    });
    return place;
  });

/** @param {Writer} file @param {Field} field @param {number} place */
function write(file, field, place) {
  const to = field.part?.(file); // this may give the file another view
  if (to === undefined) field.put(file, place);
  else file.view.setUint32(place, to - place, true);
}

/** A vector of tables or texts. @param {Field[]} parts */
export const list = (parts) =>
  partOf((file) => {
    const place = file.room(4 + 4 * parts.length, 4);
    file.view.setUint32(place, parts.length, true);
    parts.forEach((part, i) => {
      write(file, part, place + 4 + 4 * i);
    });
    return place;
  });

/** A vector of numbers or structs. @param {ArrayBufferView} data @param {number} count @param {number} [align] */
export const vector = (data, count, align = 4) =>
  partOf((file) => {
    const place = file.room(4 + data.byteLength, align, 4);
    file.view.setUint32(place, count, true);
    file.bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), place + 4);
    return place;
  });

/** @param {string | Uint8Array} letters the latter in UTF-8 */
export const text = (letters) =>
  partOf((file) => {
    const bytes = typeof letters === 'string' ? new TextEncoder().encode(letters) : letters;
    const place = file.room(4 + bytes.length + 1, 4);
    file.view.setUint32(place, bytes.length, true);
    file.bytes.set(bytes, place + 4);
    return place;
  });

/** @param {string} identifier of four letters @param {Field} root @param {number} capacity about its bytes */
export function flatFile(identifier, root, capacity) {
  const file = new Writer(capacity);
  const head = file.room(8, 8);
  file.bytes.set(new TextEncoder().encode(identifier), head + 4);
  write(file, root, head);
  return file.bytes.slice(0, file.count);
}
