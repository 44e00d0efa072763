// Learns the album with fineTune on the backbone, and reads pictures.

import { fineTune } from '../../js/index.js';
import { pictures } from '../../models/index.js';
import { batchOf } from './picture.js';

/** @import { Album, Kept } from './album.js' */
/** @import { Picture } from './picture.js' */
/** @typedef {{ name: string, share: number }} Guess */
/** @typedef {{ kept: Kept, truth: string, read: string }} Test */
/** @typedef {{ ms: number, learned: number, tests: Test[] }} Lesson */

const BATCH = 32;

export class Learner {
  /** @type {import('../../js/types.js').TrainingSession | undefined} */
  #session;
  /** @type {string[]} names of the classes that the session knows, by their order */
  classes = [];

  get ready() {
    return this.#session !== undefined;
  }

  /**
   * From the backbone each time, so nothing is left of a picture that is in the album no more; of those that were
   * learned before, it need not be run again.
   * @param {Album} album @param {(progress: number) => void} onProgress from 0 to 1 @returns {Promise<Lesson>}
   */
  async learn(album, onProgress) {
    const { learned, tested } = album.split();
    const classes = album.taught;
    const indexOf = (/** @type {Kept} */ { label }) => classes.findIndex(({ id }) => id === label);
    const begun = performance.now();
    const data = { inputs: { image: batchOf(learned.map(({ picture }) => picture)) }, labels: learned.map(indexOf) };
    const store = await album.features;
    const { session } = await fineTune(pictures, data, {
      classes: classes.map(({ name }) => name),
      head: { at: 'features' },
      cacheFeatures: store ? { store } : true,
      onProgress: ({ progress }) => onProgress(progress),
    });
    const ms = performance.now() - begun;
    const before = this.#session;
    this.#session = session;
    this.classes = classes.map(({ name }) => name);
    await before?.release();
    return { ms, learned: learned.length, tests: await this.#test(tested, indexOf) };
  }

  /** @param {Kept[]} tested @param {(kept: Kept) => number} indexOf @returns {Promise<Test[]>} */
  async #test(tested, indexOf) {
    const tests = [];
    for (let i = 0; i < tested.length; i += BATCH) {
      const part = tested.slice(i, i + BATCH);
      const rows = await this.#shares(part.map(({ picture }) => picture));
      part.forEach((kept, row) => {
        const read = this.classes[rows[row].indexOf(Math.max(...rows[row]))];
        tests.push({ kept, truth: this.classes[indexOf(kept)], read });
      });
    }
    return tests;
  }

  /** Probabilities of the classes for each picture. @param {Picture[]} pictures */
  async #shares(pictures) {
    if (!this.#session) throw new Error('nothing was learned yet');
    const { scores } = await this.#session.predict({ image: batchOf(pictures) });
    const [data, count] = [/** @type {Float32Array} */ (scores.data), this.classes.length];
    return pictures.map((_, i) => softmax([...data.subarray(i * count, (i + 1) * count)]));
  }

  /** The likeliest first. @param {Picture} picture @returns {Promise<Guess[]>} */
  async guess(picture) {
    const [shares] = await this.#shares([picture]);
    return shares.map((share, i) => ({ name: this.classes[i], share })).sort((a, b) => b.share - a.share);
  }

  /** An ONNX file with the names of its classes. */
  async export() {
    return this.#session?.exportModel();
  }

  async forgetAll() {
    await this.#session?.release();
    this.#session = undefined;
  }
}

/** @param {number[]} scores */
function softmax(scores) {
  const most = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}
