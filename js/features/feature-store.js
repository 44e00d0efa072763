/** The store of features as pages hold it; what it does is loaded when one is opened. */

import { notByNew } from '../base/errors.js';
import { lazy } from '../base/lazy.js';

/** @import { FeatureCache } from './cache.js' */
/** @import { FeatureStoreOptions, TensorLike } from '../types.js' */

export class FeatureStore {
  static get name() {
    return 'FeatureStore';
  }

  #cache;

  /** @param {FeatureCache} cache */
  constructor(cache) {
    if (!cache?.gather) throw notByNew('a store is opened', 'FeatureStore.open()');
    this.#cache = cache;
  }

  /** @param {FeatureStoreOptions} [options] */
  static async open(options = {}) {
    const { openFeatureCache } = await lazy(() => import('./cache.js'));
    return new FeatureStore(await openFeatureCache(options));
  }

  /** For fit and fineTune. @type {FeatureCache['gather']} */
  gather(...wanted) {
    return this.#cache.gather(...wanted);
  }

  /** @param {Readonly<Record<string, TensorLike>>} inputs */
  has(inputs) {
    return this.#cache.has(inputs);
  }

  /** @param {Readonly<Record<string, TensorLike>>} inputs */
  delete(inputs) {
    return this.#cache.delete(inputs);
  }

  total() {
    return this.#cache.total();
  }

  clear() {
    return this.#cache.clear();
  }
}
