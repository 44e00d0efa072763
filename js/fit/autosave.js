/** The checkpoints of a fit: when one is due, what becomes of one that fails, and the last. */

import { sentenceOf, TrainletError } from '../base/errors.js';
import { withTimeout } from '../base/timeout.js';
import { unlessAborted } from '../base/unless-aborted.js';
import { whenLeft } from './page-hidden.js';

/** @import { FitOptions } from '../types.js' */
/** @import { FitPosition } from './position.js' */
/** @import { Ask } from '../engine/protocol.js' */

/** @typedef {{ step: number, epoch: number, loss?: number }} Moment `loss`: the mean of this epoch, or of the last */

/** After a save that failed: the time to the next, doubled each time. */
const [RETRY_MS, RETRY_MS_MOST] = [1000, 60_000];
/**
 * A store has failed if it takes longer than PATIENCE seconds, or ABORTED_PATIENCE after the signal, and one more for
 * each BYTES_A_SECOND.
 */
const [PATIENCE, ABORTED_PATIENCE, BYTES_A_SECOND] = [60, 3, 1e6];
/** A loss so many times the smallest of an epoch: its parameters drop no version from before. */
const DIVERGED = 1000;

export class Autosave {
  /** Spent on saves so far. */
  ms = 0;
  /** The smallest loss of the epochs so far. */
  least = Infinity;
  #ask;
  #position;
  #checkpoint;
  #onCheckpoint;
  #signal;
  #savedAt = performance.now();
  #savedStep = 0;
  /** The error of the last save. @type {TrainletError | undefined} */
  #failure;
  /** It failed when the signal had come: it is not tried again. */
  #gaveUp = false;
  #retryMs = 0;
  #retryAt = 0;
  /** A save because the page is left. @type {Promise<void> | undefined} */
  #leaving;
  /** Ends the listening for it. */
  end = () => {};

  /** @param {Ask} ask @param {FitPosition} position @param {FitOptions} options */
  constructor(ask, position, { checkpoint, onCheckpoint, signal }) {
    this.#ask = ask;
    this.#position = position;
    this.#checkpoint = checkpoint;
    this.#onCheckpoint = onCheckpoint;
    this.#signal = signal;
  }

  /**
   * `step` is what is there already. From here on, all that has been learned is saved where the page is hidden or left.
   * @param {number} step @param {() => Moment} now
   */
  begin(step, now) {
    this.#savedStep = step;
    if (this.#checkpoint)
      this.end = whenLeft(() => {
        this.#leaving ??= Promise.resolve(this.#position.between(() => this.#saveNew(now())))
          .catch(() => {}) // the next save, or the end of the fit, meets with it again
          .finally(() => {
            this.#leaving = undefined;
          });
      });
  }

  /** Saves after an epoch if a save is due. @param {Moment} moment */
  async saveEpoch(moment) {
    this.least = Math.min(this.least, moment.loss ?? Infinity);
    if ((moment.epoch + 1) % (this.#checkpoint?.everyEpochs ?? 1) === 0) await this.save(moment);
  }

  /** Saves if anything is not saved yet. @param {Moment} moment */
  async saveNew(moment) {
    await this.#leaving;
    await this.#saveNew(moment);
  }

  /** @param {Moment} moment */
  async #saveNew(moment) {
    if (moment.step > this.#savedStep) await this.save(moment);
  }

  /** @param {Moment} moment */
  async saveIfDue(moment) {
    const { everySteps = Infinity, everyMs = Infinity } = this.#checkpoint ?? {};
    const steps = moment.step - this.#savedStep;
    if (steps && (this.#failure || steps >= everySteps || performance.now() - this.#savedAt >= everyMs))
      await this.save(moment);
  }

  /**
   * Saves. A failed save is reported and tried again, after a second at first and a minute at most; training goes on.
   * @param {Moment} moment
   * @param {boolean} [last]
   * @param {boolean} [ended] there is nothing to go on with
   */
  async save({ step, epoch, loss = 0 }, last = false, ended = false) {
    const since = performance.now();
    if (!this.#checkpoint || (!last && since < this.#retryAt)) return;
    const diverged = !Number.isFinite(loss) || (this.least > 0 && loss > DIVERGED * this.least);
    this.#failure = await this.#store(this.#checkpoint, {
      epoch,
      step,
      ...(ended && { ended }),
      ...(diverged && { diverged }),
    });
    const now = performance.now();
    this.ms += now - since;
    this.#retryMs = this.#failure ? Math.min(Math.max(2 * this.#retryMs, RETRY_MS), RETRY_MS_MOST) : 0;
    this.#retryAt = now + this.#retryMs;
    this.#gaveUp = Boolean(this.#failure && this.#signal?.aborted);
    if (!this.#failure) [this.#savedStep, this.#savedAt] = [Math.max(step, this.#savedStep), now];
    const heard = this.#onCheckpoint?.({
      step,
      epoch,
      ...(this.#failure && { error: this.#failure, retryMs: last ? undefined : this.#retryMs }),
    });
    await unlessAborted(heard, this.#signal);
  }

  /**
   * The save that nothing comes after: what it could not save is an error. @param {Moment} moment
   * @param {boolean} ended
   */
  async saveLast(moment, ended) {
    if (!this.#gaveUp) await this.save(moment, true, ended);
    const { code, message } = this.#failure ?? {};
    if (!code) return;
    const left = moment.step - this.#savedStep;
    const what = left
      ? `the ${left} steps since step ${this.#savedStep}, up to epoch ${moment.epoch}, are`
      : 'the end of the fit is';
    throw new TrainletError(
      code,
      `checkpoint '${this.#checkpoint?.name}': ${what} not saved, only in the session: ${message}`,
      { cause: this.#failure },
    );
  }

  /**
   * @param {NonNullable<FitOptions['checkpoint']>} checkpoint
   * @param {Moment & { ended?: boolean, diverged?: boolean }} meta
   * @returns {Promise<TrainletError | undefined>} why it could not be saved, where it may be later
   */
  async #store({ store, name, base = true }, meta) {
    try {
      const format = base ? 'trainlet' : 'adapters';
      const bytes = await this.#ask('save', { optimizerState: true, format, fit: this.#position.text });
      await saveWithTimeout(store, name, bytes, { ...meta }, this.#signal);
      return undefined;
    } catch (error) {
      if (!(error instanceof TrainletError)) throw error;
      if (!['quota-exceeded', 'store-failed', 'out-of-memory'].includes(error.code)) throw error;
      return error;
    }
  }
}

/**
 * A store of anybody's may never answer, or fail with anything.
 * @param {{ save: (name: string, bytes: Uint8Array, meta?: Record<string, unknown>) => Promise<number> }} store
 * @param {string} name @param {Uint8Array} bytes @param {Record<string, unknown>} meta @param {AbortSignal} [signal]
 */
export async function saveWithTimeout(store, name, bytes, meta, signal) {
  const seconds = () => (signal?.aborted ? ABORTED_PATIENCE : PATIENCE) + Math.round(bytes.length / BYTES_A_SECOND);
  try {
    return await withTimeout(
      store.save(name, bytes, meta),
      seconds,
      () => new TrainletError('store-failed', `the store has not answered for ${seconds()} seconds`),
    );
  } catch (error) {
    if (error instanceof TrainletError) throw error;
    throw new TrainletError('store-failed', sentenceOf(error), { cause: error });
  }
}
