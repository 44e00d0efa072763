/** The progress of a fit: its epoch, batch and step, and the position from which it can go on. */

/** @import { FitOptions } from '../types.js' */
/** @import { Position } from '../engine/protocol.js' */

/** @type {Position} */
export const NOWHERE = [0, 0, 0, 0, 0];
const UNSHUFFLED = -1;

export class Progress {
  epoch = 0;
  /** Batches of this epoch that are done. */
  batch = 0;
  /** Optimizer steps since the start of the fit, of earlier calls too. */
  step = 0;
  #seed = UNSHUFFLED;
  #examples;
  #batchSize;

  /** @param {number | undefined} examples undefined: a stream @param {number} batchSize */
  constructor(examples, batchSize) {
    this.#examples = examples;
    this.#batchSize = batchSize;
  }

  /** The seed of the shuffles; undefined: the data are not shuffled. */
  get seed() {
    return this.#seed === UNSHUFFLED ? undefined : this.#seed;
  }

  /** @param {number} seed */
  shuffle(seed) {
    if (this.#examples) this.#seed = seed;
  }

  /** The next batch, for what is drawn for it. @returns {[seed: number, epoch: number, batch: number]} */
  get next() {
    return [this.#seed, this.epoch, this.batch];
  }

  /** Tells whether this fit can go on from there. @param {Position} position @param {FitOptions} options */
  canContinueAt([epoch, batch, seed, examples, batchSize], { resume = true, epochs = 1, ...options }) {
    const { shuffle = true, seed: wanted = seed } = options;
    return (
      resume &&
      epoch + batch > 0 &&
      epoch < epochs &&
      examples === this.#examples &&
      batchSize === this.#batchSize &&
      shuffle === (seed !== UNSHUFFLED) &&
      wanted === seed
    );
  }

  /** @param {Position} position @param {number} step */
  continueAt([epoch, batch, seed], step) {
    this.epoch = epoch;
    this.batch = batch;
    this.step = step;
    this.#seed = seed;
  }

  /** The position when so many batches of the epoch are done. @param {number} batches @returns {Position} */
  after(batches) {
    return this.#examples ? [this.epoch, batches, this.#seed, this.#examples, this.#batchSize] : NOWHERE;
  }

  /** The position at the start of the next epoch. @returns {Position} */
  get nextEpoch() {
    return this.#examples ? [this.epoch + 1, 0, this.#seed, this.#examples, this.#batchSize] : NOWHERE;
  }
}
