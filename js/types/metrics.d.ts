/** Metrics of `fit` and `evaluate`. */

import type { Tensor } from './tensor.js';

/**
 * Metrics that are one number. `accuracy`: the share of labels (class indices) that are where the prediction is
 * largest;
 * `top-3-accuracy` and the like: where it is among the 3 largest. `precision`, `recall` and `f1` are means over the
 * classes that are a label or predicted, as scikit-learn's with `average='macro'` and `zero_division=0`.
 * `calibration-error`: by how much the softmax of the prediction misses the share of labels that are right, expected
 * over 15 bins. `auc`: the area under the ROC curve of each class against the others, the mean over the classes that
 * some labels have and others have not, by 200 thresholds as in `keras.metrics.AUC`. Labels that are ignored do not
 * count, and weights make no difference. `perplexity`: e to the mean loss, where that is cross-entropy;
 * `bits-per-byte`: its sum in bits over the option `bytes`, which does not depend on the tokenizer (`evaluate` alone).
 * For a `target` of numbers: `mae`, the mean distance; `mape`, the mean distance as a share of the target (0.1 is ten
 * percent); `r2`, the coefficient of determination, the mean over columns: all as scikit-learn's.
 */
export type Metric =
  | 'loss'
  | 'accuracy'
  | 'perplexity'
  | 'bits-per-byte'
  | `top-${number}-accuracy`
  | 'precision'
  | 'recall'
  | 'f1'
  | 'calibration-error'
  | 'auc'
  | 'mae'
  | 'mape'
  | 'r2';

/**
 * Metrics of `evaluate` with a number for each class, 0 where there is none; `confusion-matrix` has a row for each
 * class of labels, which counts by predicted class.
 */
export type ArrayMetric = 'precision-per-class' | 'recall-per-class' | 'f1-per-class' | 'confusion-matrix';

/**
 * A metric of one's own, with Keras' calls: `resetState` at the start, `updateState` with the labels and predictions of
 * each batch, `result` at the end. In `fit` it is taken of the validation data.
 */
export interface CustomMetric {
  /** The name of its result in `metrics`. */
  readonly name: string;
  /** True if a larger result is better; needed where `earlyStopping` or a 'plateau' schedule monitors the metric. */
  readonly higherIsBetter?: boolean;
  /** Takes the labels and predictions of a batch, an example a row. */
  updateState(labels: Tensor, predictions: Tensor): void;
  /** The number for all batches since the last `resetState`. */
  result(): number;
  /** Begins anew. */
  resetState(): void;
}

/** The result of a metric; of a name that is not known when it is compiled, whatever one may give. */
export type MetricValue<M> = string extends M
  ? number | number[] | number[][]
  : M extends 'confusion-matrix'
    ? number[][]
    : M extends ArrayMetric
      ? number[]
      : number;

/** A metric: its name, or one of your own. A name that is a plain `string` is taken and checked at the call. */
export type AnyMetric = Metric | ArrayMetric | CustomMetric | AnyName;

/** Any string, beside which editors go on suggesting the names that there are. */
type AnyName = string & Record<never, never>;

/** The metric itself; for a misspelt name those that there are, so that the compiler's message suggests one. */
export type Spelt<M, Names extends string> = M extends Names | CustomMetric ? M : string extends M ? M : Names;

/** True where the names are not known when it is compiled. */
type IsOpen<M> = string extends M ? true : Metric extends M ? true : false;

/** The name of a metric. */
type NameOf<M> = M extends CustomMetric ? M['name'] : Extract<M, string>;

/** The loss, which every result has. */
interface Loss {
  /** The mean loss. */
  loss: number;
}

/** The result of `evaluate`: the loss, and each metric that was asked for by its name. */
export type Evaluated<M> =
  IsOpen<M> extends true
    ? Loss & { [name: string]: MetricValue<M> }
    : { [K in 'loss' | M as NameOf<K>]: MetricValue<K> };

/** The metrics of validation data (`V`), by their names with `val_`. */
type Validated<M, V> = V extends undefined ? unknown : { readonly [K in `val_${NameOf<M> | 'loss'}`]: number };

/**
 * The metrics of an epoch: the loss, each metric that was asked for where the training gives it, and all of them as
 * `val_…` where there is validation (`V`).
 */
export type EpochMetrics<M = string, V = undefined> =
  IsOpen<M> extends true
    ? Readonly<Loss> & { readonly [name: string]: number }
    : Readonly<Loss> & { readonly [K in Exclude<NameOf<M>, 'loss'>]?: number } & Validated<M, V>;
