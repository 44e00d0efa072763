/** Samples in one file, an envelope (js/storage/envelope.js): its info lists them, and their bytes follow. */

import { TrainletError } from '../base/errors.js';
import { concatBytes } from '../base/rows.js';
import { addChecksum, unwrap, wrap } from './envelope.js';
import { codeOfFault } from './faults.js';
import { ID, isRecord } from './sample.js';

/** @import { Noted } from './sample.js' */
/** @typedef {{ id: string, record: Noted, bytes: Uint8Array<ArrayBuffer> }} Entry */

const MAGIC = new Uint8Array([0x89, 0x54, 0x4c, 0x58, 0x0d, 0x0a, 0x1a, 1]);

const UNREAD = 'the file of samples could not be read';

/** @param {Entry[]} entries */
export async function writeSamples(entries) {
  if (!globalThis.crypto?.subtle)
    throw new TrainletError('unsupported-browser', 'export needs a checksum, which browsers give https pages alone');
  const bytes = concatBytes(entries.map((entry) => entry.bytes));
  const samples = entries.map((entry) => ({ id: entry.id, record: entry.record, bytes: entry.bytes.length }));
  const envelope = wrap(bytes, { samples }, MAGIC);
  await addChecksum(envelope);
  return envelope;
}

/** @param {Uint8Array} file @returns {Promise<Entry[]>} */
export async function readSamples(file) {
  const opened = await unwrap(file, MAGIC);
  if (typeof opened === 'string') {
    const code = codeOfFault(opened);
    const why = code === 'unsupported-version' ? opened : 'is no export of samples, or not all of it';
    throw new TrainletError(code, `${UNREAD}: it ${why}`);
  }
  const { samples } = /** @type {any} */ (opened);
  if (!Array.isArray(samples)) throw corrupt('it lists no samples');
  let at = 0;
  /** @type {Entry[]} */
  const entries = samples.map((/** @type {any} */ sample, i) => {
    const { id, record, bytes } = sample ?? {};
    const part = opened.bytes.slice(at, at + bytes);
    if (!ID.test(id) || part.length !== bytes || !isRecord(record, bytes)) throw corrupt(`its sample ${i} is none`);
    at += bytes;
    return { id, record, bytes: part };
  });
  if (at !== opened.bytes.length) throw corrupt('it has more bytes than its samples');
  return [...new Map(entries.map((entry) => [entry.id, entry])).values()];
}

/** @param {string} why */
const corrupt = (why) => new TrainletError('checkpoint-corrupt', `${UNREAD}: ${why}`);
