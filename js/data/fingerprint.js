/** A number that tells one data set from another of the same size: a hash of some thousand of their bytes. */

import { bytesOf } from '../base/tensor.js';

/** @import { Taken } from './dataset.js' */

/** Samples of a tensor: one in each of so many equal parts, of as many bytes as an element may have. */
const [SAMPLES, WIDTH] = [2048, 8];
const GOLDEN_RATIO = 0.6180339887498949;
const encoder = new TextEncoder();

/** @param {readonly [string, Taken][]} tensors */
export function fingerprintOf(tensors) {
  let hash = 0x811c9dc5;
  const add = (/** @type {number} */ byte) => {
    hash = Math.imul(hash ^ byte, 0x01000193); // FNV-1a
  };
  for (const [name, { type, data, dims }] of tensors) {
    encoder.encode(`${name} ${type} ${dims}`).forEach(add);
    const bytes = bytesOf(data);
    const part = Math.max(WIDTH, bytes.length / SAMPLES);
    for (let i = 0; i * part < bytes.length; i++) {
      const at = Math.floor(i * part + ((i * GOLDEN_RATIO) % 1) * (part - WIDTH));
      bytes.subarray(at, at + WIDTH).forEach(add);
    }
  }
  return hash >>> 0;
}
