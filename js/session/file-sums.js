/** Sums of a session's files, which tell whether one has changed when it is read anew. */

/** @import { ExternalFile } from '../engine/protocol.js' */

/** Bytes of a file that are summed; of a longer one as many, evenly spread. */
const MOST = 2 ** 22;

/** @param {Uint8Array} bytes @returns {number} */
export function sumOf(bytes) {
  const step = Math.ceil(bytes.length / MOST) | 1; // odd: it meets each byte of a float
  let sum = bytes.length;
  for (let i = 0; i < bytes.length; i += step) {
    sum = Math.imul(sum ^ bytes[i], 0x01000193); // FNV-1a
    sum ^= sum >>> 15;
  }
  return sum;
}

/**
 * The sums of what `save` reads anew: the models and their external data, but no checkpoints.
 * @param {{ parts: readonly { which: string, bytes: Uint8Array }[], external: readonly ExternalFile[] }} files
 * @returns {[file: string, sum: number][]} by the engine's name of a part, or the location
 */
export const sumsOf = ({ parts, external }) =>
  [...parts.map(({ which, bytes }) => ({ location: which, bytes })), ...external]
    .filter(({ location }) => !['checkpoint', 'adapter'].includes(location))
    .map(({ location, bytes }) => [location, sumOf(bytes)]);
