/** `fineTune` and `forgetSamples`: options, progress and report. */

import type { Artifacts, HeadOptions } from './artifacts.js';
import type { EngineOptions, Source } from './engine.js';
import type { TrainletError } from './errors.js';
import type { FeatureOrigins, KeptFeatures } from './features.js';
import type { Budget, CheckpointEvent, FitOptions, History, PauseEvent } from './fit.js';
import type { AbortSignal } from './internal/platform.js';
import type { Calibrated, CalibrateOptions } from './session.js';
import type { SampleStore } from './storage.js';
import type { Feeds, TensorLike, TypedArray } from './tensor.js';
import type { TrainingSession } from './training-session.js';

/** Examples of one person. */
export interface FineTuneData {
  /** The model's inputs, an example a row; a tensor without a name is the only input. */
  inputs: Readonly<Record<string, TensorLike>> | TensorLike;
  /**
   * The class of each: its name, or its index in `classes`; also as a data set has them, one tensor of indices:
   * `fineTune(model, await store.dataset(), { classes: await store.classes() })`.
   */
  labels: readonly (string | number | bigint)[] | TypedArray | Feeds | TensorLike;
}

/** Options of `fineTune`. */
export interface FineTuneOptions {
  /**
   * Names of the classes, in the order of the scores. Default: of a new head, the labels in the order in which they
   * first appear; else the model's own (`classNames`), or '0', '1' ….
   */
  classes?: readonly string[];
  /** The place of the new last layer, as in `generateArtifacts`; false: the model's own outputs stay, and learn on. */
  head?: Omit<HeadOptions, 'classes'> | false;
  /**
   * The number of layers below a new head that learn after it, at a tenth of its rate and for a quarter of its epochs;
   * default 0: none. With `head: false`, how many of the model's last layers learn; default: all.
   */
  lastLayers?: number;
  /** The most that there are; default 40, and with `head: false` 20, or 10 beside `replay`. */
  epochs?: number;
  /**
   * The highest learning rate, of AdamW; it rises over the first twentieth of the steps and falls along half a wave.
   * Default 1e-3.
   */
  lr?: number;
  /** Default 16, and 32 with `head: false` beside `replay`. */
  batchSize?: number;
  /** Leaves out the last batch of an epoch if it is smaller than `batchSize`, as of `fit`; default false. */
  dropLast?: boolean;
  /** Default 0.1. */
  labelSmoothing?: number;
  /**
   * With `head: false`: the value that is the scores, as of `generateArtifacts`, where a warning says that the model's
   * output is none. Default: the first output; of one that ends in Softmax, what goes into that.
   */
  lossInputs?: readonly string[];
  /**
   * The share of each class that is held out, to stop by and to judge; of fewer than five examples none is. Default
   * 0.2.
   */
  validation?: number;
  /** Epochs that the loss of what is held out may not fall; default 8. */
  patience?: number;
  /**
   * Samples of what the model knew before. So many of them are learned beside the person's examples that they are
   * `ratio` (default 0.5) of all; with `head: false` an epoch is of about 640, for which each example of the person is
   * repeated up to eight times. Others, up to 500, judge with what is held out. Some hundreds are best: fewer keep less
   * of what was known, and judge less surely.
   */
  replay?: FineTuneData & {
    /** The share of these samples in all that is learned, above 0 and below 1. Default 0.5. */
    ratio?: number;
  };
  /**
   * Augmentation of pictures or signals, as in `fit`; false: not at all. Default: not
   * with a new head, whose features are computed once; pictures are moved by up to 7 % and turned by up to 10° with
   * `head: false`. A page that serves its files by itself needs `worker-augment.js` beside `worker.js`.
   */
  augment?: FitOptions['augment'] | false;
  /**
   * The strength with which all that the base has (not a new head) is drawn to where it was, as the `anchor` of a
   * parameter group; 0: not at all. Default 0.1.
   */
  anchor?: number;
  /**
   * When the new weights are taken: the loss of what is held out may rise by this share of it (default 0), and the
   * accuracy on the replay samples may fall by so much (default 0.01). Else the old ones are put back.
   */
  accept?: {
    /** The share by which the loss of what is held out may rise. Default 0. */
    lossRise?: number;
    /** The most by which the accuracy on the replay samples, from 0 to 1, may fall. Default 0.01. */
    replayDrop?: number;
  };
  /** A threshold for `predict` is chosen on what is held out, as by `calibrate`. Default: none. */
  unknown?: CalibrateOptions['unknown'];
  /** The seed of what is held out, and of the shuffles. Default 0. */
  seed?: number;
  /**
   * The place where it is saved, as in `fit`: while it trains, by default each second, and what was taken in the end,
   * of which
   * `report.checkpoint` tells. The same call (the same model, examples and options that decide what is learned) goes on
   * where one under that name was cut short, by a kill too, and gives what that would have given, to the bit; of one
   * that is finished it gives session and report again, without training. Default: nowhere.
   */
  checkpoint?: FitOptions['checkpoint'];
  /**
   * The budget, as in `fit`. `maxMs` is for all of the call: training ends early enough for the gate to judge, or does
   * not begin, in which case a new head answers by class means; `history.stopped` of the phase says `max-ms`. Pauses
   * are off unless they are asked for: it takes seconds, and who comes back to the tab wants it done.
   */
  budget?: Budget;
  /**
   * The feature cache, as in `fit`: with a `store`, what the layers below a new head give of each example is kept for
   * the next call, in another session of the page as well. The same call with and without it gives the same to the bit.
   * `report.features` tells how many were computed.
   */
  cacheFeatures?: FitOptions['cacheFeatures'];
  /** The options of the engine and its worker. Default: those of a session. */
  engine?: EngineOptions;
  /**
   * Called while the model is loaded and features are computed, after each epoch, and at the end.
   * ```js
   * const onProgress = ({ progress }) => { bar.value = progress; }; // from 0 to 1
   * ```
   */
  onProgress?: (progress: FineTuneProgress) => unknown;
  /** Called after each save, and after one that failed. */
  onCheckpoint?: (event: CheckpointEvent) => unknown;
  /** Called when the `budget` pauses the training. */
  onPause?: (event: PauseEvent) => unknown;
  /** Called when the training goes on. */
  onResume?: (
    event: PauseEvent & {
      /** The milliseconds of the pause. */
      readonly ms: number;
    },
  ) => unknown;
  /**
   * Gets each warning of `generateArtifacts`, of the session and of `fit`, a sentence; `report.warnings` has them all.
   * A promise is waited for. Default: `console.warn`.
   */
  onWarning?: (warning: string) => unknown;
  /** Stops it: the call is rejected with `aborted`, and the same call with a `checkpoint` goes on. */
  signal?: AbortSignal;
}

/** The progress of a `fineTune`. */
export interface FineTuneProgress {
  /** The part of the call that it is in; `done` comes once, at the end. */
  readonly phase: 'model' | 'features' | FineTunePhase['name'] | 'done';
  /** Bytes of the model that have come, examples whose features are computed, or epochs that have ended. */
  readonly done: number;
  /** The most that `done` can become; early stopping may end a phase before. */
  readonly of: number;
  /**
   * The share of the whole call that is done, about, by the time that its parts usually take: it never falls, and is 1
   * once, at the end.
   */
  readonly progress: number;
  /** The metrics of the epoch. */
  readonly metrics?: Readonly<Record<string, number>>;
  /** The origins of features, if there is a store of them. */
  readonly store?: FeatureOrigins;
}

/** The history of one part of a `fineTune`: the head, or the layers below it. */
export interface FineTunePhase {
  /** `head`: the new head alone; `layers`: the layers below it too, or with `head: false` all that learns. */
  readonly name: 'head' | 'layers';
  /** True if what is held out was predicted better after it; otherwise its weights were put back. */
  readonly improved: boolean;
  /** The history of its `fit`. */
  readonly history: History;
  /** The milliseconds that it took. */
  readonly ms: number;
}

/** Scores as `evaluate` gives them: of what is held out, and of the replay samples; absent where there are none. */
export interface FineTuneScores {
  /** Loss and metrics of the held-out examples. */
  readonly heldOut?: Readonly<Record<string, number>>;
  /** Loss and metrics of the replay samples that judge. */
  readonly replay?: Readonly<Record<string, number>>;
}

/** The report of a `fineTune`: examples, losses, and what the gate decided. */
export interface FineTuneReport {
  /** True if new weights were taken; if not, the session has the old ones. */
  readonly accepted: boolean;
  /**
   * The share of what was learned: 1, all; 0, nothing. Between, that share of the way from the old weights to the new,
   * which keeps more of what was known; `reason` says what all of it would have made worse.
   */
  readonly share: number;
  /** Why not all of what was learned was taken, a sentence; absent if it was. */
  readonly reason?: string;
  /** The names of the classes, in the order of the scores. */
  readonly classes: readonly string[];
  /** The numbers of examples. */
  readonly examples: {
    /** The number of examples that were learned. */
    readonly trained: number;
    /** The number of examples that were held out. */
    readonly heldOut: number;
  };
  /** Before the first step; a new head answers by class means then (`initializeHead`). */
  readonly before: FineTuneScores;
  /** The scores of the weights that were taken; if none were, of those that were refused. */
  readonly after: FineTuneScores;
  /** The calibration on what is held out; absent if nothing is. */
  readonly calibration?: Calibrated;
  /** The phases that ran, in their order. */
  readonly phases: readonly FineTunePhase[];
  /** The sentences of `onWarning`. */
  readonly warnings: readonly string[];
  /** Below a new head, for all of the call. */
  readonly features?: KeptFeatures;
  /**
   * With a `checkpoint`: the version that has what was taken, or why that could not be saved, in which case
   * only the session has it.
   */
  readonly checkpoint?:
    | {
        /** The number of the version in the store. */
        readonly version: number;
      }
    | {
        /** Why it could not be saved. */
        readonly error: TrainletError;
      };
  /** The milliseconds that the call took. */
  readonly ms: number;
}

/** The result of `fineTune`. */
export interface FineTuned {
  /** The session with the weights that were taken. The caller releases it. */
  readonly session: TrainingSession;
  /** The scores before and after, and the reason where not all was taken. */
  readonly report: FineTuneReport;
  /** The artifacts that the session was made of, for `TrainingSession.create` with a later checkpoint of it. */
  readonly artifacts: Artifacts;
  /** Puts the weights of before the first step back. */
  rollback(): Promise<void>;
}

/**
 * Adapts a classifier to a person's few examples: a new head that begins at the means of its classes, trained on what
 * the frozen layers below give, then the last layers at a smaller rate if wanted; classes count alike, labels are
 * smoothed, the best epoch by held-out examples is kept, and what has become worse is not taken.
 * ```js
 * const { session, report } = await fineTune(model, { inputs: { x }, labels: ['cat', 'cat', 'dog'] });
 * const { labels } = await session.predict({ x }, { labels: true });
 * ```
 * Errors: `invalid-argument` (options, labels that are no class, inputs of other lengths), `aborted`, and those of
 * `generateArtifacts`.
 */
export function fineTune(model: Source, data: FineTuneData, options?: FineTuneOptions): Promise<FineTuned>;

/** The report of `forgetSamples`. */
export interface ForgetReport extends FineTuneReport {
  /** The samples that were forgotten, and the traces that are left of them. */
  readonly forgotten: {
    /** The ids of those that were in the store. */
    readonly samples: readonly string[];
    /** The number of versions that were removed. */
    readonly checkpoints: number;
    /** The number of replay samples that were one of them and were left out. */
    readonly replay: number;
    /** The number of them whose features were removed, counted for each base; absent without a store of features. */
    readonly features?: number;
    /**
     * The traces that were still found of them when all was done, a sentence each; empty: nothing. A sample that was
     * imported again meanwhile, another that has the same inputs, a version that another call has saved under that
     * name, features of the same inputs.
     */
    readonly left: readonly string[];
  };
}

/** The result of `forgetSamples`. */
export interface Forgotten extends FineTuned {
  /** The report of the new training, and of what was forgotten. */
  readonly report: ForgetReport;
}

/**
 * "Forget this example": deletes the samples from the store, every version of the `checkpoint` that may have learned
 * from them, and leaves them out of `replay`; then the samples that are left are learned anew, from the model as it was
 * before any of them. The weights are to the bit those of a `fineTune` that never saw what is forgotten. Features are
 * removed from the store of `cacheFeatures`; without one they are kept only while a fit runs, in memory.
 * ```js
 * const options = { checkpoint: { store: checkpoints, name: 'signs' } };
 * const { session, report } = await forgetSamples('model.onnx', store, id, options);
 * console.log(report.forgotten.left); // []
 * ```
 * `options` are those of the `fineTune` that is done anew; `classes` default to those that the samples that are left
 * have. The samples are deleted before the training and after the checkpoints: if the page is closed on the way, the
 * same call does the rest; if the training fails, nothing of them is left either. Sessions that have learned from them,
 * and models that were exported, are the caller's to release and delete.
 * Errors: those of `fineTune` and of the stores; `invalid-argument` too where no sample is left to learn from.
 */
export function forgetSamples(
  model: Source,
  store: SampleStore,
  ids: string | readonly string[],
  options?: FineTuneOptions,
): Promise<Forgotten>;
