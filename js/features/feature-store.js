/** The store of features as pages hold it; what it does is loaded when one is opened. */

import { later } from '../base/lazy.js';

/** @import { KeptFeatures } from './cache.js' */
/** @import { FeatureStoreOptions, TensorLike } from '../types.js' */

export class FeatureStore {
  static get name() {
    return 'FeatureStore';
  }

  #kept;

  /** @param {KeptFeatures} kept */
  constructor(kept) {
    this.#kept = kept;
  }

  /** @param {FeatureStoreOptions} [options] */
  static async open(options = {}) {
    const { openKept } = await later(() => import('./cache.js'));
    return new FeatureStore(await openKept(options));
  }

  /** For fit and fineTune. @type {KeptFeatures['gather']} */
  gather(...wanted) {
    return this.#kept.gather(...wanted);
  }

  /** @param {Readonly<Record<string, TensorLike>>} inputs */
  has(inputs) {
    return this.#kept.has(inputs);
  }

  /** @param {Readonly<Record<string, TensorLike>>} inputs */
  delete(inputs) {
    return this.#kept.delete(inputs);
  }

  total() {
    return this.#kept.total();
  }

  clear() {
    return this.#kept.clear();
  }
}
