/** A number that tells one data set from another of the same size: a hash of some thousand of their bytes. */

import { bytesOf } from './tensor.js';

/** @import { Taken } from './data.js' */

/** Of each tensor, at equal distances. */
const SAMPLES = 8192;
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
    const step = Math.max(1, bytes.length / SAMPLES);
    for (let at = 0; at < bytes.length; at += step) add(bytes[Math.floor(at)]);
  }
  return hash >>> 0;
}
