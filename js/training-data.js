/** What a fit trains on: the examples, or the features that are kept of them, shuffled and augmented. */

import { permutation } from './data.js';
import { featuresOf, MOST_BYTES, SHARED } from './features.js';

/** @import { FitOptions } from './types.js' */
/** @import { Ask } from './protocol.js' */
/** @import { Batches, Reader } from './data.js' */
/** @import { openAugmenter } from './augment.js' */
/** @import { Examples } from './person.js' */
/** @import { SharedFeatures } from './shared-features.js' */
/** @typedef {{ features: SharedFeatures, training: Examples, heldOut?: Examples }} Shared */

export class TrainingData {
  /** As they were given. */
  #whole;
  #reader;
  #augmenter;

  /** @type {{ whole: Reader, reader: Reader } | undefined} */
  #heldOut;

  /** @param {Reader} reader @param {ReturnType<typeof openAugmenter>} augmenter @param {Reader} [heldOut] */
  constructor(reader, augmenter, heldOut) {
    this.#whole = reader;
    this.#reader = reader;
    this.#augmenter = augmenter;
    this.#heldOut = heldOut && { whole: heldOut, reader: heldOut };
  }

  /** What is evaluated after each epoch. */
  get heldOut() {
    return this.#heldOut?.reader;
  }

  get examples() {
    return this.#whole.examples;
  }
  get batches() {
    return this.#whole.batches;
  }
  get fingerprint() {
    return this.#whole.fingerprint;
  }

  /**
   * Where the lower layers are frozen, later epochs need not compute them again.
   * @param {Ask} ask @param {FitOptions & { [SHARED]?: Shared }} options
   * @param {() => Promise<boolean>} [rest] whether to give up
   */
  async keepFeatures(ask, options, rest) {
    const { [SHARED]: shared } = options;
    if (shared && (await this.#takeShared(ask, shared))) return shared.features.told;
    const { cacheFeatures = true, augment, epochs = 1 } = options;
    if (!cacheFeatures || augment || epochs < 2) return undefined;
    const limit = cacheFeatures === true ? MOST_BYTES : cacheFeatures.maxBytes;
    const found = await featuresOf(ask, this.#whole, options, { limit, rest });
    if (!found) return undefined;
    this.#reader = found.reader;
    return { ...found.features, ...(await this.#keepEvaluated(ask, options, found.features, { limit, rest })) };
  }

  /** @param {Ask} ask @param {Shared} shared */
  async #takeShared(ask, { features, training, heldOut }) {
    const reader = await features.exchange(ask, this.#whole, training);
    const held = this.#heldOut && heldOut && (await features.exchange(ask, this.#heldOut.whole, heldOut));
    if (reader) this.#reader = reader;
    if (this.#heldOut && held) this.#heldOut.reader = held;
    return reader !== undefined;
  }

  /**
   * Those of what is evaluated, where there is room for them too; bytes and time are of both then.
   * @param {Ask} ask @param {FitOptions} options @param {{ bytes: number, ms: number }} before
   * @param {{ limit: number, rest?: () => Promise<boolean> }} how
   */
  async #keepEvaluated(ask, options, { bytes, ms }, { limit, rest }) {
    const held = this.#heldOut;
    const how = { limit: limit - bytes, rest, evaluation: true };
    const found = held && (await featuresOf(ask, held.whole, { ...options, onFeatures: undefined }, how));
    if (!found) return undefined;
    held.reader = found.reader;
    return { bytes: bytes + found.features.bytes, ms: ms + found.features.ms };
  }

  /** The layers that computed them are other ones now. */
  dropFeatures() {
    this.#reader = this.#whole;
    if (this.#heldOut) this.#heldOut.reader = this.#heldOut.whole;
  }

  /**
   * The batches of an epoch from one on.
   * @param {number | undefined} seed of the shuffle; undefined: there is none
   * @param {readonly [seed: number, epoch: number, from: number]} place
   * @param {AbortSignal} [signal]
   * @returns {Batches}
   */
  read(seed, place, signal) {
    const [, epoch, from] = place;
    const order = this.examples && seed !== undefined ? permutation(this.examples, seed, epoch) : undefined;
    const read = this.#reader.read(order, from);
    return this.#augmenter?.over(read, place, signal) ?? read;
  }

  close() {
    this.#augmenter?.close();
  }
}
