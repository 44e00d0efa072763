/** The steps of a fit: sends batches to the worker, and handles those that make no step. */

import { TrainletError } from '../base/errors.js';
import { hasNoVariance } from './options.js';

/** @import { FitOptions } from '../types.js' */
/** @import { Ask, Protocol } from '../engine/protocol.js' */
/** @import { Batch } from '../data/dataset.js' */
/** @import { Extent } from './extent.js' */
/** @import { Listeners } from './listeners.js' */
/** @import { Progress } from './progress.js' */

/** The result of a batch that made no step. */
const LEFT_OUT = { loss: NaN, counted: [], outputs: {} };

export class Steps {
  lr = 0;
  /** The batch of a stream that made no step. @type {Batch['given']} */
  failed;
  /** The learning rate of each step; undefined: it stays. @type {((step: number) => number) | undefined} */
  schedule;
  /** Gradients are added up that no step has taken yet. */
  hasGradients = false;
  #ask;
  #options;
  #fetches;
  #progress;
  #extent;
  #listeners;
  #history;
  #hasLeftOut = false;

  /**
   * @param {Ask} ask @param {FitOptions} options
   * @param {{ fetches: string[], progress: Progress, extent: Extent, listeners: Listeners,
   * history: { steps: number, skipped: number } }} fit
   */
  constructor(ask, options, { fetches, progress, extent, listeners, history }) {
    this.#ask = ask;
    this.#options = options;
    this.#fetches = fetches;
    this.#progress = progress;
    this.#extent = extent;
    this.#listeners = listeners;
    this.#history = history;
  }

  /**
   * Sends one batch; the last of a group of `accumulate` makes the optimizer step.
   * @param {Batch} batch
   * @returns {Promise<Protocol['step']['out'] & { stop?: boolean, skip?: boolean }>}
   */
  async send({ feeds, examples, given }) {
    const progress = this.#progress;
    const done = progress.batch + 1;
    const optimize = done % this.#extent.accumulate === 0 || done === this.#extent.batches;
    const lr = this.schedule?.(progress.step);
    this.lr = lr ?? this.lr;
    const position = optimize ? progress.after(done) : undefined;
    this.hasGradients = true;
    try {
      const args = { feeds, fetches: this.#fetches, optimize, lr, position };
      const result = await this.#ask('step', args, [feeds.buffer], this.#options.signal);
      if (optimize) this.#count();
      return result;
    } catch (error) {
      this.failed = given;
      const isRest = done > 1 && done === this.#extent.batches && examples === 1;
      return isRest && hasNoVariance(error) ? await this.#leaveOut(error, done) : await this.#onNaN(error, done);
    }
  }

  /** Makes the step of a last group that a stream left unfinished. */
  async closeGroup() {
    if (!this.hasGradients) return;
    await this.#ask('optimize', undefined);
    await this.#ask('resetGrad', undefined);
    this.#count();
  }

  /** Drops the gradients that are left when the fit fails. */
  async drop() {
    // a session that is gone has said so
    if (this.hasGradients) await this.#ask('dropGrad', undefined).catch(() => {});
  }

  #count() {
    this.hasGradients = false;
    this.#progress.step++;
    this.#history.steps++;
  }

  /**
   * Leaves out the last example of an epoch, which is no batch for BatchNormalization.
   * @param {TrainletError} error @param {number} done
   */
  async #leaveOut({ message }, done) {
    this.hasGradients = (done - 1) % this.#extent.accumulate > 0;
    if (!this.hasGradients) await this.#ask('setPosition', this.#progress.after(done));
    if (!this.#hasLeftOut)
      await this.#listeners.warn(`fit: the last batch of each epoch, one example, is left out: ${message}`);
    this.#hasLeftOut = true;
    return { ...LEFT_OUT, skip: true };
  }

  /** Skips or stops, as the option `onNaN` says. @param {unknown} error @param {number} done */
  async #onNaN(error, done) {
    const { onNaN = 'throw' } = this.#options;
    if (!(error instanceof TrainletError) || error.code !== 'non-finite-loss' || onNaN === 'throw') throw error;
    this.#history.skipped++;
    await Promise.all([this.#ask('resetGrad', undefined), this.#ask('setPosition', this.#progress.after(done))]);
    this.hasGradients = false;
    return { ...LEFT_OUT, stop: onNaN === 'stop', skip: onNaN === 'skip' };
  }
}
