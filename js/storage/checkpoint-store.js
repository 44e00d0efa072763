/** The store of checkpoints as pages hold it; what it does is loaded when one is opened. */

import { notByNew } from '../base/errors.js';
import { lazy } from '../base/lazy.js';

/** @import { Versions } from './versions.js' */

export class CheckpointStore {
  static get name() {
    return 'CheckpointStore';
  }

  #versions;

  /** @param {Versions} versions */
  constructor(versions) {
    if (!versions?.save) throw notByNew('a store is opened', 'CheckpointStore.open()');
    this.#versions = versions;
  }

  /** @param {{ database?: string, directory?: string, keep?: number }} [options] */
  static async open(options = {}) {
    const { openVersions } = await lazy(() => import('./versions.js'));
    return new CheckpointStore(await openVersions(options));
  }

  /** @param {string} name @param {Uint8Array} bytes @param {Record<string, unknown>} [meta] */
  save(name, bytes, meta) {
    return this.#versions.save(name, bytes, meta);
  }

  /** @param {string} name @param {{ version?: number }} [options] */
  load(name, options) {
    return this.#versions.load(name, options);
  }

  /** @param {string} name */
  versions(name) {
    return this.#versions.versions(name);
  }

  list() {
    return this.#versions.list();
  }

  /** @param {string} name */
  delete(name) {
    return this.#versions.delete(name);
  }

  persist() {
    return this.#versions.persist();
  }
}
