/** The training data of a fit: the examples or their cached features, shuffled and augmented. */

import { permutation } from '../data/dataset.js';
import { featuresOf, SHARED, wishOf } from '../features/compute.js';

/** @import { FeatureOrigins, FitOptions, History } from '../types.js' */
/** @import { TrainletError } from '../base/errors.js' */
/** @import { FeatureOptions, FeatureReport } from '../features/compute.js' */
/** @import { FitPosition } from './position.js' */
/** @import { Ask } from '../engine/protocol.js' */
/** @import { Batches, Reader } from '../data/dataset.js' */
/** @import { openAugmenter } from '../data/augment.js' */
/** @import { Examples } from '../data/labelled-examples.js' */
/** @import { SharedFeatures } from '../fine-tune/shared-features.js' */
/** @typedef {{ features: SharedFeatures, training: Examples, heldOut?: Examples }} Shared */

export class TrainingData {
  /** The examples as they were given. */
  #whole;
  #reader;
  #augmenter;

  #labels;

  /** @type {{ whole: Reader, reader: Reader } | undefined} */
  #heldOut;
  /** Writes that the feature store has not acknowledged yet. @type {Promise<TrainletError | undefined>[]} */
  #saving = [];

  /**
   * @param {Reader} reader @param {ReturnType<typeof openAugmenter>} augmenter @param {Reader} [heldOut]
   * @param {readonly string[]} [labels] names of what says nothing of what an example is
   */
  constructor(reader, augmenter, heldOut, labels = []) {
    this.#whole = reader;
    this.#reader = reader;
    this.#augmenter = augmenter;
    this.#labels = labels;
    this.#heldOut = heldOut && { whole: heldOut, reader: heldOut };
  }

  /** The data that is evaluated after each epoch. */
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
   * Fills the feature cache, so that later epochs do not compute frozen layers again.
   * @param {Ask} ask @param {FitOptions & { [SHARED]?: Shared }} options @param {FitPosition} position
   * @param {() => Promise<boolean>} [rest] whether to give up
   * @returns {Promise<Pick<History, 'features'> | undefined>}
   */
  async keepFeatures(ask, options, position, rest) {
    const { [SHARED]: shared } = options;
    if (shared && (await this.#takeShared(ask, shared))) return { features: shared.features.report };
    const { cacheFeatures = true, augment, epochs = 1 } = options;
    if (!cacheFeatures || augment || epochs < 2) return undefined;
    const isAsFrozen = () => position.isAsFrozen;
    const cacheOptions = { ...wishOf(cacheFeatures), labels: this.#labels, rest, isAsFrozen };
    const found = await featuresOf(ask, this.#whole, options, cacheOptions);
    if (!found) return undefined;
    this.#reader = found.reader;
    this.#saving.push(found.saved ?? Promise.resolve(undefined));
    const evaluated = await this.#keepEvaluated(ask, options, found.features, cacheOptions);
    return { features: { ...found.features, ...evaluated } };
  }

  /**
   * Waits until features are stored, and says why not all of them were.
   * @template {Pick<History, 'features'>} H
   * @param {H} history
   */
  async settle(history) {
    const error = (await Promise.all(this.#saving)).find((failure) => failure);
    if (error && history.features?.store) Object.assign(history.features.store, { error });
    return history;
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
   * Caches the features of the validation data too, if there is room; the report then covers both.
   * @param {Ask} ask @param {FitOptions} options @param {FeatureReport} before
   * @param {FeatureOptions} cacheOptions
   * @returns {Promise<Partial<FeatureReport> | undefined>}
   */
  async #keepEvaluated(ask, options, { bytes, ms, store }, cacheOptions) {
    const held = this.#heldOut;
    const left = { ...cacheOptions, limit: cacheOptions.limit - bytes, evaluation: true };
    const found = held && (await featuresOf(ask, held.whole, { ...options, onFeatures: undefined }, left));
    if (!found) return undefined;
    held.reader = found.reader;
    this.#saving.push(found.saved ?? Promise.resolve(undefined));
    const { features } = found;
    const origins = store && features.store && { store: sum(store, features.store) };
    return { bytes: bytes + features.bytes, ms: ms + features.ms, ...origins };
  }

  /** The layers that computed them are other ones now. */
  dropFeatures() {
    this.#reader = this.#whole;
    if (this.#heldOut) this.#heldOut.reader = this.#heldOut.whole;
  }

  /**
   * The batches of an epoch from one on.
   * @param {number | undefined} seed of the shuffle; undefined: there is none
   * @param {readonly [seed: number, epoch: number, from: number]} start
   * @param {AbortSignal} [signal]
   * @returns {Batches}
   */
  read(seed, start, signal) {
    const [, epoch, from] = start;
    const order = this.examples && seed !== undefined ? permutation(this.examples, seed, epoch) : undefined;
    const read = this.#reader.read(order, from);
    return this.#augmenter?.over(read, start, signal) ?? read;
  }

  close() {
    this.#augmenter?.close();
  }
}

/** @param {FeatureOrigins} a @param {FeatureOrigins} b */
const sum = (a, b) => ({
  computed: a.computed + b.computed,
  fromMemory: a.fromMemory + b.fromMemory,
  fromStorage: a.fromStorage + b.fromStorage,
});
