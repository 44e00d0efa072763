/**
 * Calibration: scores are divided by a temperature so that what is called 90 % probable is right nine times of ten, and
 * a threshold is chosen below which an example is of no known class.
 */

import { checkKeys, invalid, nameOf, needObject } from '../base/errors.js';
import { activationOf } from '../data/last-activation.js';
import { CALIBRATION, classesOutput, probabilitiesOf, scoresOf } from '../data/predicted-labels.js';
import { labelsOf, valuesOf } from './head.js';
import { INTERNALS } from './open.js';

/** @import { CalibrateOptions, Calibrated, WholeArrays } from '../types.js' */
/** @import { SessionInfo } from '../engine/protocol.js' */
/** @import { TrainingSession } from './training.js' */

/** Bins of the calibration error, as in the metric. */
const BINS = 15;
/** A temperature beyond is none: too few examples, or all of them right, so that any is better than one before. */
const MOST = 20;
const HALVINGS = 60;
/** The share of known examples that may be called unknown. */
const MISSED = 0.05;

/**
 * @param {TrainingSession} session @param {SessionInfo} info @param {WholeArrays} data
 * @param {CalibrateOptions} [options]
 * @param {string} [where]
 * @param {ArrayLike<number>[]} [known] the scores, where they have been computed
 * @param {AbortSignal} [signal]
 * @returns {Promise<Calibrated>}
 */
export async function calibrate(
  session,
  info,
  data,
  options = {},
  where = 'calibrate',
  known = undefined,
  signal = undefined,
) {
  checkKeys(where, options, ['unknown']);
  const missed = missedOf(options.unknown, where);
  const labels = labelsOf(where, data, Infinity);
  const { output, areScores } = classesOutput(info);
  const values = known ?? (await valuesOf(where, session, data.inputs, labels.length, output, signal));
  const activation = await activationOf(session[INTERNALS].ask, info, output);
  const rows = areScores && !activation ? values : values.map((row) => scoresOf(row, activation));
  const stray = labels.findIndex((label) => label >= rows[0].length);
  if (stray >= 0)
    throw invalid(`${where}: label ${labels[stray]} in row ${stray}, and the classes are 0 to ${rows[0].length - 1}`);
  const temperature = temperatureOf(rows, labels) ?? 1;
  const threshold = missed === undefined ? {} : { threshold: thresholdOf(rows, labels, temperature, missed) };
  session.properties.set(CALIBRATION, JSON.stringify({ temperature, ...threshold }));
  const [before, after] = [1, temperature].map((t) => calibrationError(rows, labels, t));
  return { temperature, ...threshold, examples: labels.length, before, after };
}

/** @param {CalibrateOptions['unknown']} unknown @param {string} where */
function missedOf(unknown, where) {
  if (unknown === undefined || unknown === false) return undefined;
  if (unknown !== true) needObject(`${where}: unknown`, unknown);
  const { missed = MISSED } = unknown === true ? {} : unknown;
  if (unknown !== true) checkKeys(`${where}: unknown`, unknown, ['missed']);
  if (typeof missed === 'number' && missed >= 0 && missed < 1) return missed;
  throw invalid(`${where}: unknown: missed is a share from 0 up and below 1, not ${nameOf(missed)}`);
}

/**
 * The T for which Σ −log softmax(z / T)[y] is least (Guo et al., "On calibration of modern neural networks", 2017). Of
 * β = 1/T that is convex, and its slope is Σ (Σ p·z − z[y]).
 * @param {readonly ArrayLike<number>[]} rows @param {readonly number[]} labels
 * @returns {number | undefined} undefined where it is least at no temperature between 1/20 and 20
 */
export function temperatureOf(rows, labels) {
  const slope = (/** @type {number} */ beta) =>
    rows.reduce((sum, row, i) => {
      const p = probabilitiesOf(row, 1 / beta);
      return sum + p.reduce((mean, x, c) => mean + (x ? x * row[c] : 0), 0) - row[labels[i]];
    }, 0);
  let [low, high] = [1 / MOST, MOST];
  if (!(slope(low) < 0 && slope(high) > 0)) return undefined;
  for (let i = 0; i < HALVINGS; i++) {
    const middle = (low + high) / 2;
    if (slope(middle) < 0) low = middle;
    else high = middle;
  }
  return 2 / (low + high);
}

/**
 * The largest threshold below which no more than the share `missed` of the examples lie (Hendrycks & Gimpel 2017):
 * those that are read rightly, or all where none is.
 * @param {readonly ArrayLike<number>[]} rows @param {readonly number[]} labels @param {number} temperature
 * @param {number} missed
 */
export function thresholdOf(rows, labels, temperature, missed) {
  const read = rows.map((row, i) => {
    const p = probabilitiesOf(row, temperature);
    const most = Math.max(...p);
    return { most, right: p[labels[i]] === most };
  });
  const right = read.filter((example) => example.right);
  const sorted = (right.length ? right : read).map(({ most }) => most).sort((a, b) => a - b);
  return sorted[Math.floor(missed * sorted.length)];
}

/** @param {readonly ArrayLike<number>[]} rows @param {readonly number[]} labels @param {number} temperature */
export function calibrationError(rows, labels, temperature) {
  const bins = new Float64Array(BINS);
  rows.forEach((row, i) => {
    const p = probabilitiesOf(row, temperature);
    const most = Math.max(...p);
    bins[Math.max(0, Math.ceil(most * BINS) - 1)] += Number(p.indexOf(most) === labels[i]) - most;
  });
  return bins.reduce((sum, gap) => sum + Math.abs(gap), 0) / rows.length;
}
