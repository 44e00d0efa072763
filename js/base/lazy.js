/** Code that few pages need: it is loaded when it is first used, and where that fails a sentence says so. */

import { askedAt } from './call-site.js';
import { sentenceOf, TrainletError } from './errors.js';

/** They have no import(). */
const IN_SERVICE_WORKERS = 'a service worker needs trainlet.min.js, or a bundle in one file';

/**
 * @template T
 * @param {() => Promise<T>} load an import() of a literal, so that bundlers find it
 * @returns {Promise<T>}
 */
export async function lazy(load) {
  try {
    return await load();
  } catch (error) {
    const why = 'ServiceWorkerGlobalScope' in globalThis ? IN_SERVICE_WORKERS : 'offline, or replaced on the server?';
    const message = `a part of trainlet could not be loaded (${why}): ${sentenceOf(error)}`;
    throw new TrainletError('source-unreadable', message, { cause: error });
  }
}

/**
 * Calls a function of a module that is loaded for it. An error has the place of the call on its stack.
 * @param {() => Promise<Record<string, any>>} load an import() of a literal
 * @param {string} name of the function
 * @param {unknown[]} args
 * @returns {Promise<any>}
 */
export async function onDemand(load, name, args) {
  const here = new Error();
  try {
    return await (await lazy(load))[name](...args);
  } catch (error) {
    throw askedAt(here, error);
  }
}
