/** Code that few pages need: it is loaded when it is first used, and where that fails a sentence says so. */

import { askedAt } from './call-site.js';
import { sentenceOf, TrainletError } from './errors.js';

/**
 * @template T
 * @param {() => Promise<T>} load an import() of a literal, so that bundlers find it
 * @returns {Promise<T>}
 */
export async function lazy(load) {
  try {
    return await load();
  } catch (error) {
    throw new TrainletError(
      'source-unreadable',
      `a part of trainlet could not be loaded (offline, or replaced on the server?): ${sentenceOf(error)}`,
      { cause: error },
    );
  }
}

/**
 * A function of a module that is loaded at its first call. What it throws leads to the caller.
 * @template {Record<string, any>} M
 * @template {keyof M} K
 * @param {() => Promise<M>} load an import() of a literal
 * @param {K} name
 * @returns {M[K]}
 */
export function onDemand(load, name) {
  const call = async (/** @type {unknown[]} */ ...args) => {
    const here = new Error();
    try {
      return await (await lazy(load))[name](...args);
    } catch (error) {
      throw askedAt(here, error);
    }
  };
  return /** @type {any} */ (call);
}
