// The same beginning, continued by each writer, side by side; a press takes the words of one.

/** @import { Who } from './learner.js' */

/** So many letters of the beginning stand before what is made. */
const BEGINNING = 40;

export class Sides {
  /** @type {Map<Who, HTMLButtonElement>} */
  #sides = new Map();

  /** @param {HTMLElement} list of buttons, each with its writer in `data-who` @param {(more: string) => void} onTake */
  constructor(list, onTake) {
    for (const side of list.querySelectorAll('button')) {
      this.#sides.set(/** @type {Who} */ (side.dataset.who), side);
      side.addEventListener('click', () => onTake(this.#part(side, '.more').textContent ?? ''));
    }
  }

  /** @param {HTMLElement} side @param {string} selector */
  #part(side, selector) {
    return /** @type {HTMLElement} */ (side.querySelector(selector));
  }

  /** Words that this writer has made. @param {Who} who */
  moreOf(who) {
    const side = this.#sides.get(who);
    return (side && this.#part(side, '.more').textContent) ?? '';
  }

  /** @param {Who} who @param {string} text that one has written @param {string} more how it goes on */
  show(who, text, more) {
    const side = /** @type {HTMLButtonElement} */ (this.#sides.get(who));
    const line = text.slice(text.lastIndexOf('\n') + 1);
    const cut = line.length > BEGINNING ? line.indexOf(' ', line.length - BEGINNING) : 0;
    this.#part(side, '.begin').textContent = cut > 0 ? `…${line.slice(cut)}` : line.slice(-2 * BEGINNING);
    this.#part(side, '.more').textContent = more;
    side.disabled = !more;
  }

  /** Words instead of a text, as long as there is none. @param {Who} who @param {string} words */
  explain(who, words) {
    this.show(who, '', '');
    const side = /** @type {HTMLButtonElement} */ (this.#sides.get(who));
    this.#part(side, '.begin').textContent = words;
  }

  /** @param {Who} who @param {boolean} isThere */
  setThere(who, isThere) {
    const side = this.#sides.get(who);
    if (side) side.hidden = !isThere;
  }
}
