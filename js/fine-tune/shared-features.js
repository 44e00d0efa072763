/** Features that all of a fineTune shares: class means, training, the gate and the calibration take them from here. */

import { numbersOf } from '../base/half-floats.js';
import { rowOf, rowsOf, sliceRows } from '../base/rows.js';
import { bind } from '../base/feeds.js';
import { bytesOf } from '../base/tensor.js';
import { openData, roomFor } from '../data/dataset.js';
import { fed } from '../data/labelled-examples.js';
import { classesOutput } from '../data/predicted-labels.js';
import { bytesIn, compute, namesOf, wishOf } from '../features/compute.js';
import { evaluate } from '../fit/evaluate.js';
import { measuresOf } from '../fit/metrics.js';
import { INTERNALS } from '../session/open.js';

/** @import { FeatureEvent, Feeds, FitOptions, History } from '../types.js' */
/** @import { Ask, GraphInfo, PackedFeeds } from '../engine/protocol.js' */
/** @import { Examples } from '../data/labelled-examples.js' */
/** @import { Batch, Reader, Taken } from '../data/dataset.js' */
/** @import { Tensor } from '../base/tensor.js' */
/** @import { TrainingSession } from '../session/training.js' */
/** @typedef {Map<Examples, [string, Tensor][]>} Kept */
/**
 * @typedef {{ signal?: AbortSignal, onFeatures?: (event: FeatureEvent) => unknown,
 * cacheFeatures?: FitOptions['cacheFeatures'] }} Options
 */

/** Examples of an evaluation at a time, as of the gate without them. */
const EVALUATED = 32;

export class SharedFeatures {
  #kept;
  #saved;
  /** The value of `history.features`. */
  report;

  /**
   * @param {Kept} kept @param {NonNullable<History['features']>} report
   * @param {Promise<import('../base/errors.js').TrainletError | undefined>} [saved]
   */
  constructor(kept, report, saved) {
    this.#kept = kept;
    this.report = report;
    this.#saved = saved;
  }

  /**
   * @param {TrainingSession} session @param {Examples[]} sets @param {Options} options
   * @returns {Promise<SharedFeatures | undefined>} undefined: there are none, or they cannot be kept
   */
  static async of(session, sets, options) {
    const begun = performance.now();
    const { ask } = session[INTERNALS];
    const { features: values, evaluates } = await namesOf(ask);
    if (!evaluates) return undefined;
    const [of, { store, limit }] = [wantedOf(session, sets), wishOf(options.cacheFeatures)];
    const stored = await store?.gather(ask, of, values, { ...options, limit });
    const all = stored?.tensors ?? (await compute(ask, of, options, { limit }));
    if (!all) return undefined;
    const kept = new Map();
    let from = 0;
    for (const set of sets) {
      const to = from + set.labels.length;
      kept.set(
        set,
        all.map(([name, tensor]) => [name, sliceRows(tensor, from, to)]),
      );
      from = to;
    }
    const report = { values, bytes: bytesIn(all), ms: performance.now() - begun };
    return new SharedFeatures(kept, { ...report, ...(stored && { store: stored.origins }) }, stored?.saved);
  }

  /** Waits until they are stored, and says why not all of them were. */
  async settle() {
    const error = await this.#saved;
    if (error && this.report.store) Object.assign(this.report.store, { error });
  }

  /** One row for each example; undefined if `name` is not a feature. @param {Examples} examples @param {string} name */
  rowsOf(examples, name) {
    const [, tensor] = this.#kept.get(examples)?.find(([own]) => own === name) ?? [];
    return tensor?.dims.length === 2
      ? rowsOf(/** @type {any} */ (numbersOf(/** @type {any} */ (tensor))), tensor.dims[0])
      : undefined;
  }

  /**
   * The same examples, told by their features; undefined where the session's are others, for other layers train.
   * @param {Ask} ask @param {Reader} reader @param {Examples} examples
   */
  async exchange(ask, reader, examples) {
    const { features, inputs } = await namesOf(ask);
    const kept = this.#kept.get(examples);
    if (!kept || String(features) !== String(kept.map(([name]) => name))) return undefined;
    return reader.exchange?.(inputs, kept);
  }

  /**
   * Mean loss and metrics.
   * @param {TrainingSession} session @param {Examples} examples @param {AbortSignal} [signal]
   */
  async evaluate(session, examples, signal) {
    const { ask, info } = session[INTERNALS];
    const data = fed(examples);
    const { inputs } = /** @type {GraphInfo} */ (info.eval);
    const reader = openData(data, inputs, EVALUATED, measuresOf(info).pair?.label);
    const exchanged = await this.exchange(ask, reader, examples);
    return await evaluate({ ask, info }, data, { batchSize: EVALUATED, signal }, exchanged);
  }

  /**
   * The scores of each example.
   * @param {TrainingSession} session @param {Examples} examples @param {AbortSignal} [signal]
   * @returns {Promise<Float32Array[] | undefined>}
   */
  async scoresOf(session, examples, signal) {
    const { ask, info } = session[INTERNALS];
    const reader = openData(fed(examples), /** @type {GraphInfo} */ (info.eval).inputs, EVALUATED);
    const exchanged = await this.exchange(ask, reader, examples);
    if (!exchanged) return undefined;
    const scores = [];
    for (const { feeds } of /** @type {Iterable<Batch>} */ (/** @type {unknown} */ (exchanged.read(undefined, 0)))) {
      const wanted = { graph: /** @type {const} */ ('eval'), feeds, fetches: [classesOutput(info).output] };
      const outputs = await ask('run', wanted, [feeds.buffer], signal);
      const tensor = /** @type {any} */ (Object.values(outputs)[0]);
      scores.push(...rowsOf(/** @type {Float32Array} */ (numbersOf(tensor)), tensor.dims[0]));
    }
    return scores;
  }
}

/** @param {TrainingSession} session @param {Examples[]} sets */
function wantedOf(session, sets) {
  const { inputs } = /** @type {GraphInfo} */ (session[INTERNALS].info.train);
  const bound = sets.map((set) => /** @type {[string, Taken][]} */ (bind(/** @type {Feeds} */ (set.inputs), inputs)));
  const places = sets.flatMap((set, s) => set.labels.map((_, row) => ({ tensors: bound[s], row })));
  const inputBytes = bound.flat().reduce((sum, [, { data }]) => sum + data.byteLength, 0);
  const feedsOf = (/** @type {Uint32Array} */ rows, feeds = roomFor(bound[0], rows.length)) => {
    rows.forEach((at, i) => copyRow(places[at], feeds, i));
    return feeds;
  };
  return { feedsOf, examples: places.length, inputBytes };
}

/**
 * @param {{ tensors: [string, Taken][], row: number }} place @param {PackedFeeds} feeds @param {number} i its row there
 */
function copyRow({ tensors, row }, { tensors: places, buffer }, i) {
  for (const { name, dims, offset, bytes } of places) {
    const each = bytes / dims[0];
    const [, own] = /** @type {[string, Taken]} */ (tensors.find((tensor) => tensor[0] === name));
    new Uint8Array(buffer, offset + i * each, each).set(rowOf(bytesOf(own.data), own.dims[0], row));
  }
}
