/**
 * Early stopping: the best epoch so far, whose parameters the engine may keep, and when there have been enough since.
 */

import { monitored } from './monitor.js';

/** @import { FitOptions } from '../types.js' */
/** @import { Best } from './position.js' */
/** @import { Ask } from '../engine/protocol.js' */

export class EarlyStopping {
  /** @type {Best | undefined} */
  best;
  #ask;
  #options;
  #monitor;
  #metrics;

  /**
   * @param {Ask} ask @param {FitOptions} options @param {string} usual the metric where none is named
   */
  constructor(ask, { earlyStopping, metrics }, usual) {
    this.#ask = ask;
    this.#options = earlyStopping;
    this.#metrics = metrics;
    this.#monitor = earlyStopping?.monitor ?? usual;
  }

  /** Goes on from the best of a fit that was cut short, if it counts. @param {Best} [best] */
  async continue(best) {
    const { restoreBest = false } = this.#options ?? {};
    if (this.#options && best?.monitor === this.#monitor && (best.kept || !restoreBest))
      this.best = { ...best, kept: restoreBest };
    if (!this.best?.kept) await this.#ask('best', 'forget');
  }

  /**
   * @param {Record<string, number>} metrics of an epoch @param {number} epoch
   * @returns {Promise<boolean>} whether to stop
   */
  async see(metrics, epoch) {
    if (!this.#options) return false;
    const { patience, minDelta = 0, restoreBest = false } = this.#options;
    const monitor = this.#monitor;
    const value = monitored('earlyStopping', metrics, monitor, this.#metrics);
    if (!this.best || Number.isNaN(this.best.value) || value < this.best.value - minDelta) {
      if (restoreBest) await this.#ask('best', 'keep');
      this.best = { monitor, value, epoch, kept: restoreBest };
    }
    return epoch - this.best.epoch >= patience;
  }
}
