/**
 * Learning rates by step: constant, linear, step and cosine, each with a linear warm-up, or the user's own function.
 */

import { checkKeys, checkWhole, invalid } from './errors.js';

/** @import { Schedule } from './types.js' */

/** Beside type, lr and warmup. */
export const SCHEDULE_KEYS = /** @type {const} */ ({
  constant: [],
  linear: ['steps', 'end'],
  cosine: ['steps', 'end'],
  step: ['every', 'factor'],
});

/**
 * @param {Schedule | undefined} schedule
 * @param {number | undefined} lastStep of the fit, where known
 * @returns {((step: number) => number) | undefined}
 */
export function openSchedule(schedule, lastStep) {
  if (schedule === undefined) return undefined;
  if (typeof schedule === 'function') return (step) => checkRate(schedule(step));
  if (!(schedule?.type in SCHEDULE_KEYS)) {
    throw invalid(`schedule: the type is constant, linear, step or cosine, not ${schedule?.type}`);
  }
  checkKeys('schedule', schedule, ['type', 'lr', 'warmup', ...SCHEDULE_KEYS[schedule.type]]);
  const { lr, warmup = 0 } = schedule;
  checkRate(lr);
  checkWhole('schedule: warmup', warmup, 0);
  const after = decay(schedule, warmup, lastStep);
  return (step) => (step < warmup ? (lr * (step + 1)) / warmup : after(step));
}

/**
 * @param {Exclude<Schedule, Function>} schedule
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
  const { steps = lastStep, end = 0 } = schedule;
  if (steps === undefined) throw invalid('schedule: steps is needed, because the length of the data is not known');
  checkWhole('schedule: steps', steps, 1);
  checkRate(end);
  /** @param {number} step 0 after the warm-up … 1 at the end */
  const progress = (step) => Math.min(1, (step - warmup) / Math.max(1, steps - warmup));
  if (type === 'linear') return (step) => lr + (end - lr) * progress(step);
  return (step) => end + ((lr - end) * (1 + Math.cos(Math.PI * progress(step)))) / 2;
}

/** @param {number} lr */
function checkRate(lr) {
  if (typeof lr === 'number' && lr >= 0 && Math.fround(lr) < Infinity) return lr;
  throw invalid(`schedule: a rate cannot be ${lr}`);
}
