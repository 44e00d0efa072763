/**
 * The weight of each example: its own times that of its class, as the input of artifacts with `sampleWeights`.
 */

import { checkObject, invalid, TrainletError } from '../base/errors.js';
import { isKind } from '../base/kind.js';
import { check } from '../base/tensor.js';

/** @import { FitOptions, SampleWeight, ValueInfo } from '../types.js' */
/** @typedef {import('./dataset.js').Taken} Taken */
/** @typedef {NonNullable<FitOptions['classWeight']>} ClassWeight */

/** @param {string} message */
const bad = (message) => new TrainletError('invalid-feed', `data set: ${message}`);

/**
 * The tensors and the weights among them, one for each label: 1 where nothing else is said, 0 where it is ignored.
 * @param {[string, Taken][]} tensors
 * @param {readonly ValueInfo[]} inputs
 * @param {{ sampleWeight?: SampleWeight, classWeight?: ClassWeight, whole?: boolean }} said `whole`: of all the data
 * @returns {[string, Taken][]}
 */
export function weigh(tensors, inputs, { sampleWeight, classWeight, whole = false }) {
  const input = inputs.find((input) => input.sampleWeight);
  const said = classWeight === undefined ? sampleWeight && 'sampleWeight' : 'classWeight';
  if (!input && said)
    throw invalid(`${said} needs artifacts made with loss: { type, sampleWeights: true }, which take weights`);
  if (!input || !tensors.length) return tensors;
  const labels = inputs.find((input) => input.labels);
  const among = tensors.find(([name]) => name === labels?.name)?.[1];
  if (labels ? !among : classWeight !== undefined) {
    if (labels) return tensors; // the engine says that they are missing
    throw invalid('classWeight needs labels that are classes, of a cross-entropy');
  }
  const dims = among?.dims ?? tensors[0][1].dims.slice(0, 1);
  const fed = tensors.find(([name]) => name === input.name)?.[1];
  if (fed && sampleWeight !== undefined) throw bad(`it has both sampleWeight and an input '${input.name}'`);
  const weights = ownWeights(fed ?? given(sampleWeight), dims);
  if (labels && among) multiply(weights, among.data, labels, classWeight, whole);
  return [...tensors.filter(([name]) => name !== input.name), [input.name, { type: 'float32', data: weights, dims }]];
}

/**
 * Replaces the names of classes by their indices.
 * @param {ClassWeight | undefined} said
 * @param {string | undefined} classes of the model, in its file's own words
 * @returns {ClassWeight | undefined}
 */
export function byIndex(said, classes) {
  if (typeof said !== 'object' || Array.isArray(said) || !classes) return said;
  const names = namesIn(classes);
  const indexed = Object.entries(said).map(([name, weight]) => [
    names.includes(name) ? names.indexOf(name) : name,
    weight,
  ]);
  return Object.fromEntries(indexed);
}

/** Parses untrusted JSON to an array. @param {string} json @returns {unknown[]} */
function namesIn(json) {
  try {
    const names = JSON.parse(json);
    return Array.isArray(names) ? names : [];
  } catch {
    return [];
  }
}

/** @param {SampleWeight | undefined} weights @returns {{ data: ArrayLike<number | bigint> } | undefined} */
function given(weights) {
  if (weights === undefined) return undefined;
  const plain = Array.isArray(weights) || isKind(weights, 'Float32Array') || isKind(weights, 'Float64Array');
  return plain ? { data: weights } : /** @type {Taken} */ (check('sampleWeight', weights));
}

/** One for each label, of one for each label or for each example. */
function ownWeights(/** @type {{ data: ArrayLike<any> } | undefined} */ said, /** @type {readonly number[]} */ dims) {
  const count = dims.reduce((product, d) => product * d, 1);
  const weights = new Float32Array(count).fill(1);
  if (!said) return weights;
  const { data } = said;
  if (data.length !== count && data.length !== dims[0])
    throw bad(`sampleWeight has ${data.length} weights; wanted ${dims[0]}, one for each example`);
  const each = count / data.length;
  for (let i = 0; i < count; i++) weights[i] = Number(data[Math.floor(i / each)]);
  const odd = weights.findIndex((weight) => !(weight >= 0 && weight < Infinity));
  if (odd >= 0) throw bad(`sampleWeight has ${data[Math.floor(odd / each)]} at ${Math.floor(odd / each)}; from 0 up`);
  return weights;
}

/**
 * @param {Float32Array} weights
 * @param {ArrayLike<number | bigint>} labels
 * @param {ValueInfo} input of the labels
 * @param {ClassWeight | undefined} classWeight
 * @param {boolean} whole
 */
function multiply(weights, labels, { labels: of }, classWeight, whole) {
  const { classes = null, ignoreIndex } = of ?? {};
  const byClass = classWeights(classWeight, labels, classes, ignoreIndex, whole);
  weights.forEach((weight, i) => {
    const label = Number(labels[i]);
    weights[i] = label === ignoreIndex ? 0 : weight * (byClass.get(label) ?? 1);
  });
}

/**
 * @param {ClassWeight | undefined} said
 * @param {ArrayLike<number | bigint>} labels
 * @param {number | null} classes
 * @param {number | undefined} ignoreIndex
 * @param {boolean} whole
 * @returns {Map<number, number>}
 */
function classWeights(said, labels, classes, ignoreIndex, whole) {
  if (said === undefined) return new Map();
  if (said === 'balanced' && whole) return balanced(labels, ignoreIndex);
  if (said === 'balanced')
    throw invalid("fit: classWeight 'balanced' needs whole arrays, whose classes can be counted");
  if (typeof said === 'string') throw invalid(`fit: classWeight is 'balanced' or numbers, not '${said}'`);
  if (!Array.isArray(said)) checkObject('fit: classWeight', said);
  if (Array.isArray(said) && classes !== null && said.length !== classes)
    throw invalid(`fit: classWeight has ${said.length} weights, the scores have ${classes} classes`);
  return new Map(
    Object.entries(said).map(([name, weight]) => {
      const index = Number(name);
      if (!(Number.isSafeInteger(index) && index >= 0 && index < (classes ?? Infinity)))
        throw invalid(
          `fit: classWeight: there is no class '${name}'${classes ? `, they are 0 to ${classes - 1}` : ''}`,
        );
      if (typeof weight !== 'number' || !(weight >= 0 && weight < Infinity))
        throw invalid(`fit: classWeight of ${name} must be a number from 0 up, not ${String(weight)}`);
      return [index, weight];
    }),
  );
}

/** scikit-learn's balanced weights: n / (classes there are · labels of the class). */
function balanced(/** @type {ArrayLike<number | bigint>} */ labels, /** @type {number | undefined} */ ignoreIndex) {
  /** @type {Map<number, number>} */
  const counts = new Map();
  let n = 0;
  for (let i = 0; i < labels.length; i++) {
    const label = Number(labels[i]);
    if (label === ignoreIndex) continue;
    counts.set(label, (counts.get(label) ?? 0) + 1);
    n++;
  }
  return new Map([...counts].map(([label, count]) => [label, n / (counts.size * count)]));
}
