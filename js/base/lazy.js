/** Code that few pages need: it is loaded when it is first used, and where that fails a sentence says so. */

import { sentenceOf, TrainletError } from './errors.js';

/**
 * @template T
 * @param {() => Promise<T>} load an import() of a literal, so that bundlers find it
 * @returns {Promise<T>}
 */
export async function later(load) {
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
