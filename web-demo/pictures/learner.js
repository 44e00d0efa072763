// Learns the album with fineTune on the backbone, and reads pictures.

import { learn, read } from './lesson.js';
import { batchOf } from './picture.js';

/** @import { Album, Kept } from './album.js' */
/** @import { Picture } from './picture.js' */
/** @typedef {{ name: string, share: number }} Guess */
/** @typedef {{ name: string, guesses: Guess[] }} Reading `name` is '' where it is not sure; the likeliest first */
/** @typedef {{ kept: Kept, truth: string, before: string, read: string }} Test */
/** @typedef {{ ms: number, learned: number, tests: Test[] }} Lesson */

const BATCH = 32;

export class Learner {
  /** @type {import('../../js/types.js').TrainingSession | undefined} */
  #session;
  /** A class less probable is not named; none where no picture was held out. @type {number | undefined} */
  threshold;
  /** @type {string[]} names of the classes that the session knows, by their order */
  classes = [];

  get ready() {
    return this.#session !== undefined;
  }

  /**
   * From the backbone each time, so nothing is left of a picture that is in the album no more; of those that were
   * learned before, it need not be run again. `shows` gets what is tested, as the
   * network before this lesson reads it; the first knows no classes.
   * @param {Album} album @param {{ progress: (share: number) => void, shows: (tests: Test[]) => void }} on
   * @returns {Promise<Lesson>}
   */
  async learn(album, on) {
    const { learned, tested } = album.split();
    const classes = album.taught.map(({ name }) => name);
    const indexOf = (/** @type {Kept} */ { label }) => album.taught.findIndex(({ id }) => id === label);
    const labels = learned.map(indexOf);
    const tests = tested.map((kept) => ({ kept, truth: classes[indexOf(kept)], before: '?', read: '' }));
    if (this.#session) await this.#test(this.#session, tests, 'before', this.threshold);
    on.shows(tests);
    const store = await album.features;
    const begun = performance.now();
    const { session, threshold } = await learn(batchOf(learned.map(({ picture }) => picture)), labels, {
      classes,
      cacheFeatures: store ? { store } : true,
      onProgress: (/** @type {{ progress: number }} */ { progress }) => on.progress(progress),
    });
    const ms = performance.now() - begun;
    await this.forgetAll();
    this.#session = session;
    this.classes = classes;
    this.threshold = threshold;
    await this.#test(session, tests, 'read');
    return { ms, learned: learned.length, tests };
  }

  /**
   * Notes the class that is read in each.
   * @param {import('../../js/types.js').TrainingSession} session @param {Test[]} tests @param {'before' | 'read'} as
   * @param {number} [threshold] below which it is none; without, the likeliest counts, sure or not
   */
  async #test(session, tests, as, threshold) {
    for (let i = 0; i < tests.length; i += BATCH) {
      const part = tests.slice(i, i + BATCH);
      const { names } = await read(session, batchOf(part.map(({ kept }) => kept.picture)), threshold);
      part.forEach((test, row) => {
        test[as] = names[row] || 'none';
      });
    }
  }

  /** @param {Picture} picture @returns {Promise<Reading>} */
  async guess(picture) {
    if (!this.#session) throw new Error('nothing was learned yet');
    const { names, shares } = await read(this.#session, batchOf([picture]), this.threshold);
    const guesses = this.classes.map((name, i) => ({ name, share: shares[i] }));
    return { name: names[0], guesses: guesses.sort((a, b) => b.share - a.share) };
  }

  /** An ONNX file with the names of its classes. */
  async export() {
    return this.#session?.exportModel();
  }

  async forgetAll() {
    await this.#session?.release().catch(() => {}); // a dead engine's rejects
    this.#session = undefined;
  }
}
