/** The position of a fit: its part of a checkpoint, beside the engine's, and the moments at which both agree. */

/** @import { Position } from '../engine/protocol.js' */

/**
 * @typedef {{ monitor: string, value: number, epoch: number, kept: boolean }} Best the value smaller is better; whether
 * the engine keeps its parameters
 * @typedef {{ position: Position, step: number, tally: number[], data?: number, best?: Best, plateau?: (number |
 * null)[], measured?: Record<string, number[]>, least?: number }} SavedFit `data`: the fingerprint of the data set;
 * `plateau`: what the schedule has seen; `least`: the smallest loss of an epoch
 */

/** The ends that a fit may have had. */
const ENDS = ['completed', 'max-ms', 'early-stopping', 'non-finite-loss'];

/**
 * The end of a fit, in the checkpoint that it saved last: the same call is not to begin anew.
 * @typedef {{ name: string, data: number, epochs: number, batchSize: number, steps: number }} Call
 * @typedef {Call & { stopped: import('../types.js').History['stopped'] }} End
 */

export class FitPosition {
  /** @type {SavedFit | undefined} */
  saved;
  /** The end of the fit whose last save made this session, until something else is done. @type {End | undefined} */
  end;
  /** A step is under way, or a group of batches open: the engine is ahead of `saved`. */
  busy = false;
  /** The layers below are those of which the fit keeps features, if it does. */
  isAsFrozen = true;
  /** @type {(() => void)[]} */
  #waiting = [];
  #wanted = () => {};

  /** @param {string} [text] of a checkpoint */
  constructor(text = '') {
    this.saved = read(text);
    this.end = readEnd(text);
  }

  /** For a checkpoint. JSON has no infinities, so the best value is a string. */
  get text() {
    const { best, ...rest } = this.saved ?? {};
    if (!this.saved) return this.end ? JSON.stringify({ end: this.end }) : '';
    return JSON.stringify({ ...rest, best: best && { ...best, value: String(best.value) } });
  }

  /**
   * Does the work, a save, where engine and page agree, or when the signal has come, which the work then refuses.
   * @template T
   * @param {() => T} work
   * @param {AbortSignal} [signal]
   * @returns {T | Promise<Awaited<T>>}
   */
  between(work, signal) {
    if (!this.busy || (signal && signal.aborted !== false)) return work();
    return new Promise((resolve) => {
      const go = () => {
        signal?.removeEventListener('abort', go);
        this.#waiting = this.#waiting.filter((other) => other !== go);
        resolve(/** @type {Awaited<T>} */ (work()));
      };
      signal?.addEventListener('abort', go);
      this.#waiting.push(go);
      this.#wanted();
    });
  }

  /** When a save waits for the next such moment. @returns {Promise<void>} */
  wanted() {
    return new Promise((resolve) => {
      if (this.#waiting.length) resolve();
      else this.#wanted = resolve;
    });
  }

  /** The end that the session is made of, if it is that of this call; it counts but once. @param {Call} [call] */
  takeEnd(call) {
    const { end } = this;
    this.end = undefined;
    return end && JSON.stringify(endOf(call, end.stopped)) === JSON.stringify(end) ? end : undefined;
  }

  /** The engine no longer keeps the best parameters: others train now. */
  forgetBest() {
    if (this.saved?.best) this.saved = { ...this.saved, best: { ...this.saved.best, kept: false } };
  }

  /** Weights were set: of frozen layers, if so. @param {boolean} frozen */
  thaw(frozen) {
    if (frozen) this.isAsFrozen = false;
  }

  /** The fit's own data are let go of: what a checkpoint says of them is found out now. */
  close() {
    this.end = undefined; // the next fit of this session is another
    try {
      if (this.saved) this.saved = { ...this.saved };
    } finally {
      this.settle(); // whatever comes of it: who waits must not wait for ever
    }
  }

  settle() {
    this.busy = false;
    for (const go of this.#waiting.splice(0)) go();
  }
}

/** @param {unknown} measured @returns {measured is Record<string, number[]>} */
const isMeasured = (measured) =>
  typeof measured === 'object' &&
  Object.values(measured ?? {}).every((sums) => Array.isArray(sums) && sums.every(Number.isFinite));

/** @param {unknown} plateau @returns {plateau is (number | null)[]} */
const isPlateau = (plateau) =>
  Array.isArray(plateau) &&
  plateau.length === 4 &&
  plateau.every((number, i) => Number.isFinite(number) || (i === 0 && number === null));

/** @param {Call | undefined} call @param {End['stopped']} stopped @returns {End | undefined} */
export const endOf = (call, stopped) => call && { ...call, stopped };

/** Reads an end, which anybody may have written. @param {string} text @returns {End | undefined} */
function readEnd(text) {
  try {
    const { end } = JSON.parse(text);
    return typeof end === 'object' && ENDS.includes(end?.stopped) ? end : undefined;
  } catch {
    return undefined;
  }
}

/** Parses an untrusted text. @param {string} text @returns {SavedFit | undefined} */
function read(text) {
  try {
    const { position, step, tally, data, best, plateau, measured, least } = JSON.parse(text);
    if (!Number.isSafeInteger(step) || tally.length < 4 || !tally.every(Number.isFinite)) return undefined;
    return {
      position,
      step,
      tally,
      data: Number.isSafeInteger(data) ? data : undefined,
      measured: isMeasured(measured) ? measured : undefined,
      plateau: isPlateau(plateau) ? plateau : undefined,
      least: Number.isFinite(least) ? least : undefined,
      best: best && { ...best, value: Number(best.value), kept: best.kept === true },
    };
  } catch {
    return undefined;
  }
}
