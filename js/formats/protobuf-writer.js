/** Protobuf messages, written by the numbers of their fields. */

/** @typedef {Uint8Array[]} Parts of a message, one after the other */
/** @typedef {readonly [field: number, value: number | string | Uint8Array | Parts]} Field */

const encoder = new TextEncoder();

export const lengthOf = (/** @type {Parts} */ parts) => parts.reduce((sum, { length }) => sum + length, 0);

/** @param {number} x @returns {number[]} */
export const varint = (x) => (x < 128 ? [x] : [(x % 128) + 128, ...varint(Math.floor(x / 128))]);

/**
 * A number is a varint and must not be negative; text, bytes and other messages are length-delimited.
 * @param {Field[]} fields
 * @returns {Parts}
 */
export const message = (...fields) =>
  fields.flatMap(([field, value]) => {
    if (typeof value === 'number') return [Uint8Array.of(...varint(field * 8), ...varint(value))];
    const parts = typeof value === 'string' ? [encoder.encode(value)] : Array.isArray(value) ? value : [value];
    return [Uint8Array.of(...varint(field * 8 + 2), ...varint(lengthOf(parts))), ...parts];
  });
