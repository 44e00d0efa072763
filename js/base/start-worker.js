/** Starts the workers of a page, from scripts on any origin. */

import { sentenceOf, TrainletError } from './errors.js';
import { lazy } from './lazy.js';
import { isNode } from './platform.js';

/** False in service workers and in some browsers' shared workers. */
export const hasWorkers = () => isNode || 'Worker' in globalThis;

/**
 * Blob URLs by the module that each imports.
 * @type {Map<string, string>}
 */
const scripts = new Map();

/**
 * A browser starts no worker from a script of another origin, as a CDN's: a script of the page's own imports it.
 * @param {() => URL} locate a module
 * @param {string} [task] named in an error
 */
export function workerFrom(locate, task = '') {
  try {
    if (!hasWorkers()) throw new Error('this thread has no Worker');
    const url = locate();
    const isForeign = url.protocol.startsWith('http') && url.origin !== globalThis.origin;
    return new Worker(isForeign ? importing(url.href) : url, { type: 'module' });
  } catch (error) {
    throw new TrainletError('worker-died', `no worker${task} could be started: ${sentenceOf(error)}`, { cause: error });
  }
}

/** @param {string} href */
function importing(href) {
  const script = scripts.get(href) ?? URL.createObjectURL(new Blob([`import "${href}"`], { type: 'text/javascript' }));
  scripts.set(href, script);
  return script;
}

/** The reason why a worker of that module did not start, of which its error says nothing. @param {() => URL} locate */
export const whyNoWorker = async (locate) =>
  await lazy(() => import('./no-worker.js')).then(
    ({ reasonFor }) => reasonFor(locate(), () => workerFrom(locate)),
    () => 'its script could not be loaded, or a CSP forbids it',
  );
