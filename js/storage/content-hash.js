/** The identity of an example: a hash of its tensors with their names, types and dims. */

import { checksum } from '../base/checksum.js';
import { concatBytes, rowOf } from '../base/rows.js';
import { bytesOf } from '../base/tensor.js';

/** @import { PackedFeeds } from '../engine/protocol.js' */
/** @import { Taken } from '../data/dataset.js' */

/** Digits of a hash that are kept: no two of 2⁶⁴ examples are likely to have the same. */
const DIGITS = 32;
export const CONTENT = /^[0-9a-f]{32}$/;

/** @param {Uint8Array} bytes where there is a checksum */
export async function hashOf(bytes) {
  const sum = /** @type {Uint8Array} */ (await checksum(bytes));
  return Array.from(sum, (byte) => byte.toString(16).padStart(2, '0'))
    .join('')
    .slice(0, DIGITS);
}

/**
 * The hash of one example.
 * @param {readonly { name: string, type: string, dims: readonly number[], bytes: Uint8Array }[]} tensors
 */
async function contentOf(tensors) {
  const sorted = [...tensors].sort((a, b) => (a.name < b.name ? -1 : 1));
  const described = sorted.map(({ name, type, dims }) => [name, type, dims.slice(1)]);
  const head = new TextEncoder().encode(JSON.stringify(described));
  return await hashOf(concatBytes([head, ...sorted.map(({ bytes }) => bytes)]));
}

/** The hash of one packed example. @param {PackedFeeds} feeds @param {readonly string[]} without names, of labels */
export const contentIn = ({ tensors, buffer }, without) =>
  contentOf(
    tensors
      .filter(({ name }) => !without.includes(name))
      .map((tensor) => ({ ...tensor, bytes: new Uint8Array(buffer, tensor.offset, tensor.bytes) })),
  );

/** The hash of each row. @param {[string, Taken][]} tensors */
export const contentsOf = (tensors) =>
  Promise.all(
    Array.from({ length: tensors[0][1].dims[0] }, (_, row) =>
      contentOf(
        tensors.map(([name, { type, dims, data }]) => ({
          name,
          type,
          dims,
          bytes: rowOf(bytesOf(data), dims[0], row),
        })),
      ),
    ),
  );
