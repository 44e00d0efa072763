/** Says why a source could not be read; a fetch that a policy forbids says nothing of it, so it is tried once more. */

import { sentenceOf, TrainletError } from '../base/errors.js';
import { isKind } from '../base/kind.js';

/** @import { Source } from '../types.js' */

/** The time for the second fetch to fail. */
const PATIENCE_MS = 1000;
/** The time for the report of a policy's violation, which may come after the fetch's error. */
const REPORT_MS = 100;

/** @param {string} name @param {Source} source @param {unknown} error */
export async function unreadable(name, source, error) {
  const url = typeof source === 'string' || isKind(source, 'URL') ? source : undefined;
  const why = (url && error instanceof TypeError && (await forbidden(url))) || sentenceOf(error);
  const from = url ? ` from ${url}` : '';
  return new TrainletError('source-unreadable', `${name} could not be loaded${from}: ${why}`, { cause: error });
}

/** A policy's reason for an address that cannot be fetched, if it is that. @param {string | URL} address */
async function forbidden(address) {
  if (!('SecurityPolicyViolationEvent' in globalThis)) return undefined;
  let isForbidden = false;
  const hear = (/** @type {any} */ { effectiveDirective }) => {
    isForbidden ||= effectiveDirective === 'connect-src';
  };
  globalThis.addEventListener('securitypolicyviolation', hear);
  const again = fetch(address, { method: 'HEAD' }).catch(() => after(REPORT_MS));
  await Promise.race([again, after(PATIENCE_MS)]);
  globalThis.removeEventListener('securitypolicyviolation', hear);
  if (!isForbidden) return undefined;
  const { origin } = new URL(address, globalThis.location?.href);
  const source = origin === globalThis.origin ? "'self'" : origin;
  return `the page's Content Security Policy forbids it: allow it by connect-src ${source}`;
}

/** @param {number} ms */
const after = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
