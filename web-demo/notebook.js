// The person's notebook: drawings, names of symbols, and the course of the training; kept as one entry of the
// checkpoint store.
import { PIXELS } from './preprocess.js';

const NAME = 'digits-notebook';
export const DIGITS = 10;
export const SYMBOLS = 2; // spare classes of the network

/** @typedef {import('./replay.js').Sample & { reads?: number }} Drawing  `reads` is the network's own reading of it
 *  @typedef {{ own: number | null, heldOut: number }} Score  accuracies, 0..1; no drawings, no figure */

const emptyCourse = () => ({
  step: 0,
  target: 0, // the step at which the training asked for ends
  before: /** @type {Score | null} */ (null),
  now: /** @type {Score | null} */ (null),
  loss: /** @type {import('./chart.js').Points} */ ([]),
  own: /** @type {import('./chart.js').Points} */ ([]),
  heldOut: /** @type {import('./chart.js').Points} */ ([]),
});

export class Notebook {
  /** @type {Drawing[]} */ drawings = [];
  /** @type {string[]} */ symbols = [];
  course = emptyCourse();
  #store;
  #saving = Promise.resolve();

  constructor(store) {
    this.#store = store;
  }

  /** @param {import('../js/index.js').CheckpointStore | undefined} store  without one, nothing outlives the page */
  static async open(store) {
    const notebook = new Notebook(store),
      saved = await store?.load(NAME);
    if (!saved) return notebook;
    const { labels, symbols, course } = /** @type {any} */ (saved.meta);
    notebook.drawings = labels.map((label, i) => ({ label, pixels: saved.bytes.slice(i * PIXELS, (i + 1) * PIXELS) }));
    notebook.symbols = symbols;
    notebook.course = course;
    return notebook;
  }

  /** What class `i` is called. */
  nameOf(i) {
    return i < DIGITS ? String(i) : this.symbols[i - DIGITS];
  }

  /** The classes that have a name: ten digits, and the person's symbols. */
  get classes() {
    return DIGITS + this.symbols.length;
  }

  /** Writes follow each other, so that the last state is the one that stays. */
  save() {
    const bytes = new Uint8Array(this.drawings.length * PIXELS);
    this.drawings.forEach((d, i) => bytes.set(d.pixels, i * PIXELS));
    const meta = structuredClone({
      labels: this.drawings.map((d) => d.label),
      symbols: this.symbols,
      course: this.course,
    });
    this.#saving = this.#saving.catch(() => {}).then(() => this.#store?.save(NAME, bytes, meta));
    return this.#saving;
  }

  static async forget(store) {
    await store?.delete(NAME);
  }
}
