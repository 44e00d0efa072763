/** Finds out why a worker did not start: its error says nothing of it, so it is started once more and looked at. */

import { sentenceOf } from './errors.js';

/** The time for the second worker to fail. */
const PATIENCE_MS = 1000;
/** The time for the report of a policy's violation, which may come after the worker's error. */
const REPORT_MS = 100;

/**
 * @param {URL} url of the worker's script
 * @param {() => Promise<Worker>} start as before
 * @returns {Promise<string>}
 */
export async function reasonFor(url, start) {
  const violation = await violationBy(start);
  if (violation) return forbidden(violation, url);
  try {
    const response = await fetch(url, { credentials: 'same-origin' });
    if (!response.ok) return `${url}: HTTP ${response.status}`;
    const type = response.headers.get('content-type');
    if (!/javascript|ecmascript/.test(type ?? '')) return `${url} is no script (its type: ${type})`;
    if (globalThis.crossOriginIsolated && !response.headers.get('cross-origin-embedder-policy'))
      return `the page is cross-origin isolated, and ${url} came without the header Cross-Origin-Embedder-Policy`;
    return `${url} could not be loaded as a module`;
  } catch (error) {
    return `${url} could not be loaded: ${sentenceOf(error)}`;
  }
}

/** @param {() => Promise<Worker>} start @returns {Promise<SecurityPolicyViolationEvent | undefined>} */
async function violationBy(start) {
  /** @type {SecurityPolicyViolationEvent | undefined} */
  let found;
  const hear = (/** @type {any} */ event) => {
    if (/worker|child|script/.test(event.effectiveDirective)) found = event;
  };
  globalThis.addEventListener('securitypolicyviolation', hear);
  try {
    const worker = await start();
    await Promise.race([
      new Promise((resolve) => {
        worker.onerror = resolve;
      }),
      after(PATIENCE_MS),
    ]);
    if (!found) await after(REPORT_MS);
    worker.terminate();
  } catch {
    // it failed at once this time: a violation says why
  }
  globalThis.removeEventListener('securitypolicyviolation', hear);
  return found;
}

/** @param {SecurityPolicyViolationEvent} violation @param {URL} url */
function forbidden({ blockedURI, originalPolicy }, url) {
  const source = blockedURI.startsWith('blob') ? 'blob:' : url.origin === globalThis.origin ? "'self'" : url.origin;
  return `the page's Content Security Policy, ${originalPolicy}, forbids it: allow it by worker-src ${source}`;
}

/** @param {number} ms */
const after = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
