/** The store of samples as pages hold it; what it does is loaded when one is opened. */

import { notByNew } from '../base/errors.js';
import { lazy } from '../base/lazy.js';

/** @import { Samples } from './samples.js' */
/** @import { Sample, SampleStoreOptions } from '../types.js' */

export class SampleStore {
  static get name() {
    return 'SampleStore';
  }

  #samples;

  /** @param {Samples} samples */
  constructor(samples) {
    if (!samples?.add) throw notByNew('a store is opened', 'SampleStore.open()');
    this.#samples = samples;
  }

  /** @param {SampleStoreOptions} [options] */
  static async open(options = {}) {
    const { openSamples } = await lazy(() => import('./samples.js'));
    return new SampleStore(await openSamples(options));
  }

  /** @param {Sample} sample */
  add(sample) {
    return this.#samples.add(sample);
  }

  /** @param {string} id @param {string | null} label */
  label(id, label) {
    return this.#samples.label(id, label);
  }

  /** @param {{ label?: string | null }} [options] */
  list(options) {
    return this.#samples.list(options);
  }

  /** @param {string} id */
  get(id) {
    return this.#samples.get(id);
  }

  /** @param {string} id */
  delete(id) {
    return this.#samples.delete(id);
  }

  classes() {
    return this.#samples.classes();
  }

  /** @param {{ classes?: readonly string[], labels?: string }} [options] */
  dataset(options) {
    return this.#samples.dataset(options);
  }

  export() {
    return this.#samples.export();
  }

  /** @param {Uint8Array} bytes */
  import(bytes) {
    return this.#samples.import(bytes);
  }

  persist() {
    return this.#samples.persist();
  }
}
