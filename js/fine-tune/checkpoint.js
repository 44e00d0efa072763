/** The checkpoints of a fineTune: they say of which call they are and how far it was, so that the same call goes on. */

import { checksum } from '../base/checksum.js';
import { checkKeys, invalid, nameOf, TrainletError } from '../base/errors.js';
import { bytesOf } from '../base/tensor.js';
import { fingerprintOf } from '../data/fingerprint.js';
import { saveWithTimeout } from '../fit/autosave.js';
import { CHECKPOINT_KEYS, checkCheckpoint } from '../fit/options.js';

/** @import { FineTuneOptions, FineTuneReport, FitOptions, TypedArray } from '../types.js' */
/** @import { Examples } from '../data/labelled-examples.js' */
/** @import { TrainingSession } from '../session/training.js' */
/** @typedef {NonNullable<FineTuneOptions['checkpoint']>} Wish */

/** Options that change the result, besides the model and the examples. */
export const DECIDING = /** @type {const} */ ([
  'head',
  'lastLayers',
  'epochs',
  'lr',
  'batchSize',
  'dropLast',
  'labelSmoothing',
  'lossInputs',
  'validation',
  'patience',
  'augment',
  'anchor',
  'seed',
]);

/** Epochs of a head take milliseconds: each by itself is not worth a save. */
const USUAL_MS = 1000;

/** @param {Wish} [wish] */
export function checkWish(wish) {
  checkKeys('fineTune: checkpoint', wish, CHECKPOINT_KEYS);
  checkCheckpoint(wish);
  if (wish && typeof wish.store.load !== 'function')
    throw invalid(`fineTune: checkpoint: store is what CheckpointStore.open gives, not ${nameOf(wish.store)}`);
}

export class TuningCheckpoint {
  #wish;
  #gate;
  key;

  /** @param {Wish} wish @param {string} key of the call @param {FineTuneOptions} options */
  constructor(wish, key, { accept, unknown, budget }) {
    this.#wish = wish;
    this.key = key;
    this.#gate = JSON.stringify([accept, unknown, budget?.maxMs]);
  }

  /**
   * Finds what the same call, with the same gate and time, has saved in its end.
   * @returns {Promise<{ bytes: Uint8Array, version: number, report: FineTuneReport } | undefined>}
   */
  async findFinished() {
    const { store, name } = this.#wish;
    const found = await store.load(name).catch(unlessCorrupt);
    const { key, gate, report } = /** @type {any} */ (found?.meta.fineTune ?? {});
    if (!found || !report || key !== this.key || gate !== this.#gate) return undefined;
    return { bytes: found.bytes, version: found.version, report: JSON.parse(report) };
  }

  /**
   * Finds the interrupted phase of the same call, and its checkpoint.
   * @returns {Promise<{ phase: number, bytes: Uint8Array } | undefined>}
   */
  async find() {
    const { store, name } = this.#wish;
    const found = await store.load(name).catch(unlessCorrupt);
    const { key, phase } = /** @type {any} */ (found?.meta.fineTune ?? {});
    return found && key === this.key && Number.isInteger(phase) ? { phase, bytes: found.bytes } : undefined;
  }

  /**
   * Removes what other calls have saved under that name.
   * @returns {Promise<number>} how many versions
   */
  async removeOthers() {
    const { store, name } = this.#wish;
    const versions = await store.versions(name);
    if (versions.every(({ meta }) => /** @type {any} */ (meta)?.fineTune?.key === this.key)) return 0;
    await store.delete(name);
    return versions.length;
  }

  /**
   * The checkpoint option of fit. The end of a phase is not saved, because its result is not judged yet.
   * @param {number} phase @returns {NonNullable<FitOptions['checkpoint']>}
   */
  of(phase) {
    const { store, name, ...given } = this.#wish;
    const intervals = Object.values(given).some((each) => each !== undefined) ? given : { everyMs: USUAL_MS };
    /** @type {Wish['store']['save']} */
    const save = async (name, bytes, { ended, ...meta } = {}) =>
      ended ? 0 : await store.save(name, bytes, { ...meta, fineTune: { key: this.key, phase } });
    return { everyEpochs: Infinity, ...intervals, name, store: /** @type {any} */ ({ save }) };
  }

  /**
   * Saves the accepted result, which the same call finds again.
   * @param {TrainingSession} session @param {FineTuneReport} report @param {AbortSignal} [signal]
   */
  async saveLast(session, report, signal) {
    const { store, name } = this.#wish;
    try {
      const bytes = await session.saveCheckpoint();
      const meta = { fineTune: { key: this.key, gate: this.#gate, report: JSON.stringify(report) } };
      return { version: await saveWithTimeout(store, name, bytes, meta, signal) };
    } catch (error) {
      if (error instanceof TrainletError) return { error };
      throw error;
    }
  }
}

/**
 * The same for the same model, examples and options.
 * @param {Uint8Array} model @param {readonly (Examples | undefined)[]} examples @param {readonly string[]} classes
 * @param {FineTuneOptions} options
 */
export async function keyOf(model, examples, classes, options) {
  const tensors = examples.flatMap((set) => Object.entries(set?.inputs ?? {}));
  const sums = [];
  for (const bytes of [model, ...tensors.map(([, { data }]) => bytesOf(/** @type {TypedArray} */ (data)))])
    sums.push(
      hex(await checksum(bytes)) ?? fingerprintOf([['', /** @type {any} */ ({ type: '', data: bytes, dims: [] })]]),
    );
  const described = tensors.map(([name, { type, dims }]) => [name, type, dims]);
  const decided = DECIDING.map((key) => options[key]);
  const text = JSON.stringify([sums, described, examples.map((set) => set?.labels), classes, decided]);
  const bytes = new TextEncoder().encode(text);
  return hex(await checksum(bytes)) ?? text;
}

/** @param {Uint8Array} [bytes] */
const hex = (bytes) => bytes && Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Ignores a damaged checkpoint, so that training starts over. @param {unknown} error */
function unlessCorrupt(error) {
  if (error instanceof TrainletError && error.code === 'checkpoint-corrupt') return undefined;
  throw error;
}
