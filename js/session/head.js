/** A head's first weights: by the means of its classes' features. */

import { invalid, TrainletError } from '../base/errors.js';
import { numbersOf } from '../base/half-floats.js';
import { rowsOf } from '../base/rows.js';
import { Tensor } from '../base/tensor.js';
import { explain } from '../data/non-finite.js';
import { nameInputs, tensorsIn } from '../data/unnamed.js';
import { INTERNALS } from './open.js';

/** @import { WholeArrays } from '../types.js' */
/** @import { TrainingSession } from './training.js' */

/** Examples that go through the lower layers at a time. */
const BATCH = 32;
/** Label smoothing: without it, examples that are told apart easily would make the scores as large as can be. */
export const DOUBT = 0.1;
/** Candidates for the scale of first scores: powers of 2 by the mean squared distance within the classes. */
export const SCALES = Array.from({ length: 17 }, (_, i) => 2 ** (i - 8));

/**
 * Gives the last layer the weights of the best linear classifier if the features of each class lay around its mean μ,
 * equally far in every direction: the score of x is s · (μ·x − ‖μ‖² / 2) (scikit-learn's NearestCentroid; "Mensink et
 * al., Distance-based image classification", 2013). s is what makes the examples most likely, each judged by the means
 * of the others.
 * @param {TrainingSession} session
 * @param {readonly string[] | null} head names of its features, weight and bias
 * @param {WholeArrays} data
 * @param {(features: string) => Float32Array[] | undefined} [known] where they have been computed
 * @param {AbortSignal} [signal]
 */
export async function initializeHead(session, head, data, known, signal) {
  const [features, weight, bias] = head ?? [];
  const shape = session.parameters.find(({ name }) => name === weight)?.dims;
  const classes = session.classNames?.length;
  if (!shape || !classes) throw invalid('initializeHead: the model has no head of ours: make it by option head');
  const labels = labelsOf('initializeHead', data, classes);
  const rows =
    known?.(features) ?? (await valuesOf('initializeHead', session, data.inputs, labels.length, features, signal));
  const [w, b] = weightsOf(rows, labels, classes);
  if (!w.every(Number.isFinite)) {
    const error = new TrainletError('non-finite-loss', `initializeHead: the features '${features}' are not finite`);
    throw await explain(error, session[INTERNALS], data);
  }
  await session.setParameter(weight, new Tensor('float32', w, shape));
  await session.setParameter(bias, new Tensor('float32', b, [classes]));
}

/** @param {string} where @param {Pick<WholeArrays, 'labels'>} data @param {number} classes */
export function labelsOf(where, data, classes) {
  const tensors = tensorsIn(data?.labels);
  const labels = Array.from(/** @type {any} */ (tensors[0]?.data ?? []), Number);
  if (tensors.length !== 1 || !labels.length) throw invalid(`${where}: data are { inputs, labels }, with one label`);
  const stray = labels.findIndex((label) => !(Number.isInteger(label) && label >= 0 && label < classes));
  if (stray >= 0)
    throw invalid(`${where}: label ${labels[stray]} in row ${stray}, and the classes are 0 to ${classes - 1}`);
  return labels;
}

/**
 * Computes a value for each example.
 * @param {string} where @param {TrainingSession} session @param {WholeArrays['inputs']} inputs @param {number} examples
 * @param {string} [value] default: the scores
 * @param {AbortSignal} [signal]
 */
export async function valuesOf(where, session, inputs, examples, value, signal) {
  const rows = [];
  const named = nameInputs(session, inputs ?? {});
  for (let from = 0; from < examples; from += BATCH) {
    const to = Math.min(examples, from + BATCH);
    const part = Object.entries(named).map(([name, tensor]) => [name, slice(where, name, tensor, from, to, examples)]);
    const fetches = value === undefined ? undefined : [value];
    const outputs = await session.predict(Object.fromEntries(part), fetches, { signal });
    const [name, tensor] = Object.entries(outputs)[0];
    const { dims } = tensor;
    if (dims.length !== 2) throw invalid(`${where}: '${name}' must be rows, one of each example, not [${dims}]`);
    rows.push(...rowsOf(/** @type {Float32Array} */ (numbersOf(tensor)), dims[0]).slice(0, to - from));
  }
  return rows;
}

/**
 * @param {string} where @param {string} name @param {any} tensor @param {number} from @param {number} to
 * @param {number} examples
 */
function slice(where, name, tensor, from, to, examples) {
  const { type, data, dims } = tensor ?? {};
  if (dims?.[0] !== examples)
    throw invalid(`${where}: input '${name}' has ${dims?.[0] ?? 'no'} examples, and there are ${examples} labels`);
  const each = data.length / examples;
  return new Tensor(type, data.slice(from * each, to * each), [to - from, ...dims.slice(1)]);
}

/** W (classes, features) and b. @param {Float32Array[]} rows @param {number[]} labels @param {number} classes */
function weightsOf(rows, labels, classes) {
  const count = rows[0].length;
  const middle = meanOf(rows, count);
  const centred = rows.map((row) => new Float64Array(row).map((x, i) => x - middle[i]));
  const groups = Array.from({ length: classes }, (_, c) => centred.filter((_, i) => labels[i] === c));
  const means = groups.map((group) => meanOf(group, count));
  const scale = scaleOf(centred, labels, groups, means);
  const w = new Float32Array(classes * count);
  const b = new Float32Array(classes);
  means.forEach((mean, c) => {
    mean.forEach((x, i) => {
      w[c * count + i] = scale * x;
    });
    b[c] = -scale * (dot(mean, middle) + dot(mean, mean) / 2);
  });
  return [w, b];
}

/** The mean of rows; zeros without any. @param {ArrayLike<number>[]} rows @param {number} count */
export function meanOf(rows, count) {
  const mean = new Float64Array(count);
  for (const row of rows) for (let i = 0; i < count; i++) mean[i] += row[i] / rows.length;
  return mean;
}

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** @param {Float64Array} x @param {Float64Array} mean */
const closeness = (x, mean) => dot(mean, x) - dot(mean, mean) / 2;

/**
 * @param {Float64Array[]} rows @param {number[]} labels @param {Float64Array[][]} groups @param {Float64Array[]} means
 */
function scaleOf(rows, labels, groups, means) {
  // each example's scores, of its own class by the mean of the others in it
  const scores = rows.map((row, i) => {
    const n = groups[labels[i]].length;
    const others = means[labels[i]].map((x, k) => (n > 1 ? (n * x - row[k]) / (n - 1) : x));
    return means.map((mean, c) => closeness(row, c === labels[i] ? others : mean));
  });
  const spread = rows.reduce((sum, row, i) => {
    const mean = means[labels[i]];
    return sum + dot(row, row) - 2 * dot(row, mean) + dot(mean, mean);
  }, 0);
  const size = means.reduce((sum, mean) => sum + dot(mean, mean), 0);
  const unit = spread > 0 ? rows.length / spread : means.length / (size || 1);
  const losses = SCALES.map((scale) => lossOf(scores, labels, scale * unit));
  return SCALES[losses.indexOf(Math.min(...losses))] * unit;
}

/** Cross-entropy of smoothed labels. @param {number[][]} scores @param {number[]} labels @param {number} scale */
function lossOf(scores, labels, scale) {
  return scores.reduce((sum, row, i) => {
    const most = Math.max(...row);
    const total = row.reduce((all, x) => all + Math.exp(scale * (x - most)), 0);
    const mean = row.reduce((all, x) => all + x, 0) / row.length;
    return sum + Math.log(total) - scale * ((1 - DOUBT) * row[labels[i]] + DOUBT * mean - most);
  }, 0);
}
