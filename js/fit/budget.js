/** The budget of a training: limits its time, and pauses while the page is hidden or the battery is low. */

import { abortedBy, checkKeys, checkObject, checkWhole, invalid } from '../base/errors.js';
import { unlessAborted } from '../base/unless-aborted.js';

/** @import { FitOptions, PauseEvent } from '../types.js' */
/** @typedef {{ level: number, charging: boolean } & EventTarget} Battery */

export const BUDGET_KEYS = /** @type {const} */ (['maxMs', 'pauseWhenHidden', 'saveBattery']);
/** A battery that is not charging is low at this level. */
const LOW = 0.2;

/** @param {string} where @param {FitOptions['budget']} [budget] */
export function checkBudget(where, budget = {}) {
  checkObject(`${where}: budget`, budget);
  checkKeys(`${where}: budget`, budget, BUDGET_KEYS);
  if (budget.maxMs !== undefined) checkWhole(`${where}: budget: maxMs`, budget.maxMs, 1);
  for (const key of /** @type {const} */ (['pauseWhenHidden', 'saveBattery']))
    if (!['undefined', 'boolean'].includes(typeof budget[key]))
      throw invalid(`${where}: budget: ${key} is true or false, not ${String(budget[key])}`);
}

/** @param {FitOptions} options */
export async function openBudget(options) {
  const { budget = {} } = options;
  checkBudget('fit', budget);
  const since = performance.now();
  return new Budget(since, options, budget.saveBattery ? await batteryHere() : undefined);
}

/**
 * The battery, if the browser reports it, as Chromium does in secure contexts.
 * @returns {Promise<Battery | undefined>}
 */
async function batteryHere() {
  try {
    return await /** @type {any} */ (globalThis.navigator)?.getBattery?.();
  } catch {
    return undefined; // a page may be forbidden to know
  }
}

class Budget {
  pausedMs = 0;
  #since;
  #options;
  #page;
  #battery;

  /** @param {number} since @param {FitOptions} options @param {Battery} [battery] */
  constructor(since, options, battery) {
    this.#since = since;
    this.#options = options;
    this.#page = options.budget?.pauseWhenHidden ? globalThis.document : undefined;
    this.#battery = battery;
  }

  get isSpent() {
    const { maxMs = Infinity } = this.#options.budget ?? {};
    return performance.now() - this.#since - this.pausedMs >= maxMs;
  }

  /**
   * Between two steps: waits as long as there is a reason to.
   * @param {{ step: number, epoch: number }} moment
   * @param {() => unknown} save is called before it waits
   */
  async rest(moment, save) {
    const reason = this.#reason;
    if (!reason) return;
    const since = performance.now();
    await save();
    await unlessAborted(this.#options.onPause?.({ ...moment, reason }), this.#options.signal);
    await this.#noReason();
    const ms = performance.now() - since;
    this.pausedMs += ms;
    await unlessAborted(this.#options.onResume?.({ ...moment, reason, ms }), this.#options.signal);
  }

  /** @returns {PauseEvent['reason'] | undefined} */
  get #reason() {
    if (this.#page?.visibilityState === 'hidden') return 'hidden';
    return this.#battery && !this.#battery.charging && this.#battery.level <= LOW ? 'battery' : undefined;
  }

  /** The signal ends the waiting too. @returns {Promise<void>} */
  #noReason() {
    const { signal } = this.#options;
    const sources = /** @type {[EventTarget | undefined, string][]} */ ([
      [this.#page, 'visibilitychange'],
      [this.#battery, 'levelchange'],
      [this.#battery, 'chargingchange'],
      [signal, 'abort'],
    ]);
    return new Promise((resolve, reject) => {
      const look = () => {
        if (this.#reason && !signal?.aborted) return;
        for (const [source, event] of sources) source?.removeEventListener(event, look);
        if (signal?.aborted) reject(abortedBy(signal));
        else resolve();
      };
      for (const [source, event] of sources) source?.addEventListener(event, look);
      look();
    });
  }
}
