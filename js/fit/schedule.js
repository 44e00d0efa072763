/**
 * Learning rates by step: constant, linear, step and cosine, each with a linear warm-up, one-cycle, or the user's own
 * function; and plateau, by what an epoch has brought.
 */

import { checkKeys, checkWhole, invalid } from '../base/errors.js';
import { monitored } from './monitor.js';

/** @import { FitOptions, Schedule } from '../types.js' */
/** @typedef {Extract<Schedule, { type: 'one-cycle' }>} OneCycle */
/** @typedef {Extract<Schedule, { type: 'plateau' }>} PlateauSchedule */

/** Options of each schedule besides type, lr and (except one-cycle) warmup. */
export const SCHEDULE_KEYS = /** @type {const} */ ({
  constant: [],
  linear: ['steps', 'end'],
  cosine: ['steps', 'end'],
  step: ['every', 'factor'],
  'one-cycle': ['steps', 'pctStart', 'divFactor', 'finalDivFactor', 'annealStrategy'],
  plateau: ['factor', 'patience', 'monitor', 'minDelta', 'cooldown', 'minLr'],
});

/**
 * @param {Schedule | undefined} schedule
 * @param {number | undefined} lastStep of the fit, where known
 * @param {Plateau} [plateau] by which that of its type falls
 * @returns {((step: number) => number) | undefined}
 */
export function openSchedule(schedule, lastStep, plateau) {
  if (schedule === undefined) return undefined;
  if (typeof schedule === 'function') return (step) => checkRate(schedule(step));
  if (!(schedule?.type in SCHEDULE_KEYS)) {
    throw invalid(`schedule: the type is ${Object.keys(SCHEDULE_KEYS).join(', ')}, not ${schedule?.type}`);
  }
  const { type, lr } = schedule;
  checkKeys('schedule', schedule, ['type', 'lr', ...(type === 'one-cycle' ? [] : ['warmup']), ...SCHEDULE_KEYS[type]]);
  checkRate(lr);
  if (schedule.type === 'one-cycle') return oneCycle(schedule, lastStep);
  const { warmup = 0 } = schedule;
  checkWhole('schedule: warmup', warmup, 0);
  const after = schedule.type === 'plateau' ? () => plateau?.lr ?? lr : decay(schedule, warmup, lastStep);
  return (step) => (step < warmup ? (lr * (step + 1)) / warmup : after(step));
}

/**
 * @param {Exclude<Schedule, Function | OneCycle | PlateauSchedule>} schedule
 * @param {number} warmup
 * @param {number | undefined} lastStep
 * @returns {(step: number) => number}
 */
function decay(schedule, warmup, lastStep) {
  const { type, lr } = schedule;
  if (type === 'constant') return () => lr;
  if (type === 'step') {
    const { every, factor } = schedule;
    checkWhole('schedule: every', every, 1);
    checkRate(factor);
    return (step) => lr * factor ** Math.floor((step - warmup) / every);
  }
  const { end = 0 } = schedule;
  const steps = stepsOf(schedule, lastStep);
  checkRate(end);
  /** @param {number} step 0 after the warm-up … 1 at the end */
  const progress = (step) => Math.min(1, (step - warmup) / Math.max(1, steps - warmup));
  if (type === 'linear') return (step) => lr + (end - lr) * progress(step);
  return (step) => end + ((lr - end) * (1 + Math.cos(Math.PI * progress(step)))) / 2;
}

/** @param {{ steps?: number }} schedule @param {number | undefined} lastStep */
function stepsOf(schedule, lastStep) {
  const { steps = lastStep } = schedule;
  if (steps === undefined) throw invalid('schedule: steps is needed, because the length of the data is not known');
  checkWhole('schedule: steps', steps, 1);
  return steps;
}

/**
 * PyTorch's OneCycleLR: from lr / divFactor up to lr and down to lr / divFactor / finalDivFactor.
 * @param {OneCycle} schedule
 * @param {number | undefined} lastStep
 * @returns {(step: number) => number}
 */
function oneCycle(schedule, lastStep) {
  const { lr, pctStart = 0.3, divFactor = 25, finalDivFactor = 1e4, annealStrategy = 'cos' } = schedule;
  const steps = stepsOf(schedule, lastStep);
  if (!(pctStart >= 0 && pctStart <= 1)) throw invalid(`schedule: pctStart must be from 0 to 1, not ${pctStart}`);
  for (const [name, value] of Object.entries({ divFactor, finalDivFactor }))
    if (!(value > 0 && value < Infinity)) throw invalid(`schedule: ${name} must be a number above 0, not ${value}`);
  if (annealStrategy !== 'cos' && annealStrategy !== 'linear')
    throw invalid(`schedule: annealStrategy is 'cos' or 'linear', not ${annealStrategy}`);
  const [start, top, last] = [lr / divFactor, pctStart * steps - 1, steps - 1];
  const share = (/** @type {number} */ done) => (annealStrategy === 'cos' ? (1 - Math.cos(Math.PI * done)) / 2 : done);
  return (step) => {
    if (top > 0 && step <= top) return start + (lr - start) * share(step / top);
    const done = last > top ? Math.min(1, (step - top) / (last - top)) : 1;
    return lr + (start / finalDivFactor - lr) * share(done);
  };
}

/** PyTorch's ReduceLROnPlateau: the rate falls when epochs have brought nothing better for a while. */
export class Plateau {
  #options;

  /**
   * @param {PlateauSchedule} options
   * @param {(number | null)[]} [sums] of one that is to go on
   */
  constructor(options, [best = null, bad = 0, waits = 0, lr = options.lr] = []) {
    const { factor = 0.1, patience = 10, minDelta = 1e-4, cooldown = 0, minLr = 0 } = options;
    this.#options = { factor, patience, minDelta, cooldown, minLr, monitor: options.monitor };
    if (!(factor >= 0 && factor < 1)) throw invalid(`schedule: factor must be from 0 up and below 1, not ${factor}`);
    checkWhole('schedule: patience', patience, 0);
    checkWhole('schedule: cooldown', cooldown, 0);
    if (!(minDelta >= 0)) throw invalid(`schedule: minDelta must be a number from 0 up, not ${minDelta}`);
    checkRate(minLr);
    this.best = best ?? Infinity;
    this.bad = Number(bad);
    this.waits = Number(waits);
    this.lr = Number(lr);
  }

  /**
   * @param {Record<string, number>} metrics of an epoch
   * @param {string} usual which of them, if none was chosen
   * @param {FitOptions['metrics']} asked the option `metrics`
   */
  see(metrics, usual, asked) {
    const { factor, patience, minDelta, cooldown, minLr, monitor = usual } = this.#options;
    const value = monitored('schedule', metrics, monitor, asked);
    const better = value < this.best - minDelta;
    if (better) this.best = value;
    this.bad = better || this.waits ? 0 : this.bad + 1;
    if (this.waits) this.waits--;
    if (this.bad <= patience) return;
    this.lr = Math.max(this.lr * factor, minLr);
    this.waits = cooldown;
    this.bad = 0;
  }

  /** For a checkpoint; JSON has no infinity. @returns {(number | null)[]} */
  get sums() {
    return [Number.isFinite(this.best) ? this.best : null, this.bad, this.waits, this.lr];
  }
}

/** @param {number} lr */
function checkRate(lr) {
  if (typeof lr === 'number' && lr >= 0 && Math.fround(lr) < Infinity) return lr;
  throw invalid(`schedule: a rate cannot be ${lr}`);
}
