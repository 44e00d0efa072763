/** `fit` and `evaluate`: options, events and history. */

import type { AdapterChoice } from './adapters.js';
import type { Augmentation, AugmentOptions, Dataset, ValidationSplit } from './data.js';
import type { TrainletError } from './errors.js';
import type { CacheFeatures, FeatureEvent, KeptFeatures } from './features.js';
import type { AnyMetric, ArrayMetric, EpochMetrics, Metric, Spelt } from './metrics.js';
import type { AbortSignal } from './internal/platform.js';
import type { Schedule } from './schedule.js';
import type { CheckpointStore } from './storage.js';

/** Options of `evaluate`. */
export interface EvaluateOptions<M extends AnyMetric = AnyMetric> {
  /** The batch size of whole arrays; default 32. */
  batchSize?: number;
  /** Besides the loss; default: accuracy where the labels are class indices. */
  metrics?: readonly Spelt<M, Metric | ArrayMetric>[];
  /** For `bits-per-byte`: how many bytes of UTF-8 the text of all labels that count has. */
  bytes?: number;
  /**
   * Evaluates the average that `fit` kept with `ema`, not the parameters as they are; `invalid-argument` if there is
   * none.
   */
  ema?: boolean;
  /**
   * Another adapter than the one in use, null, or a sum, as in `predict`; not with `ema`, which is of the one in use.
   */
  adapter?: AdapterChoice;
  /** Stops it, within a batch too, as the signal of a run does. */
  signal?: AbortSignal;
}

/** Data held out of a training: a data set of its own, or a share of the arrays. */
type Validation = Dataset | number | ValidationSplit;

/** Options of `fit`. */
export interface FitOptions<
  M extends AnyMetric = AnyMetric,
  V extends Validation | undefined = Validation | undefined,
> {
  /** Default 1. */
  epochs?: number;
  /**
   * The batch size of whole arrays; default 32. The last batch of an epoch may be smaller and is trained too, unless it
   * is a single example that leaves BatchNormalization a single value for each channel: a warning says that it is left
   * out.
   */
  batchSize?: number;
  /** Leaves out the last batch of an epoch if it is smaller than `batchSize`; default false. For whole arrays. */
  dropLast?: boolean;
  /** True if whole arrays are shuffled anew for each epoch; default true. */
  shuffle?: boolean;
  /**
   * The seed of the shuffles. Default: made from `setSeed` and the optimizer steps done, so the same program gives the
   * same run.
   */
  seed?: number;
  /**
   * false begins anew; true continues a fit that was cut short, and does not repeat one that was killed behind its last
   * save. Default: continue where the data are the same, by a
   * hash of samples of their bytes; on others of the same length a warning says that it begins anew.
   */
  resume?: boolean;
  /** The number of batches that make an optimizer step; their gradients are added up, as in ONNX Runtime. Default 1. */
  accumulate?: number;
  /** The most optimizer steps that this call takes. */
  maxSteps?: number;
  /** A data set, or the share of the arrays (0 … 1) that is held out: at their end, or as `splitBy` says. */
  validation?: V;
  /**
   * Metrics; of the training batches too if the artifacts have the predictions as `additionalOutputs`. Default:
   * accuracy where the labels are class indices.
   */
  metrics?: readonly Spelt<M, Metric>[];
  /**
   * The weight of each class's labels in training, on top of the data set's `sampleWeight`; validation is not
   * weighted. A number from 0 up for each class, or for some by their name (`classNames`) or index, the others being 1:
   * `{ 2: 5 }`. 'balanced', of whole arrays: n / (classes · labels of the class), as in scikit-learn, so that rare
   * classes count as much as others together. Default: all alike. `invalid-argument` where the artifacts were not made
   * with `sampleWeights`.
   */
  classWeight?: 'balanced' | readonly number[] | Readonly<Record<string, number>>;
  /** The learning rate of each step. Default: the session's stays. */
  schedule?: Schedule;
  /**
   * Keeps an exponential moving average of what trains: a copy after the first step, then decay · average + (1 − decay)
   * · parameter after each, as PyTorch's `swa_utils.get_ema_multi_avg_fn`. `decay` is above 0 and below 1; default
   * 0.999.
   * `evaluate` and `exportModel` take it with `ema: true`; validation and early stopping are of the parameters
   * themselves. It is in Trainlet's checkpoints, a continued fit goes on with it, and it stays as it is after the fit,
   * until another fit with `ema` begins or `setTrainable` drops it.
   */
  ema?: {
    /** Above 0 and below 1. Default 0.999. */
    decay?: number;
  };
  /**
   * Feature cache: if the lower layers are frozen, what they compute of each example (its features) is kept, and later
   * epochs run the layers above alone, for held-out examples (`validation`) as well. true (default): whenever whole
   * arrays are trained for more than one epoch, up to 256 MB; more is computed anew in each epoch. It is left off by
   * itself where an example's features are not the same each time, as with `augment` or below a Dropout that is on, or
   * depend on the other examples of a batch. Losses are the same to the bit, but for the last bits where a batch has
   * fewer than four examples. `history.features` tells of it.
   *
   * With a `store` they outlive the call and the page: an example that was there before, with the same inputs and the
   * same frozen layers, is not computed again, and what is more than `maxBytes` of memory (default 268,435,456) is read
   * from the store in each epoch. Whatever the fit's batches are, eight examples are computed at a time then; some that
   * the store has are computed once more beside those that it has not, and if these are not the same to the bit, as of
   * another version of the engine, all are computed anew. A store that is full, fails or says nothing for 5 s does
   * not end the fit: `history.features.store.error` says why what was computed is not kept.
   */
  cacheFeatures?: boolean | CacheFeatures;
  /**
   * Changes the batches of the training, not those of `validation`, in a worker of its own, while the batch before
   * trains. What becomes of an example depends on the seed of the shuffles, the epoch, its batch and its row, so the
   * same program gives the same run, and a fit that was cut short continues to the bit.
   *
   *     const augment = ['flip', { type: 'shift', x: 0.1, y: 0.1 }, { type: 'rotate', degrees: 10 }];
   *     await session.fit(data, { augment });
   *
   * Errors: `invalid-argument` (an unknown step, an option out of range, no input that it is for, a module that fails).
   */
  augment?: readonly Augmentation[] | AugmentOptions;
  /**
   * `monitor` is a metric of the epoch; default `val_loss` with validation, else `loss`. Accuracies, precision, recall,
   * f1, auc and r2 are better when larger, all others when smaller; a metric of your own says it in `higherIsBetter`.
   * With `restoreBest`, a fit ends with the best epoch's
   * parameters; a fit that is cut short by `maxSteps` or
   * the signal keeps them, in its checkpoints too, for the fit that continues it.
   */
  earlyStopping?: {
    /** The number of epochs without a better one after which training ends. */
    patience: number;
    /** A metric of the epoch. Default: `val_loss` with validation, else `loss`. */
    monitor?: string;
    /** The least by which the metric must get better. Default 0. */
    minDelta?: number;
    /** True if the best epoch's parameters are put back at the end. Default false. */
    restoreBest?: boolean;
  };
  /**
   * Checkpoints are saved at these intervals (`everyEpochs`: 1 by default, Infinity for none by epochs), at the end,
   * when the fit is aborted, and as soon as the page is hidden or left (`visibilitychange`, `pagehide`). A page that is
   * closed may be gone before such a save is done: `everyMs` is what it loses at most. A save that fails (no room, or a
   * store that does not answer within a minute plus a second for each MB) does not end the fit: `onCheckpoint` is told,
   * and it is tried again after 1, 2, 4 … 60 seconds. Once the signal has come, a store has 3 seconds in place of the
   * minute, and nothing is tried again. If the final state could not be saved, fit is rejected with the store's code, a
   * sentence that says what is not saved, `cause` and `history`. Parameters that are not finite are never saved over
   * good ones: fit is rejected with `non-finite-loss`.
   *
   * The `meta` of each save is `{ epoch, step }`, of the one at the end of the fit `{ epoch, step, ended: true }`. If
   * the mean loss of the epoch is above 1,000 times the smallest one of an epoch before, it has `diverged: true`, too:
   * the store then keeps the versions from before (`versions` lists them, `load(name, { version })` gives one).
   */
  checkpoint?: {
    /** The store that keeps the checkpoints. */
    store: CheckpointStore;
    /** The name under which they are saved. */
    name: string;
    /** Optimizer steps between two saves. Default: none by steps. */
    everySteps?: number;
    /** Milliseconds between two saves. Default: none by time. */
    everyMs?: number;
    /** Epochs between two saves; Infinity: none by epochs. Default 1. */
    everyEpochs?: number;
    /** The same option as of `saveCheckpoint`: false saves the adapters alone. */
    base?: boolean;
  };
  /** The budget of the fit: time, and battery. Default: no bounds, and no pauses. */
  budget?: Budget;
  /**
   * The answer to a loss or gradient that is not finite, or a step that would make parameters or running statistics
   * so; it changes none. Default `throw`.
   */
  onNaN?: 'throw' | 'stop' | 'skip';
  /** A listener that gives a promise is waited for; its rejection, here and below, rejects the fit. */
  onBatch?: (event: BatchEvent) => unknown;
  /** Called after each epoch and its validation. */
  onEpoch?(event: EpochEvent<EpochMetrics<M, V>>): unknown;
  /** Called after each save, and after one that failed. */
  onCheckpoint?: (event: CheckpointEvent) => unknown;
  /** While features are computed, before the first epoch. */
  onFeatures?: (event: FeatureEvent) => unknown;
  /** The `budget` has paused the fit, or lets it go on. */
  onPause?: (event: PauseEvent) => unknown;
  /** The fit goes on after a pause. */
  onResume?: (
    event: PauseEvent & {
      /** The milliseconds of the pause. */
      readonly ms: number;
    },
  ) => unknown;
  /**
   * Told, once each, of what looks like a mistake: a loss that is the same for 50 steps, gradients that are all 0, data
   * that are not those of the fit that was cut short. Default `console.warn`.
   */
  onWarning?: (warning: string) => unknown;
  /**
   * Stops between two steps, or within one (as the signal of a run does), which is then as if it had not begun: fit is
   * rejected with the code `aborted` (the error has the `history` so far) and the session stays usable.
   */
  signal?: AbortSignal;
}

/** The budget of a training. */
export interface Budget {
  /**
   * Milliseconds from the call, without pauses; a whole number from 1 up. When they are over, training ends after the
   * step, or the validation, that is under way, as if early stopping had ended it: with `restoreBest` the best epoch's
   * parameters stay. History: `max-ms`.
   */
  maxMs?: number;
  /**
   * true: between two steps it waits while the page is hidden (`document.visibilityState`), and then goes on. Default
   * false: workers go on in tabs in the background. No effect where there is no document, as in Node and in workers.
   */
  pauseWhenHidden?: boolean;
  /**
   * true: between two steps it waits while the device runs on its battery and that has 20 % or less. Default false. No
   * effect where the browser does not tell of it (`navigator.getBattery`): in Firefox, in Safari, in pages without
   * HTTPS, in workers and in Node.
   */
  saveBattery?: boolean;
}

/** Why and when a `fit` pauses. */
export interface PauseEvent {
  /** The same as in a BatchEvent. */
  readonly step: number;
  /** The epoch that is under way, counted from 0. */
  readonly epoch: number;
  /** Why: the page is hidden, or the battery low. */
  readonly reason: 'hidden' | 'battery';
}

/** The state of a `fit` after a batch. */
export interface BatchEvent {
  /** Optimizer steps done since the start of the fit. */
  readonly step: number;
  /** Optimizer steps of the whole fit, where known. */
  readonly steps?: number;
  /** Counted from 0. */
  readonly epoch: number;
  /** The option `epochs`. */
  readonly epochs: number;
  /** Batches done in this epoch. */
  readonly batch: number;
  /** Batches of an epoch, where known. */
  readonly batches?: number;
  /** The loss of this batch. */
  readonly loss: number;
  /** The learning rate of its step. */
  readonly lr: number;
  /** Examples that are trained in a second, lately. */
  readonly samplesPerSecond: number;
  /** Absent where the length of the data is not known. */
  readonly etaMs?: number;
  /** The metrics of this batch, where the training gives them. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** The state of a `fit` after an epoch. */
export interface EpochEvent<E = EpochMetrics> {
  /** Optimizer steps done since the start of the fit. */
  readonly step: number;
  /** The epoch that has ended, counted from 0. */
  readonly epoch: number;
  /** The option `epochs`. */
  readonly epochs: number;
  /** The mean of the epoch, as `evaluate` takes it. */
  readonly loss: number;
  /** The learning rate of its last step. */
  readonly lr: number;
  /** Examples that are trained in a second, lately. */
  readonly samplesPerSecond: number;
  /** Milliseconds until the fit ends, about. Absent where the length of the data is not known. */
  readonly etaMs?: number;
  /** `loss`, `accuracy` where known, and `val_…` of the validation data. */
  readonly metrics: E;
}

/** A checkpoint was saved, or could not be saved where there is an `error`. */
export interface CheckpointEvent {
  /** The same as in a BatchEvent. */
  readonly step: number;
  /** The epoch that is under way, counted from 0. */
  readonly epoch: number;
  /** Why it could not be saved; absent if it was. */
  readonly error?: TrainletError;
  /** The milliseconds, at least, until it is tried again; absent at the end of the fit. */
  readonly retryMs?: number;
}

/** The losses and metrics of a `fit`, an entry for each epoch. */
export interface History<E = EpochMetrics> {
  /** The features that were kept; absent without a feature cache. */
  readonly features?: KeptFeatures;
  /** The epochs that ended in this call. */
  readonly epochs: readonly EpochEvent<E>[];
  /** Optimizer steps done by this call. */
  readonly steps: number;
  /** Batches left out because of numbers that are not finite (`onNaN: 'skip'`). */
  readonly skipped: number;
  /** Milliseconds for which the `budget` paused it; absent without one. */
  readonly pausedMs?: number;
  /** Why the fit ended. */
  readonly stopped: 'completed' | 'max-steps' | 'max-ms' | 'early-stopping' | 'non-finite-loss' | 'aborted' | 'failed';
}
