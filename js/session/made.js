/** The files that a session was made of, with sums that tell whether one has changed when it is read anew. */

/** @import { EngineOptions } from '../types.js' */
/** @import { ExternalFile } from '../engine/protocol.js' */
/** @import { PartSource } from './open.js' */
/** @typedef {{ parts: readonly { which: string, bytes: Uint8Array }[], external: readonly ExternalFile[] }} Files */
/** @typedef {{ sources: PartSource[], externalData?: EngineOptions['externalData'], sums?: Sums }} Made */
/** @typedef {[file: string, sum: number][]} Sums by the engine's name of a part, or the location of external data */

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

/** The sums of what `save` reads anew: no checkpoints. @param {Files} files @returns {Sums} */
export const sumsOf = ({ parts, external }) =>
  [...parts.map(({ which, bytes }) => ({ location: which, bytes })), ...external]
    .filter(({ location }) => !/^(checkpoint|adapter)$/.test(location))
    .map(({ location, bytes }) => [location, sumOf(bytes)]);
