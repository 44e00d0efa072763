/** What is told of a model beside its loss, and the running sums of both over batches. */

import { invalid, TrainletError } from './errors.js';

/** @import { Metric, TypedArray } from './types.js' */
/** @import { Counted, GraphInfo, NumberOutputs, PlainTensor, SessionInfo } from './protocol.js' */
/** @import { Batch, Labels } from './data.js' */

/** @typedef {{ label: string, output: string, axis?: 1 | -1, ignoreIndex?: number }} Pair */
/**
 * @typedef {{ name: string, weight: number }} Loss one of those whose weighted sum is the loss
 * @typedef {{ losses: Loss[], pair?: Pair, perplexity: boolean }} Measures
 */

const METRICS = ['loss', 'accuracy', 'perplexity'];

/**
 * What is asked for, and of which input and output.
 * @param {SessionInfo} info
 * @param {readonly Metric[]} [metrics]
 * @returns {Measures}
 */
export function measuresOf(info, metrics) {
  const unknown = metrics?.find((metric) => !METRICS.includes(metric));
  if (unknown) throw invalid(`there is no metric '${unknown}'; there are loss, accuracy and perplexity`);
  const graph = /** @type {GraphInfo} */ (info.train ?? info.eval);
  const perplexity = metrics?.includes('perplexity') ?? false;
  if (perplexity && !graph.crossEntropy)
    throw invalid(
      'perplexity needs a loss that is cross-entropy without labelSmoothing, of which it is the exponential',
    );
  const losses = graph.losses.length ? graph.losses : [{ name: graph.outputs[0].name, weight: 1 }];
  return { losses, pair: accuracyPair(graph, info.predict, metrics), perplexity };
}

/** @param {GraphInfo} graph @param {readonly string[]} predict @param {readonly Metric[]} [metrics] */
function accuracyPair({ inputs, outputs: [loss] }, [output], metrics) {
  if (metrics && !metrics.includes('accuracy')) return undefined;
  const isIndex = (/** @type {string} */ type) => type === 'int64' || type === 'int32';
  const input =
    inputs.find(({ labels }) => labels) ?? inputs.find(({ name, type }) => name === 'labels' && isIndex(type));
  const predicts = output && output !== loss.name;
  if (input && predicts) return { label: input.name, output, ...input.labels };
  if (!metrics) return undefined;
  if (input) throw invalid(`accuracy needs a prediction, but the model's only output is '${loss.name}', its loss`);
  throw invalid("accuracy needs class indices as labels: an int64 input named 'labels'");
}

/** Batches weigh by what their loss has counted, so that a mean does not depend on how the data are cut into them. */
export class Tally {
  #measures;
  /** Of each of the losses. */
  #totals;
  #weights;
  #right;
  #labels;

  /** @param {Measures} measures @param {number[]} [sums] of a tally that is to go on */
  constructor(measures, [total = 0, weight = 0, right = 0, labels = 0, ...more] = []) {
    this.#measures = measures;
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
    const { pair } = this.#measures;
    const prediction = pair && outputs[pair.output];
    const { right, counted: count } =
      labels && prediction ? countRight(prediction, labels, pair) : { right: 0, counted: 0 };
    this.#right += right;
    this.#labels += count;
    return this.#told(weights.some((weight) => weight) ? this.#mean(totals, weights) : undefined, right, count);
  }

  /** Nothing has counted so far: there is no mean of it. */
  get empty() {
    return this.#weights.every((weight) => weight === 0);
  }

  /** The means so far. @returns {Record<string, number> & { loss: number }} */
  get means() {
    const loss = this.#mean(this.#totals, this.#weights);
    return { loss, ...this.#told(loss, this.#right, this.#labels) };
  }

  /** One of which nothing has counted adds nothing. @param {number[]} totals @param {number[]} weights */
  #mean(totals, weights) {
    return this.#measures.losses.reduce(
      (sum, { weight }, i) => sum + (weights[i] ? (weight * totals[i]) / weights[i] : 0),
      0,
    );
  }

  /** What there is beside a loss. @param {number | undefined} loss @param {number} right @param {number} labels */
  #told(loss, right, labels) {
    return {
      ...(labels && { accuracy: right / labels }),
      ...(this.#measures.perplexity && loss !== undefined && { perplexity: Math.exp(loss) }),
    };
  }
}

/**
 * How many labels are where the prediction is largest along the class axis; one that is ignored or no class does not
 * count.
 * @param {PlainTensor<TypedArray>} prediction (N, C, …) as in SoftmaxCrossEntropyLoss, or (N, …, C)
 * @param {Labels} labels (N, …)
 * @param {{ axis?: 1 | -1, ignoreIndex?: number }} [of] axis: which of the two is tried first
 */
export function countRight({ data, dims }, labels, { axis: given, ignoreIndex } = {}) {
  const last = dims.length - 1;
  const axes = given === -1 ? [last, 1] : [1, last];
  const axis = axes.find((a) => String(dims.toSpliced(a, 1)) === String(labels.dims));
  if (!axis) {
    throw new TrainletError('invalid-feed', `accuracy: labels [${labels.dims}] do not fit the prediction [${dims}]`);
  }
  const classes = dims[axis];
  const inner = dims.slice(axis + 1).reduce((product, d) => product * d, 1);
  let right = 0;
  let counted = 0;
  for (let i = 0; i < labels.data.length; i++) {
    const label = Number(labels.data[i]);
    if (label < 0 || label >= classes || label === ignoreIndex) continue;
    const start = Math.floor(i / inner) * classes * inner + (i % inner);
    let best = 0;
    for (let c = 1; c < classes; c++) if (data[start + c * inner] > data[start + best * inner]) best = c;
    right += Number(best === label);
    counted++;
  }
  return { right, counted };
}
