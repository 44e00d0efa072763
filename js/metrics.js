/** What is told of a model beside its loss, and the running sums of both over batches. */

import { TrainletError } from './errors.js';

/** @import { Metric, TypedArray } from './types.js' */
/** @import { PlainTensor, SessionInfo } from './protocol.js' */
/** @import { Batch, Labels } from './data.js' */

/** The input of class indices, where the model has one. @param {SessionInfo} info */
function classLabels({ train, eval: evaluation }) {
  const inputs = (train ?? evaluation)?.inputs ?? [];
  return inputs.find(({ name, type }) => name === 'labels' && (type === 'int64' || type === 'int32'))?.name;
}

/**
 * The label input and the output that accuracy is taken of; undefined where it is not asked for.
 * @param {SessionInfo} info
 * @param {readonly Metric[]} [metrics]
 */
export function accuracyPair(info, metrics) {
  const unknown = metrics?.find((metric) => metric !== 'loss' && metric !== 'accuracy');
  if (unknown)
    throw new TrainletError('invalid-argument', `there is no metric '${unknown}'; there are loss and accuracy`);
  const label = classLabels(info);
  const [output] = info.predict;
  if (metrics && !metrics.includes('accuracy')) return undefined;
  if (label && output) return { label, output };
  if (!metrics) return undefined;
  throw new TrainletError('invalid-argument', "accuracy needs class indices as labels: an int64 input named 'labels'");
}

export class Tally {
  #loss;
  #examples;
  #right;
  #labels;

  /** @param {number[]} [sums] of a tally that is to go on */
  constructor([loss, examples, right, labels] = [0, 0, 0, 0]) {
    this.#loss = loss;
    this.#examples = examples;
    this.#right = right;
    this.#labels = labels;
  }

  get sums() {
    return [this.#loss, this.#examples, this.#right, this.#labels];
  }

  /**
   * @param {Batch} batch
   * @param {number} loss
   * @param {PlainTensor<TypedArray>} [prediction]
   * @returns {Record<string, number>} of this batch
   */
  add({ examples, labels }, loss, prediction) {
    this.#loss += loss * examples;
    this.#examples += examples;
    if (!labels || !prediction) return {};
    const { right, counted } = countRight(prediction, labels);
    this.#right += right;
    this.#labels += counted;
    return { accuracy: right / counted };
  }

  get examples() {
    return this.#examples;
  }

  /** The means so far. @returns {Record<string, number>} */
  get means() {
    const loss = this.#loss / this.#examples;
    return this.#labels ? { loss, accuracy: this.#right / this.#labels } : { loss };
  }
}

/**
 * How many labels are where the prediction is largest along the class axis; a label that is no class does not count.
 * @param {PlainTensor<TypedArray>} prediction (N, C, …) as in SoftmaxCrossEntropyLoss, or (N, …, C)
 * @param {Labels} labels (N, …)
 */
export function countRight({ data, dims }, labels) {
  const axis = [1, dims.length - 1].find((a) => String(dims.toSpliced(a, 1)) === String(labels.dims));
  if (!axis) {
    throw new TrainletError('invalid-feed', `accuracy: labels [${labels.dims}] do not fit the prediction [${dims}]`);
  }
  const classes = dims[axis];
  const inner = dims.slice(axis + 1).reduce((product, d) => product * d, 1);
  let right = 0;
  let counted = 0;
  for (let i = 0; i < labels.data.length; i++) {
    const label = Number(labels.data[i]);
    if (label < 0 || label >= classes) continue;
    const start = Math.floor(i / inner) * classes * inner + (i % inner);
    let best = 0;
    for (let c = 1; c < classes; c++) if (data[start + c * inner] > data[start + best * inner]) best = c;
    right += Number(best === label);
    counted++;
  }
  return { right, counted };
}
