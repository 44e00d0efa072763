/** Metrics beside the loss, and the running sums of both over batches. */

import { checkWhole, invalid, nameOf } from '../base/errors.js';
import { numbersOf } from '../base/half-floats.js';
import { Tensor } from '../base/tensor.js';
import { classesOutput } from '../data/predicted-labels.js';
import { largest, measureNamed, measureNames, visitRows } from './measures.js';

/** @import { CustomMetric, EvaluateOptions, TypedArray } from '../types.js' */
/** @import { Counted, GraphInfo, NumberOutputs, PlainTensor, SessionInfo } from '../engine/protocol.js' */
/** @import { Batch, Labels } from '../data/dataset.js' */
/** @import { Measure } from './measures.js' */

/** @typedef {{ label: string, output: string, axis?: 1 | -1, ignoreIndex?: number, areScores?: boolean }} Pair */
/** @typedef {NonNullable<EvaluateOptions['metrics']>} Metrics */
/**
 * @typedef {{ name: string, weight: number }} Loss one of those whose weighted sum is the loss
 * @typedef {object} Measures
 * @property {Loss[]} losses
 * @property {Pair} [pair]
 * @property {boolean} accuracy
 * @property {boolean} perplexity
 * @property {number} [bytes] of the text, where bits for each are asked for
 * @property {Measure[]} measures
 * @property {CustomMetric[]} custom
 */

/** Metrics that are no measure of a prediction by itself, and whether a larger one is better. */
const HIGHER_IS_BETTER = new Map(
  Object.entries({ loss: false, accuracy: true, perplexity: false, 'bits-per-byte': false }),
);
const NAMES = [...HIGHER_IS_BETTER.keys()];

/** @param {string} name */
function named(name) {
  const found = measureNamed(name);
  if (found) return found;
  throw invalid(`there is no metric '${name}'; there are ${[...NAMES, ...measureNames()].join(', ')}`);
}

/**
 * @param {string} where for whom it is asked
 * @param {string} monitor a metric of an epoch
 * @param {Metrics} [metrics] the option
 * @returns {boolean}
 */
export function isHigherBetter(where, monitor, metrics = []) {
  const name = monitor.replace(/^val_/, '');
  const custom = metrics.find((metric) => typeof metric !== 'string' && metric.name === name);
  const row = custom ?? measureNamed(name) ?? { higherIsBetter: HIGHER_IS_BETTER.get(name) };
  const { higherIsBetter } = /** @type {{ higherIsBetter?: boolean }} */ (row);
  if (typeof higherIsBetter === 'boolean') return higherIsBetter;
  throw invalid(`${where}: the metric '${name}' needs higherIsBetter, true or false, to be monitored`);
}

/** @param {CustomMetric} metric */
function checkCustom(metric) {
  const calls = /** @type {const} */ (['updateState', 'result', 'resetState']);
  if (typeof metric?.name === 'string' && calls.every((call) => typeof metric[call] === 'function')) return metric;
  throw invalid(`a metric is a name, or an object with name, ${calls.join(', ')}, not ${nameOf(metric)}`);
}

/**
 * The requested measures, with their input and output.
 * @param {SessionInfo} info
 * @param {Metrics} [metrics]
 * @param {number} [bytes] of the text
 * @returns {Measures}
 */
export function measuresOf(info, metrics, bytes) {
  if (metrics !== undefined && !Array.isArray(metrics))
    throw invalid(`metrics is a list of names and of metrics of your own, not ${nameOf(metrics)}`);
  const names = metrics?.filter((metric) => typeof metric === 'string');
  const custom = (metrics ?? []).filter((metric) => typeof metric !== 'string').map(checkCustom);
  const measures = (names ?? []).filter((name) => !NAMES.includes(name)).map(named);
  const graph = /** @type {GraphInfo} */ (info.train ?? info.eval);
  const perplexity = names?.includes('perplexity') ?? false;
  const exponential = names?.find((name) => name === 'perplexity' || name === 'bits-per-byte');
  if (exponential && !graph.crossEntropy)
    throw invalid(`${exponential} needs a loss that is cross-entropy without labelSmoothing, of which it is made`);
  const bits = names?.includes('bits-per-byte') ?? false;
  if (bits) checkWhole("bits-per-byte: evaluate's option bytes", bytes, 1);
  else if (bytes !== undefined) throw invalid("evaluate: bytes is for the metric 'bits-per-byte'");
  const losses = graph.losses.length ? graph.losses : [{ name: graph.outputs[0].name, weight: 1 }];
  const accuracy = names?.includes('accuracy') ?? true;
  const ofClasses = metrics && accuracy ? 'accuracy' : measures.find(({ labels }) => labels === 'classes')?.name;
  const ofNumbers = measures.find(({ labels }) => labels === 'numbers')?.name;
  const pair =
    (accuracy || ofClasses || custom.length ? classPair(graph, info, ofClasses) : undefined) ??
    (ofNumbers || custom.length ? numberPair(graph, info.predict, ofNumbers ?? custom[0].name) : undefined);
  if (ofNumbers && pair && !isTarget(pair.label))
    throw invalid(`${ofNumbers} needs numbers as labels: a float32 input named 'target'`);
  return { losses, pair, accuracy, perplexity, ...(bits && { bytes }), measures, custom };
}

/**
 * The measures of training batches: those of predictions need a training model that outputs them.
 * @param {Measures} all
 * @param {GraphInfo} graph
 * @param {Metrics | undefined} metrics
 * @param {boolean} validates
 * @returns {Measures}
 */
export function trainingMeasures(all, graph, metrics, validates) {
  const { pair, measures, custom } = all;
  const array = measures.find(({ isArray }) => isArray);
  if (array) throw invalid(`fit: ${array.name} is not one number; evaluate gives it`);
  if (custom.length && !validates)
    throw invalid(`fit: '${custom[0].name}' is a metric of validation, which is not given`);
  const evaluated = pair && graph.outputs.some(({ name }) => name === pair.output) ? pair : undefined;
  const first = measures[0]?.name ?? 'accuracy';
  if (metrics && pair && !evaluated && !validates)
    throw invalid(`fit: ${first} needs validation, or artifacts with additionalOutputs: ['${pair.output}']`);
  return { ...all, pair: evaluated, measures: evaluated ? measures : [], custom: [] };
}

/** @param {string} label */
const isTarget = (label) => label === 'target';

/** @param {GraphInfo} graph @param {readonly string[]} predict @param {string} metric @returns {Pair} */
function numberPair({ inputs, outputs: [loss] }, [output], metric) {
  const input = inputs.find(({ name, type }) => isTarget(name) && type === 'float32');
  if (input && output && output !== loss.name) return { label: input.name, output };
  throw invalid(`${metric} needs a prediction, and numbers as labels: a float32 input named 'target'`);
}

/** @param {GraphInfo} graph @param {SessionInfo} info @param {string} [metric] that needs it */
function classPair({ inputs, outputs: [loss] }, info, metric) {
  const { output, areScores } = classesOutput(info);
  const isIndex = (/** @type {string} */ type) => type === 'int64' || type === 'int32';
  const input =
    inputs.find(({ labels }) => labels) ?? inputs.find(({ name, type }) => name === 'labels' && isIndex(type));
  const predicts = output && output !== loss.name;
  if (input && predicts) return { label: input.name, output, areScores, ...input.labels };
  if (!metric) return undefined;
  if (input) throw invalid(`${metric} needs a prediction, but the model's only output is '${loss.name}', its loss`);
  throw invalid(`${metric} needs class indices as labels: an int64 input named 'labels'`);
}

/** Batches weigh by what their loss has counted, so that a mean does not depend on how the data are cut into them. */
export class Tally {
  #measures;
  /** The sum of each loss. */
  #totals;
  #weights;
  #right;
  #labels;
  /** The sums of each measure by its name. @type {Record<string, number[]>} */
  #measured;

  /**
   * @param {Measures} measures
   * @param {number[]} [sums] of a tally that is to go on
   * @param {Record<string, number[]>} [measured]
   */
  constructor(measures, [total = 0, weight = 0, right = 0, labels = 0, ...more] = [], measured = {}) {
    this.#measures = measures;
    this.#measured = { ...measured };
    for (const metric of measures.custom) metric.resetState();
    const sums = [total, weight, ...more];
    this.#totals = measures.losses.map((_, i) => sums[2 * i] ?? 0);
    this.#weights = measures.losses.map((_, i) => sums[2 * i + 1] ?? 0);
    this.#right = right;
    this.#labels = labels;
  }

  get sums() {
    const [total, weight, ...more] = this.#totals.flatMap((each, i) => [each, this.#weights[i]]);
    return [total, weight, this.#right, this.#labels, ...more];
  }

  get measured() {
    return this.#measured;
  }

  /**
   * @param {Batch} batch
   * @param {{ counted: Counted, outputs: NumberOutputs }} result
   * @returns {Record<string, number>} of this batch
   */
  add({ examples, weight: all = examples, labels }, { counted, outputs }) {
    /** @type {number[]} */
    const totals = [];
    /** @type {number[]} */
    const weights = [];
    this.#totals.forEach((_, i) => {
      const [loss, weight, isSum] = counted.slice(3 * i, 3 * i + 3);
      weights[i] = weight < 0 ? all : weight;
      totals[i] = isSum && weight >= 0 ? loss : loss * weights[i];
      this.#totals[i] += totals[i];
      this.#weights[i] += weights[i];
    });
    const { pair, accuracy } = this.#measures;
    const output = pair && outputs[pair.output];
    const prediction = output && { ...output, data: numbersOf(output) };
    const both = labels && prediction ? { labels, prediction, pair } : undefined;
    const { right, counted: count } =
      both && accuracy && !isTarget(both.pair.label)
        ? countRight(both.prediction, both.labels, both.pair)
        : { right: 0, counted: 0 };
    this.#right += right;
    this.#labels += count;
    const measured = both ? this.#measure(both) : {};
    return this.#results(
      weights.some((weight) => weight) ? this.#mean(totals, weights) : undefined,
      right,
      count,
      measured,
    );
  }

  /**
   * The sums of this batch, added to those before.
   * @param {{ labels: Labels, prediction: PlainTensor<TypedArray>, pair: Pair }} of
   */
  #measure({ labels, prediction, pair }) {
    for (const metric of this.#measures.custom) metric.updateState(tensorOf(labels), tensorOf(prediction));
    /** @type {Record<string, number[]>} */
    const batch = {};
    for (const { name, count } of this.#measures.measures) {
      const before = this.#measured[name] ?? [];
      batch[name] = count(prediction, labels, pair);
      this.#measured[name] = batch[name].map((sum, i) => sum + (before[i] ?? 0));
    }
    return batch;
  }

  /** Nothing has counted so far: there is no mean of it. */
  get empty() {
    return this.#weights.every((weight) => weight === 0);
  }

  /** The means so far. @returns {Record<string, number> & { loss: number }} */
  get means() {
    const loss = this.#mean(this.#totals, this.#weights);
    const custom = this.#measures.custom.map((metric) => [metric.name, resultOf(metric)]);
    const { bytes } = this.#measures;
    const bits = bytes && { 'bits-per-byte': (loss * this.#weights[0]) / Math.LN2 / bytes };
    return {
      loss,
      ...this.#results(loss, this.#right, this.#labels, this.#measured),
      ...bits,
      ...Object.fromEntries(custom),
    };
  }

  /** One of which nothing has counted adds nothing. @param {number[]} totals @param {number[]} weights */
  #mean(totals, weights) {
    return this.#measures.losses.reduce(
      (sum, { weight }, i) => sum + (weights[i] ? (weight * totals[i]) / weights[i] : 0),
      0,
    );
  }

  /**
   * The result beside a loss.
   * @param {number | undefined} loss
   * @param {number} right
   * @param {number} labels
   * @param {Record<string, number[]>} measured
   */
  #results(loss, right, labels, measured) {
    const results = this.#measures.measures.map(({ name, tell }) => [name, measured[name] && tell(measured[name])]);
    return {
      ...Object.fromEntries(results.filter(([, value]) => value !== undefined)),
      ...(labels && { accuracy: right / labels }),
      ...(this.#measures.perplexity && loss !== undefined && { perplexity: Math.exp(loss) }),
    };
  }
}

/** @param {{ data: TypedArray, dims: readonly number[] }} of */
const tensorOf = ({ data, dims }) =>
  /** @type {import('../types.js').Tensor} */ (/** @type {unknown} */ (new Tensor(data, dims)));

/** @param {CustomMetric} metric */
function resultOf(metric) {
  const result = metric.result();
  if (typeof result === 'number') return result;
  throw invalid(`the metric '${metric.name}' gave ${nameOf(result)}, not a number`);
}

/**
 * Counts the labels where the prediction is largest along the class axis; one that is ignored or no class does not
 * count.
 * @param {PlainTensor<TypedArray>} prediction (N, C, …) as in SoftmaxCrossEntropyLoss, or (N, …, C)
 * @param {Labels} labels (N, …)
 * @param {{ axis?: 1 | -1, ignoreIndex?: number }} [of] axis: which of the two is tried first
 */
export function countRight(prediction, labels, of = {}) {
  let right = 0;
  let counted = 0;
  visitRows(prediction, labels, of, (label, row) => {
    right += Number(largest(row) === label);
    counted++;
  });
  return { right, counted };
}
