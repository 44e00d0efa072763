/** Promises that listeners of batches gave: a fit waits for them. */

/** @import { Place } from './place.js' */

export class Listeners {
  /** Of the batches of this group. @type {unknown[]} */
  #given = [];

  /** @param {unknown} given */
  add(given) {
    if (given) this.#given.push(given);
  }

  /**
   * One that saves in the midst of a group of batches waits for the group's end itself: it is waited for then.
   * @param {boolean} groupIsOpen @param {Place} place
   */
  async heard(groupIsOpen, place) {
    if (!this.#given.length) return;
    const all = Promise.all(this.#given);
    await (groupIsOpen ? Promise.race([all, place.wanted()]) : all);
    if (!groupIsOpen) this.#given = [];
  }
}
