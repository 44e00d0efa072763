/** Envelopes: bytes and their meta data in one file, with a checksum. */

import { checksum, isSame } from '../base/checksum.js';
import { OTHER_VERSION } from './faults.js';

/** @import { Stored } from './versions.js' */

/*
 * magic (7) | version (1) | SHA-256 of all that follows (32) | length of the info (4) | info, JSON | the bytes
 */
const VERSION = 7,
  SUM = 8,
  LENGTH = 40;
export const HEAD = 44;
export const CUT = 'is cut short or no checkpoint';

/**
 * Puts bytes into an envelope, which lacks its checksum only.
 * @param {Uint8Array} bytes
 * @param {Record<string, unknown>} more of the info, as JSON
 * @param {Uint8Array} magic with the version
 */
export function wrap(bytes, more, magic) {
  const info = new TextEncoder().encode(JSON.stringify({ savedAt: Date.now(), bytes: bytes.length, ...more }));
  const envelope = new Uint8Array(HEAD + info.length + bytes.length);
  envelope.set(magic);
  new DataView(envelope.buffer).setUint32(LENGTH, info.length, true);
  envelope.set(info, HEAD);
  envelope.set(bytes, HEAD + info.length);
  return envelope;
}

/** Writes the hash; outside of secure contexts, which have none, it stays 0. @param {Uint8Array} envelope */
export async function addChecksum(envelope) {
  const sum = await checksum(envelope.subarray(LENGTH));
  if (sum) envelope.set(sum, SUM);
}

/** In any version. @param {Uint8Array} head @param {Uint8Array} magic */
export const isEnvelope = (head, magic) => isSame(head.subarray(0, VERSION), magic.subarray(0, VERSION));

/** @param {Uint8Array} head @param {Uint8Array} magic */
const isOther = (head, magic) => isEnvelope(head, magic) && head.length > VERSION && head[VERSION] !== magic[VERSION];

/** The offset of the bytes. @param {Uint8Array} head */
export const bytesAt = (head) => HEAD + new DataView(head.buffer, head.byteOffset).getUint32(LENGTH, true);

/**
 * @param {Uint8Array} head up to the bytes at least
 * @param {number} size of the file
 * @param {Uint8Array} magic
 * @returns {{ savedAt: Date, bytes: number, meta: Record<string, unknown> } | undefined} undefined: it is not whole
 */
export function infoIn(head, size, magic) {
  try {
    const { savedAt, bytes, ...more } = JSON.parse(new TextDecoder().decode(head.subarray(HEAD, bytesAt(head))));
    const whole = isSame(head.subarray(0, SUM), magic) && bytesAt(head) + bytes === size;
    return whole ? { ...more, savedAt: new Date(savedAt), bytes } : undefined;
  } catch {
    return undefined;
  }
}

/** @param {Uint8Array} envelope @param {Uint8Array} magic @returns {Promise<Stored | string>} or why it is not whole */
export async function unwrap(envelope, magic) {
  if (isOther(envelope, magic)) return `${OTHER_VERSION}${envelope[VERSION]} of its format, we read ${magic[VERSION]}`;
  const info = infoIn(envelope, envelope.length, magic);
  if (!info) return CUT;
  const sum = await checksum(envelope.subarray(LENGTH));
  if (sum && !isSame(sum, envelope.subarray(SUM, LENGTH))) return 'has other bytes than were saved';
  return { ...info, bytes: envelope.slice(bytesAt(envelope)) };
}
