/** Names of classes and probabilities beside scores. */

import { invalid } from '../base/errors.js';
import { numbersOf } from '../base/half-floats.js';
import { rowsOf } from '../base/rows.js';
import { Tensor } from '../base/tensor.js';
import { activationOf } from './last-activation.js';

/** @import { PredictOptions } from '../types.js' */
/** @import { Ask, SessionInfo } from '../engine/protocol.js' */
/** @import { TrainingSession } from '../session/training.js' */
/** @typedef {import('./last-activation.js').Activation} Activation */
/** @typedef {{ temperature?: number, threshold?: number }} Calibration */

/** The property in which js/session/calibration.js keeps its result; the engine reads it when it exports the model. */
export const CALIBRATION = 'trainlet.calibration';

/** @param {unknown} text of a property, from an untrusted file @returns {Calibration} */
export function calibrationIn(text) {
  try {
    const { temperature, threshold } = JSON.parse(String(text));
    return { temperature: temperature > 0 ? temperature : undefined, threshold: threshold > 0 ? threshold : undefined };
  } catch {
    return {};
  }
}

/** The smallest probability whose logarithm the loss takes (src/train/scores.c). */
const TINY = 2 ** -126;
/** A row of probabilities in float16 may add up to 1 ± this. */
const ROUNDED = 1e-3;

/**
 * The output with scores of classes: the loss's input, else the first float output, such as scikit-learn's
 * probabilities after its labels. areScores: the loss applies a softmax to it.
 * @param {SessionInfo} info
 */
export function classesOutput({ predict, predictedLabels, eval: graph }) {
  const { scores = '' } = graph ?? {};
  const areScores = predict.includes(scores);
  return { output: areScores ? scores : (predict[predictedLabels] ?? predict[0]), areScores };
}

/**
 * Scores of a row of probabilities: their logits after a Sigmoid, else their logarithms, of which they are the softmax.
 * A row of scores is given as it is.
 * @template {ArrayLike<number>} R
 * @param {R} row @param {Activation} [activation] undefined: its numbers tell whether they are probabilities
 */
export function scoresOf(row, activation) {
  const shares = Float64Array.from(row);
  const log = (/** @type {number} */ share) => Math.log(Math.max(share, TINY));
  if (activation === 'Sigmoid') return shares.map((share) => log(share) - log(1 - share));
  const sum = shares.reduce((a, b) => a + b, 0);
  const areShares = row.length > 1 && Math.abs(sum - 1) <= ROUNDED && shares.every((share) => share >= 0);
  return activation || areShares ? shares.map(log) : row;
}

/**
 * softmax(scores / temperature)
 * @param {ArrayLike<number>} scores of one example @param {number} [temperature]
 */
export function probabilitiesOf(scores, temperature = 1) {
  const row = Float64Array.from(scores);
  const most = row.reduce((a, b) => Math.max(a, b), -Infinity);
  const parts = row.map((score) => Math.exp((score - most) / temperature));
  const sum = parts.reduce((a, b) => a + b, 0);
  return parts.map((part) => part / sum);
}

/**
 * The outputs and what is asked for beside them: `labels`, the name of the class with the largest score for each row of
 * scores, '' where it is not probable enough; `probabilities`.
 * @param {Ask} ask
 * @param {Record<string, any>} outputs
 * @param {SessionInfo} info
 * @param {Pick<TrainingSession, 'classNames' | 'properties'>} session
 * @param {PredictOptions} asked
 */
export async function withLabels(ask, outputs, info, { classNames, properties }, { labels, probabilities, threshold }) {
  const { output: scores, areScores } = classesOutput(info);
  if (labels && !classNames)
    throw invalid('predict: labels are for models with class names, as option head gives them');
  const tensor = outputs[scores];
  if (!tensor?.data) throw invalid(`predict: labels need the scores '${scores}' among what is fetched`);
  const { dims } = tensor;
  const data = /** @type {Float32Array} */ (numbersOf(tensor));
  const classes = dims.at(-1);
  if (labels && classNames && classes !== classNames.length)
    throw invalid(`predict: '${scores}' has ${classes} classes, and there are names of ${classNames.length}`);
  const known = calibrationIn(properties.get(CALIBRATION) ?? info.eval?.calibration);
  const least = leastOf(threshold, known);
  const rows = rowsOf(data, data.length / classes);
  const wantsShares = probabilities || least > 0;
  const activation = wantsShares ? await activationOf(ask, info, scores) : undefined;
  const hasNumbers = !areScores && hasTarget(info);
  if (wantsShares && !activation && hasNumbers && info.eval?.difference)
    throw invalid(
      `predict: '${scores}' has no probabilities: its loss compares numbers, as mse does. ` +
        'Read the output, or train with cross-entropy or bce-with-logits',
    );
  const kind = { activation, areScores, areApart: hasNumbers };
  const shares = wantsShares ? rows.map((row) => sharesOf(row, kind, known.temperature)) : [];
  const named = rows.map((row, i) => {
    const best = row.reduce((a, b) => Math.max(a, b), -Infinity);
    const at = row.indexOf(best);
    return least && !(shares[i][at] >= least) ? '' : (classNames?.[at] ?? '');
  });
  const all = Float32Array.from(shares.flatMap((row) => [...row]));
  return {
    ...outputs,
    ...(labels && { labels: new Tensor('string', named, dims.slice(0, -1)) }),
    ...(probabilities && { probabilities: new Tensor('float32', all, dims) }),
  };
}

/** The name of the labels of a loss of numbers (src/train/loss.c). */
const TARGET = /^target(_\d+)?$/;

/**
 * True if the loss compares numbers, not classes. An input of the model's own may be called target, too.
 * @param {SessionInfo} info
 */
function hasTarget({ eval: graph }) {
  const inputs = graph?.inputs ?? [];
  return inputs.some(({ name }) => TARGET.test(name)) && !inputs.some(({ labels }) => labels);
}

/**
 * The probabilities of a row: the softmax of its scores, the sigmoid of a score by itself.
 * @param {Float32Array} row
 * @param {{ activation?: Activation, areScores: boolean, areApart?: boolean }} kind areApart: each score is by itself,
 * as the loss bce-with-logits has them
 * @param {number} [temperature]
 */
function sharesOf(row, { activation, areScores, areApart }, temperature) {
  if (activation && !temperature) return row;
  const scores = areScores && !activation ? row : scoresOf(row, activation);
  if (row.length === 1 || (areApart && scores === row)) return row.map((score) => 1 / (1 + Math.exp(-score)));
  return probabilitiesOf(scores, temperature);
}

/** @param {PredictOptions['threshold']} threshold @param {Calibration} known */
function leastOf(threshold, known) {
  if (threshold === undefined || threshold === false) return 0;
  if (threshold === true && known.threshold) return known.threshold;
  if (typeof threshold === 'number' && threshold >= 0 && threshold <= 1) return threshold;
  throw invalid(
    threshold === true
      ? 'predict: no threshold was chosen: let calibrate or fineTune choose one by unknown, or give a number'
      : `predict: threshold is a probability from 0 to 1, or true, not ${String(threshold)}`,
  );
}
