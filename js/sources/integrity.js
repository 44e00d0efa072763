/** Whether bytes are those whose hash a page knows. */

/** @import { ErrorCode } from '../types.js' */

/**
 * @param {string} name
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {string} wanted
 * @returns {Promise<[ErrorCode, string] | undefined>} what is wrong with them
 */
export async function faultOf(name, bytes, wanted) {
  const [, size, digest] = /^sha(256|384|512)-(.+)$/.exec(wanted) ?? [];
  if (!size) return ['invalid-argument', `integrity of ${name} must be like sha256-…, not '${wanted}'`];
  if (!globalThis.crypto?.subtle)
    return ['unsupported-browser', 'integrity can be checked in a secure context only (https or localhost)'];
  const hash = new Uint8Array(await crypto.subtle.digest(`SHA-${size}`, bytes));
  const found = btoa(String.fromCharCode(...hash));
  if (found === digest) return undefined;
  return ['integrity-mismatch', `${name} is not what was expected: wanted ${wanted}, got sha${size}-${found}`];
}
