/** More classes in an output that has been trained: the weights they begin with, and the artifacts that have them. */

import { checkKeys, invalid, nameOf } from '../base/errors.js';
import { examplesOf } from '../data/labelled-examples.js';
import { CALIBRATION } from '../data/predicted-labels.js';
import { DOUBT, dot, meanOf, SCALES, valuesOf } from './head.js';

/** @import { Artifacts, ExtendOptions } from '../types.js' */
/** @import { Ask, OutputLayer, SessionInfo } from '../engine/protocol.js' */
/** @import { TrainingSession } from './training.js' */
/** @typedef {{ weights: Float64Array[], biases: number[] }} Rows of weights, one for each class */
/** @typedef {{ label: number, weight: number, scores: number[], closeness: number[] }} Example */

const HALVINGS = 40;
/** Beyond it a class is as good as certain, or impossible. */
const MOST_OFFSET = 1e4;

/**
 * @param {TrainingSession} session @param {Ask} ask @param {SessionInfo} info @param {string} output
 * @param {readonly string[]} newClasses @param {ExtendOptions} [options]
 * @returns {Promise<Artifacts>}
 */
export async function extendOutput(session, ask, info, output, newClasses, options = {}) {
  checkKeys('extendOutput', options, ['classes', 'examples']);
  if (typeof output !== 'string') throw invalid(`extendOutput: an output is named by a string, not ${nameOf(output)}`);
  if (!session.trainingInputs.some(({ labels }) => labels) && !info.outside)
    throw invalid('extendOutput: classes are added where the loss is cross-entropy, or outside');
  const layer = /** @type {OutputLayer} */ (await ask('describe', ['output_layer', output]));
  const known = options.classes ?? session.classNames;
  const names = namesOf(output, layer.classes, known, newClasses);
  const old = await rowsIn(session, layer);
  const added = await addedTo(session, layer, old, names, options.examples);
  const args = /** @type {const} */ ([output, JSON.stringify(names), newClasses.length, ...flat(added)]);
  const part = (/** @type {'train' | 'eval' | 'optimizer' | 'checkpoint'} */ which) => ask('extend', [which, ...args]);
  const isCalibrated = Boolean(session.properties.get(CALIBRATION) ?? info.eval?.calibration);
  return {
    trainModel: await part('train'),
    evalModel: await part('eval'),
    optimizerModel: info.optimizer ? await part('optimizer') : /** @type {any} */ (undefined),
    checkpointState: await part('checkpoint'),
    warnings: isCalibrated
      ? [`the calibration was of ${layer.classes} classes and is dropped: calibrate the ${names.length} anew`]
      : [],
  };
}

/**
 * The names of all classes, the new ones last.
 * @param {string} output @param {number} count @param {readonly string[] | null} known @param {readonly string[]} added
 */
function namesOf(output, count, known, added) {
  if (!Array.isArray(added) || !added.length)
    throw invalid("extendOutput: the new classes are an array of at least one name, as ['heart']");
  if (!known)
    throw invalid(`extendOutput: the model has no names for the ${count} classes of '${output}': give them by classes`);
  if (known.length !== count)
    throw invalid(`extendOutput: '${output}' has ${count} classes, and there are names of ${known.length}`);
  const names = [...known, ...added];
  const odd = names.find((name, i) => typeof name !== 'string' || !name || names.indexOf(name) !== i);
  if (odd !== undefined) throw invalid(`extendOutput: ${nameOf(odd)} is not a name of one class alone`);
  return names;
}

/** @param {TrainingSession} session @param {OutputLayer} layer @returns {Promise<Rows>} */
async function rowsIn(session, { weight, bias, axis, classes }) {
  const { data, dims } = await session.getParameter(weight);
  const count = dims[1 - axis];
  const at = (/** @type {number} */ c, /** @type {number} */ i) => (axis ? i * classes + c : c * count + i);
  const weights = Array.from({ length: classes }, (_, c) =>
    Float64Array.from({ length: count }, (_, i) => Number(data[at(c, i)])),
  );
  const biases = bias ? Array.from((await session.getParameter(bias)).data, Number) : Array(classes).fill(0);
  return { weights, biases };
}

/**
 * The rows of the new classes. Without examples a class has the mean of the old ones' weights: its score is the mean of
 * theirs, so it is never the largest.
 * @param {TrainingSession} session @param {OutputLayer} layer @param {Rows} old @param {readonly string[]} names
 * @param {ExtendOptions['examples']} examples
 * @returns {Promise<Rows>}
 */
async function addedTo(session, layer, old, names, examples) {
  const count = old.weights[0].length;
  const middle = {
    weight: meanOf(old.weights, count),
    bias: old.biases.reduce((sum, b) => sum + b, 0) / old.biases.length,
  };
  const added = names.length - layer.classes;
  const plain = {
    weights: Array.from({ length: added }, () => middle.weight),
    biases: Array.from({ length: added }, () => middle.bias),
  };
  if (!examples) return plain;
  const { inputs, labels } = examplesOf('extendOutput: examples', examples, names, session);
  if (!labels.some((label) => label >= layer.classes)) throw invalid('extendOutput: examples: none is of a new class');
  const features = await valuesOf('extendOutput: examples', session, inputs, labels.length, layer.features);
  return byMeans(features, labels, old, plain);
}

/**
 * The score of a new class is the mean of the old ones' scores and how much nearer x is to the mean μ of its features
 * than to the middle m of the old classes: s · (d·(x − m) − ‖d‖² / 2) + t, d = μ − m. So a head that was made by class
 * means goes on. s and t are what makes the examples most likely, each judged by the means of the others; without
 * examples of old classes m and t are 0.
 * @param {ArrayLike<number>[]} features @param {number[]} labels @param {Rows} old @param {Rows} plain
 * @returns {Rows}
 */
function byMeans(features, labels, old, plain) {
  const [classes, count] = [old.weights.length, features[0].length];
  const all = classes + plain.weights.length;
  const groups = Array.from({ length: all }, (_, c) => features.filter((_, i) => labels[i] === c));
  const present = groups.slice(0, classes).filter((group) => group.length);
  const m = meanOf(
    present.map((group) => meanOf(group, count)),
    count,
  );
  const means = groups
    .slice(classes)
    .map((group) => (group.length ? meanOf(group, count).map((x, i) => x - m[i]) : undefined));
  const examples = features.map((x, i) => {
    const centred = Float64Array.from(x, (value, k) => value - m[k]);
    const n = groups[labels[i]].length;
    const closeness = means.map((mean, c) => {
      if (!mean) return -Infinity;
      const others = labels[i] === classes + c && n > 1 ? mean.map((y, k) => (n * y - centred[k]) / (n - 1)) : mean;
      return dot(others, centred) - dot(others, others) / 2;
    });
    const scores = old.weights.map((w, c) => dot(w, x) + old.biases[c]);
    return { label: labels[i], weight: 1 / n, scores, closeness };
  });
  const { scale, offset } = fitted(examples, present.length > 0);
  return {
    weights: plain.weights.map((w, c) => means[c]?.map((d, i) => w[i] + scale * d) ?? w),
    biases: plain.biases.map((b, c) => {
      const d = means[c];
      return d ? b + offset - scale * (dot(d, m) + dot(d, d) / 2) : b;
    }),
  };
}

/**
 * @param {Example[]} examples
 * @param {boolean} shifts whether the offset is chosen too
 */
function fitted(examples, shifts) {
  const size =
    examples.reduce((sum, { closeness }) => sum + Math.max(...closeness.map(finiteSize)), 0) / examples.length;
  const tried = SCALES.map((by) => {
    const scale = by / (size || 1);
    const offset = shifts ? offsetAt(examples, scale) : 0;
    return { scale, offset, loss: examples.reduce((sum, example) => sum + judged(example, scale, offset).loss, 0) };
  });
  return tried.reduce((best, other) => (other.loss < best.loss ? other : best));
}

/** @param {number} x */
const finiteSize = (x) => (Number.isFinite(x) ? Math.abs(x) : 0);

/** The offset with the least loss, which is convex in it. @param {Example[]} examples @param {number} scale */
function offsetAt(examples, scale) {
  let [low, high] = [-MOST_OFFSET, MOST_OFFSET];
  for (let i = 0; i < HALVINGS; i++) {
    const middle = (low + high) / 2;
    if (examples.reduce((sum, example) => sum + judged(example, scale, middle).slope, 0) < 0) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/**
 * The cross-entropy of a smoothed label, and its derivative by the offset.
 * @param {Example} example @param {number} scale @param {number} offset
 */
function judged({ label, weight, scores, closeness }, scale, offset) {
  const mean = scores.reduce((sum, x) => sum + x, 0) / scores.length;
  const added = closeness.map((x) => (x === -Infinity ? mean : mean + scale * x + offset));
  const row = [...scores, ...added];
  const most = Math.max(...row);
  const parts = row.map((x) => Math.exp(x - most));
  const total = parts.reduce((sum, x) => sum + x, 0);
  const wanted = row.map((_, c) => DOUBT / row.length + (c === label ? 1 - DOUBT : 0));
  const slope = closeness.reduce((sum, x, i) => {
    const c = scores.length + i;
    return x === -Infinity ? sum : sum + parts[c] / total - wanted[c];
  }, 0);
  const loss = Math.log(total) + most - row.reduce((sum, x, c) => sum + wanted[c] * x, 0);
  return { loss: weight * loss, slope: weight * slope };
}

/** Rows in the engine's order. @param {Rows} rows */
const flat = ({ weights, biases }) =>
  /** @type {const} */ ([Float32Array.from(weights.flatMap((row) => [...row])), Float32Array.from(biases)]);
