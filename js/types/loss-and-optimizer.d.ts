/** Losses and optimizers: their names and options. */

/** The names of the losses. */
export type LossType = 'cross-entropy' | 'mse' | 'bce-with-logits' | 'l1' | 'huber' | 'none' | 'outside';

/** A loss with its options. */
export interface LossOptions {
  /**
   * `none`: the model's own output is the loss already. `outside`: the graphs have no loss, their outputs are the
   * model's own and the `additionalOutputs`; gradients come for all of them that are float32 from outside, by
   * `session.forward` and its `backward`. `step`, `fit`, `evaluate` and `runTrainStep` are refused then.
   */
  type: LossType;
  /** The loss of a batch: the mean (default) or the sum of the losses of its labels or elements. */
  reduction?: 'mean' | 'sum';
  /** One weight for each class (cross-entropy). */
  weights?: readonly number[];
  /**
   * Labels of this value do not count (cross-entropy). Default: none is ignored; PyTorch's default is -100. Any other
   * label that is no class is refused with `invalid-feed`.
   */
  ignoreIndex?: number;
  /**
   * The share of a label that all classes have alike (cross-entropy): from 0, the default, to 1. Together with
   * `weights` and
   * `ignoreIndex` it means what PyTorch's `label_smoothing` does.
   */
  labelSmoothing?: number;
  /**
   * true: train and eval graph have an input more, `sample_weight`, float32: for cross-entropy one number for each
   * label, for losses of numbers one for each example. The loss is Σ wᵢ·lᵢ / Σ wᵢ, as PyTorch's weighted mean; what is
   * ignored weighs nothing. `fit` and `evaluate` feed it: 1, or what the data set's `sampleWeight` and `classWeight`
   * say. Default false. Refused with `weights`, `reduction: 'sum'`, `losses`, and the loss `none`.
   */
  sampleWeights?: boolean;
  /**
   * Along which axis of the scores the classes are (cross-entropy): 1, (N, C, …), as in ONNX and PyTorch's losses, or
   * -1, (N, …, C). The labels have the other axes. Default: -1 where a product with a weight gives scores of three or
   * more dims, as the logits (N, tokens, C) of a language model are, otherwise 1.
   */
  axis?: 1 | -1;
  /**
   * Huber: the loss is half the square of a difference up to this size, and delta · (|difference| − delta / 2) beyond
   * it. Above 0; default 1.
   */
  delta?: number;
}

/** One of several losses, whose sum, weighted, is what trains. */
export interface WeightedLoss extends LossOptions {
  /** The loss, as in `LossOptions`, but for `outside`. */
  type: Exclude<LossType, 'outside'>;
  /** The output that it is taken of, or another value of the model. Default: the first output. */
  input?: string;
  /**
   * The name of its label input. Default: `labels` or `target`, as for one loss, with a number where that is taken.
   */
  label?: string;
  /** The factor with which it counts in the sum: a number from 0 up. Default 1. */
  weight?: number;
}

/** The names of the optimizers. */
export type OptimizerType = 'adamw' | 'adam' | 'sgd' | 'adagrad' | 'rmsprop';

/**
 * Numbers are finite and at least 0 unless stated otherwise; defaults are PyTorch's, but for Adagrad's learning rate.
 * An option that the type does not have is refused; the error names those that it has.
 */
export interface OptimizerOptions {
  /** The optimizer. */
  type: OptimizerType;
  /** The learning rate. Default 1e-3; of RMSprop 1e-2. */
  lr?: number;
  /** Each below 1. */
  betas?: readonly [number, number];
  /** Added to the denominator. Default 1e-8; of Adagrad 1e-10. */
  eps?: number;
  /** The weight decay. Default 0.01 for AdamW, where it is decoupled, else 0. */
  weightDecay?: number;
  /** The momentum of SGD and RMSprop; below 1. */
  momentum?: number;
  /** SGD: after the first step, the momentum takes (1 − dampening) of the gradient; may be negative. */
  dampening?: number;
  /** SGD: Nesterov momentum. Default false. */
  nesterov?: boolean;
  /** Adagrad: after t steps the learning rate is lr / (1 + t·lrDecay). */
  lrDecay?: number;
  /** RMSprop (not centered): how much of the mean of squared gradients is kept in each step; below 1. Default 0.99. */
  alpha?: number;
  /** The gradients together are scaled down to this L2 norm. */
  clipGradNorm?: number;
  /**
   * Each element of a gradient is clamped to -clipGradValue … clipGradValue before the update; refused together with
   * `clipGradNorm`. 0, the default: it is not. ONNX Runtime has no operator for it. Between `runOptimizerStep` and
   * `lazyResetGrad`, `getGradient` gives them clamped.
   */
  clipGradValue?: number;
}
