/**
 * Metrics of predictions beside accuracy: each has numbers that add up over batches, so that a checkpoint can
 * keep them, and computes its value from these.
 */

import { TrainletError } from '../base/errors.js';
import { probabilitiesOf, scoresOf } from '../data/predicted-labels.js';

/** @import { TypedArray } from '../types.js' */
/** @import { PlainTensor } from '../engine/protocol.js' */
/** @import { Labels } from '../data/dataset.js' */
/** @typedef {PlainTensor<TypedArray>} Prediction */
/**
 * axis: which of the two is tried first; areScores: not probabilities already
 * @typedef {{ axis?: 1 | -1, ignoreIndex?: number, areScores?: boolean }} Of
 */
/**
 * @typedef {object} Measure
 * @property {string} name
 * @property {'classes' | 'numbers'} labels what it compares with
 * @property {boolean} [isArray] it tells more than a number
 * @property {boolean} higherIsBetter for whatever waits for a better epoch
 * @property {(prediction: Prediction, labels: Labels, of: Of) => number[]} count the sums of a batch
 * @property {(sums: number[]) => number | number[] | number[][] | undefined} tell nothing where nothing has counted
 */

const BINS = 15;
const THRESHOLDS = 200; // same as keras.metrics.AUC

/**
 * Each label that counts with its row of scores; one that is ignored or no class does not.
 * @param {Prediction} prediction (N, C, …) as in SoftmaxCrossEntropyLoss, or (N, …, C)
 * @param {Labels} labels (N, …)
 * @param {Of} of
 * @param {(label: number, row: Float64Array) => void} visit the row is the same array each time
 * @returns {number} how many classes there are
 */
export function visitRows({ data, dims }, labels, { axis: given, ignoreIndex }, visit) {
  const last = dims.length - 1;
  const axes = given === -1 ? [last, 1] : [1, last];
  const axis = axes.find((a) => String(dims.toSpliced(a, 1)) === String(labels.dims));
  if (!axis)
    throw new TrainletError('invalid-feed', `metrics: labels [${labels.dims}] do not fit the prediction [${dims}]`);
  const classes = dims[axis];
  const inner = dims.slice(axis + 1).reduce((product, d) => product * d, 1);
  const row = new Float64Array(classes);
  for (let i = 0; i < labels.data.length; i++) {
    const label = Number(labels.data[i]);
    if (!(label >= 0 && label < classes) || label === ignoreIndex) continue;
    const start = Math.floor(i / inner) * classes * inner + (i % inner);
    for (let c = 0; c < classes; c++) row[c] = Number(data[start + c * inner]);
    visit(label, row);
  }
  return classes;
}

/** The class of the largest score, the first of several. @param {Float64Array} row */
export function largest(row) {
  let best = 0;
  for (let c = 1; c < row.length; c++) if (row[c] > row[best]) best = c;
  return best;
}

/** @param {number} part @param {number} whole */
const share = (part, whole) => (whole ? part / whole : 0);

// ── By class: for each how often it was right, predicted, and the label ──

/** @param {Prediction} prediction @param {Labels} labels @param {Of} of */
function countByClass(prediction, labels, of) {
  /** @type {[number, number][]} */
  const pairs = [];
  const classes = visitRows(prediction, labels, of, (label, row) => pairs.push([label, largest(row)]));
  const sums = new Array(3 * classes).fill(0);
  for (const [label, found] of pairs) {
    if (label === found) sums[3 * label]++;
    sums[3 * found + 1]++;
    sums[3 * label + 2]++;
  }
  return sums;
}

/** @type {Record<string, (right: number, predicted: number, labels: number) => number>} */
const RATES = {
  precision: (right, predicted) => share(right, predicted),
  recall: (right, _, labels) => share(right, labels),
  f1: (right, predicted, labels) => share(2 * right, predicted + labels),
};

/** @param {string} rate @param {number[]} sums */
const ratesOf = (rate, sums) =>
  Array.from({ length: sums.length / 3 }, (_, c) => RATES[rate](sums[3 * c], sums[3 * c + 1], sums[3 * c + 2]));

/** The mean over classes that are a label or predicted. @param {string} rate @param {number[]} sums */
function macro(rate, sums) {
  const there = ratesOf(rate, sums).filter((_, c) => sums[3 * c + 1] + sums[3 * c + 2]);
  return there.length ? there.reduce((sum, value) => sum + value) / there.length : undefined;
}

// ── Others ──

/** Rows are labels, columns predictions. @param {Prediction} prediction @param {Labels} labels @param {Of} of */
function countConfusions(prediction, labels, of) {
  /** @type {[number, number][]} */
  const pairs = [];
  const classes = visitRows(prediction, labels, of, (label, row) => pairs.push([label, largest(row)]));
  const sums = new Array(classes * classes).fill(0);
  for (const [label, found] of pairs) sums[label * classes + found]++;
  return sums;
}

/** @param {number[]} sums */
function matrixOf(sums) {
  const classes = Math.sqrt(sums.length);
  return Array.from({ length: classes }, (_, c) => sums.slice(c * classes, (c + 1) * classes));
}

/** @param {number} k @returns {Measure['count']} */
const countTop = (k) => (prediction, labels, of) => {
  const sums = [0, 0];
  visitRows(prediction, labels, of, (label, row) => {
    sums[0] += Number(row.reduce((before, score) => before + Number(score > row[label]), 0) < k);
    sums[1]++;
  });
  return sums;
};

/** For each bin of confidence: its labels, how many are right, the sum of confidence. @type {Measure['count']} */
function countBins(prediction, labels, of) {
  const sums = new Array(3 * BINS).fill(0);
  visitRows(prediction, labels, of, (label, row) => {
    const best = largest(row);
    const scores = of.areScores ? row : scoresOf(row);
    const confidence = 1 / scores.reduce((sum, score) => sum + Math.exp(score - scores[best]), 0);
    const bin = Math.max(0, Math.ceil(confidence * BINS) - 1);
    sums[3 * bin]++;
    sums[3 * bin + 1] += Number(best === label);
    sums[3 * bin + 2] += confidence;
  });
  return sums;
}

/** @param {number[]} sums */
function calibrationError(sums) {
  const bins = Array.from({ length: BINS }, (_, i) => sums.slice(3 * i, 3 * i + 3));
  const labels = bins.reduce((sum, [count]) => sum + count, 0);
  return labels
    ? bins.reduce((sum, [, right, confidence]) => sum + Math.abs(right - confidence), 0) / labels
    : undefined;
}

// ── The area under the ROC curve of each class against the others ──

/**
 * For each class and each bin between two thresholds of its probability: the examples of that class, and all others.
 * @type {Measure['count']}
 */
function countRanks(prediction, labels, of) {
  /** @type {[number, Float64Array][]} */
  const examples = [];
  const classes = visitRows(prediction, labels, of, (label, row) =>
    examples.push([label, probabilitiesOf(of.areScores ? row : scoresOf(row))]),
  );
  const sums = new Array(2 * THRESHOLDS * classes).fill(0);
  for (const [label, probabilities] of examples)
    probabilities.forEach((p, c) => {
      const bin = Math.min(THRESHOLDS - 1, Math.max(1, Math.ceil(p * (THRESHOLDS - 1))));
      sums[2 * (c * THRESHOLDS + bin) + Number(label !== c)]++;
    });
  return sums;
}

/** The mean over classes that some examples have and others have not. @param {number[]} sums */
function areaUnderCurve(sums) {
  const classes = Array.from({ length: sums.length / THRESHOLDS / 2 }, (_, c) =>
    areaOf(sums.slice(2 * c * THRESHOLDS, 2 * (c + 1) * THRESHOLDS)),
  );
  const areas = classes.filter((area) => !Number.isNaN(area));
  return areas.length ? areas.reduce((sum, area) => sum + area) / areas.length : undefined;
}

/** The area by trapezoids; NaN where all or none are of the class. @param {number[]} bins */
function areaOf(bins) {
  let [right, wrong, area] = [0, 0, 0];
  for (let bin = THRESHOLDS - 1; bin >= 0; bin--) {
    const [more, others] = [bins[2 * bin], bins[2 * bin + 1]];
    area += others * (right + more / 2);
    right += more;
    wrong += others;
  }
  return area / (right * wrong);
}

// ── Of numbers ──

/** @param {Prediction} prediction @param {Labels} targets */
function checkTargets({ data, dims }, { data: wanted, dims: targets }) {
  if (data.length !== wanted.length)
    throw new TrainletError('invalid-feed', `metrics: targets [${targets}] do not fit the prediction [${dims}]`);
}

/**
 * The sum of what each number adds, and their count.
 * @param {(found: number, wanted: number) => number} differ
 * @returns {Measure['count']}
 */
const countErrors = (differ) => (prediction, targets) => {
  checkTargets(prediction, targets);
  let sum = 0;
  prediction.data.forEach((found, i) => (sum += differ(Number(found), Number(targets.data[i]))));
  return [sum, prediction.data.length];
};

/** For each column: rows, squared errors, targets, squared targets. @type {Measure['count']} */
function countVariances(prediction, targets) {
  checkTargets(prediction, targets);
  const { data, dims } = prediction;
  const columns = dims.slice(1).reduce((product, d) => product * d, 1);
  const sums = new Array(4 * columns).fill(0);
  for (let i = 0; i < data.length; i++) {
    const [at, found, wanted] = [4 * (i % columns), Number(data[i]), Number(targets.data[i])];
    sums[at]++;
    sums[at + 1] += (found - wanted) ** 2;
    sums[at + 2] += wanted;
    sums[at + 3] += wanted ** 2;
  }
  return sums;
}

/** The mean over columns; of targets that are all equal 1 if they are met, else 0. @param {number[]} sums */
function determination(sums) {
  const columns = Array.from({ length: sums.length / 4 }, (_, c) => {
    const [count, errors, total, squares] = sums.slice(4 * c, 4 * c + 4);
    const spread = squares - total ** 2 / count;
    if (spread > count * Number.EPSILON * squares) return 1 - errors / spread;
    return Number(errors === 0);
  });
  return sums[0] ? columns.reduce((sum, column) => sum + column) / columns.length : undefined;
}

/** @param {number[]} sums */
const meanOf = ([sum, count]) => (count ? sum / count : undefined);

/** @type {Record<string, Omit<Measure, 'name'>>} */
const MEASURES = {
  ...Object.fromEntries(
    Object.keys(RATES).flatMap((rate) => {
      const shared = /** @type {const} */ ({ labels: 'classes', count: countByClass, higherIsBetter: true });
      return [
        [rate, { ...shared, tell: (/** @type {number[]} */ sums) => macro(rate, sums) }],
        [
          `${rate}-per-class`,
          { ...shared, isArray: true, tell: (/** @type {number[]} */ sums) => ratesOf(rate, sums) },
        ],
      ];
    }),
  ),
  'confusion-matrix': {
    labels: 'classes',
    isArray: true,
    count: countConfusions,
    tell: matrixOf,
    higherIsBetter: true,
  },
  'calibration-error': { labels: 'classes', count: countBins, tell: calibrationError, higherIsBetter: false },
  auc: { labels: 'classes', count: countRanks, tell: areaUnderCurve, higherIsBetter: true },
  mae: {
    labels: 'numbers',
    count: countErrors((found, wanted) => Math.abs(found - wanted)),
    tell: meanOf,
    higherIsBetter: false,
  },
  mape: {
    labels: 'numbers',
    count: countErrors((found, wanted) => Math.abs(found - wanted) / Math.max(Math.abs(wanted), Number.EPSILON)),
    tell: meanOf,
    higherIsBetter: false,
  },
  r2: { labels: 'numbers', count: countVariances, tell: determination, higherIsBetter: true },
};

export const measureNames = () => ['top-K-accuracy', ...Object.keys(MEASURES)];

/** The measure of a name, if there is one. @param {string} name @returns {Measure | undefined} */
export function measureNamed(name) {
  const [, k] = /^top-([1-9]\d*)-accuracy$/.exec(name) ?? [];
  if (k) return { name, labels: 'classes', count: countTop(Number(k)), tell: meanOf, higherIsBetter: true };
  return Object.hasOwn(MEASURES, name) ? { name, ...MEASURES[name] } : undefined;
}
