/** Compares bytes with a hash that the page knows. */

import { invalid, TrainletError } from '../base/errors.js';

/** @param {string} name @param {Uint8Array<ArrayBuffer>} bytes @param {string} wanted */
export async function checkIntegrity(name, bytes, wanted) {
  const [, size, digest] = /^sha(256|384|512)-(.+)$/.exec(wanted) ?? [];
  if (!size) throw invalid(`integrity of ${name} must be like sha256-…, not '${wanted}'`);
  if (!globalThis.crypto?.subtle)
    throw new TrainletError(
      'unsupported-browser',
      'integrity can be checked in a secure context only (https or localhost)',
    );
  const hash = new Uint8Array(await crypto.subtle.digest(`SHA-${size}`, bytes));
  const found = btoa(String.fromCharCode(...hash));
  if (found === digest) return;
  throw new TrainletError(
    'integrity-mismatch',
    `${name} is not what was expected: wanted ${wanted}, got sha${size}-${found}`,
  );
}
