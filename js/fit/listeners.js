/** Calls the listeners of a fit, and waits for their promises until the signal comes. */

import { unlessAborted } from '../base/unless-aborted.js';

/** @import { BatchEvent, FitOptions } from '../types.js' */
/** @import { FitPosition } from './position.js' */

export class Listeners {
  #options;
  /** Promises of `onBatch` for the batches of this group. @type {unknown[]} */
  #given = [];

  /** @param {FitOptions} options */
  constructor(options) {
    this.#options = options;
  }

  /** @param {BatchEvent} event */
  tell(event) {
    const promise = this.#options.onBatch?.(event);
    if (promise) this.#given.push(promise);
  }

  /** @param {string} warning */
  async warn(warning) {
    const { onWarning, signal } = this.#options;
    await unlessAborted((onWarning ?? console.warn)(warning), signal);
  }

  /**
   * One that saves in the midst of a group of batches waits for the group's end itself: it is waited for then.
   * @param {boolean} groupIsOpen @param {FitPosition} position
   */
  async heard(groupIsOpen, position) {
    if (!this.#given.length) return;
    const all = Promise.all(this.#given);
    await unlessAborted(groupIsOpen ? Promise.race([all, position.wanted()]) : all, this.#options.signal);
    if (!groupIsOpen) this.#given = [];
  }
}
