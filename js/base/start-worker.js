/** Starts the workers of a page, from scripts on any origin. */

import { sentenceOf, TrainletError } from './errors.js';
import { lazy } from './lazy.js';
import { hasWorkers } from './platform.js';

/** @param {URL} url */
const isForeign = ({ protocol, origin }) => protocol.startsWith('http') && origin !== globalThis.origin;

/**
 * @param {() => URL} locate a module, on any origin
 * @param {string} [task] named in an error
 */
export async function workerFrom(locate, task = '') {
  try {
    if (!hasWorkers()) throw new Error('this thread has no Worker');
    const url = locate();
    const script = isForeign(url) ? (await lazy(() => import('./foreign-worker.js'))).importing(url) : url;
    return new Worker(script, { type: 'module' });
  } catch (error) {
    throw new TrainletError('worker-died', `no worker${task} could be started: ${sentenceOf(error)}`, { cause: error });
  }
}

/** The reason why a worker of that module did not start, of which its error says nothing. @param {() => URL} locate */
export const whyNoWorker = async (locate) =>
  await lazy(() => import('./no-worker.js')).then(
    ({ reasonFor }) => reasonFor(locate(), () => workerFrom(locate)),
    () => 'its script could not be loaded, or a CSP forbids it',
  );
