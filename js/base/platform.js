/** Differences between Node and browsers: Node's own modules, and file paths beside URLs. */

import { isKind } from './kind.js';

/** True in Node, false in a page that happens to have a `process`. */
export const isNode =
  Boolean(globalThis.process?.versions?.node) && (typeof Worker === 'undefined' || typeof document === 'undefined');

/** False in service workers and in some browsers' shared workers. */
export const hasWorkers = () => isNode || 'Worker' in globalThis;

/**
 * One of Node's own modules; never called in a browser, and bundlers leave it alone.
 * @template {'fs/promises' | 'path' | 'url' | 'worker_threads' | 'crypto' | 'os'} N
 * @param {N} name
 * @returns {Promise<{
 *   'fs/promises': typeof import('node:fs/promises'), path: typeof import('node:path'),
 *   url: typeof import('node:url'), worker_threads: typeof import('node:worker_threads'),
 *   crypto: typeof import('node:crypto'), os: typeof import('node:os')
 * }[N]>}
 */
export function nodeModule(name) {
  return import(/* webpackIgnore: true */ /* @vite-ignore */ `node:${name}`);
}

/**
 * The absolute URL of a source: a URL, one relative to the page, or in Node a path.
 * @param {string | URL} source
 * @returns {Promise<URL>}
 */
export async function locate(source) {
  if (isKind(source, 'URL')) return source;
  if (/^[a-z][a-z0-9+.-]+:/i.test(source)) return new URL(source);
  if (isNode) return (await nodeModule('url')).pathToFileURL(source);
  return new URL(source, globalThis.document?.baseURI ?? globalThis.location?.href);
}
