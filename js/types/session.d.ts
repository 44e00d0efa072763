/** Sessions: options of runs, and the InferenceSession. */

import type { AdapterChoice } from './adapters.js';
import type { SessionOptions, Source } from './engine.js';
import type { FineTuneData } from './fine-tune.js';
import type { MemoryPlan, NodeTimes, ValueInfo } from './inspection.js';
import type { AbortSignal, AsyncDisposed } from './internal/platform.js';
import type { CheckpointStore } from './storage.js';
import type { TableColumn } from './table.js';
import type { Feeds, Fetched, Fetches, FetchStructure, OutputValue, Tensor, TensorLike } from './tensor.js';

/**
 * `signal` is ours, the others are ONNX Runtime's. All but `terminate` are accepted only so that code written for it
 * runs, and have no effect.
 */
export interface RunOptions {
  /**
   * Stops the run: it is rejected with the code `aborted`, and the session is left as if the run had never been asked
   * for, except that gradients which were being accumulated are dropped. A call that is still waiting for others is
   * cancelled at once. With `worker: true` and where memory can be shared (in Node, and in a page that is
   * `crossOriginIsolated`), a call that is running ends within about 100 ms. Elsewhere the engine cannot see the
   * signal: a call that finishes within 3 s of it counts as done (its promise resolves). A call that takes longer is
   * rejected with `aborted` and its worker is terminated: what remains is the last checkpoint that was saved, and all
   * other calls of the session are rejected with `worker-died`.
   */
  readonly signal?: AbortSignal;
  /**
   * Works like such a signal, which fires as soon as this is true: at the call, or when it is set to true during the
   * run.
   */
  terminate?: boolean;
  /** ONNX Runtime's; no effect. */
  readonly logSeverityLevel?: number;
  /** ONNX Runtime's; no effect. */
  readonly logVerbosityLevel?: number;
  /** ONNX Runtime's; no effect. */
  readonly tag?: string;
  /** ONNX Runtime's; no effect. */
  readonly extra?: unknown;
}

/**
 * Many examples in batches: an example is a row of each input whose first dim is free, or a fixed number that all
 * share. The inputs are read as they are needed, so leave them alone until the promise settles; other calls of the
 * session come between two batches. The last bits of an output may depend on the batch's size.
 */
export interface BatchOptions {
  /**
   * The most examples that run at once, a whole number from 1; of a model whose batch is fixed, that number, and the
   * last example fills what is left of the last batch. A batch that does not fit into memory is halved, and so are
   * those after it. `invalid-argument` where an output has no example a row. Default: all; of `predict` as many as fit.
   */
  readonly batchSize?: number;
  /** Called after each batch. */
  readonly onProgress?: (progress: RunProgress) => void;
}

/** The number of examples that are `done`, `of` so many. */
export interface RunProgress {
  /** The number of examples that have run. */
  readonly done: number;
  /** The number of all examples. */
  readonly of: number;
}

/** Options of `runTrainStep` and `runEvalStep`. */
export interface StepOptions extends RunOptions {
  /**
   * Inputs of type float32 towards which the gradient of the loss is wanted, for saliency maps or adversarial examples:
   * `['x']` gives it under the name `x_grad` beside the outputs, or where that name stands in a structure. The first
   * time appends the nodes that compute it to the graph; runs without the option stay as they are.
   * Errors: `invalid-feed` (no such input), `invalid-argument` (of another type, or the loss does not depend on it).
   */
  readonly inputGradients?: readonly string[];
}

/** Options of `TrainingSession.create`. */
export interface TrainingSessionOptions extends SessionOptions {
  /**
   * Ranges by name or pattern (`*`, `?`): after each step of the optimizer, values of parameters that train are clamped
   * to theirs: `{ 'w*': [0, 10] }`. Either may be infinite; of several patterns that match, the last counts. Saved in
   * Trainlet's checkpoints; given here they take the place of the checkpoint's, `{}` forgets them. Refused: a least
   * above the most, NaN, a pattern that matches no float32 parameter.
   */
  bounds?: Readonly<Record<string, readonly [least: number, most: number]>>;
  /**
   * Who computes the steps. Experimental: `'webgpu'`, a GPU, for models whose operators docs/guides/webgpu.md lists; it
   * rounds in its own way, so `reproducible` refuses it. Its engine runs in this thread, whatever `worker` says.
   * Default: `'wasm'`.
   * Errors: `unsupported-op` (there is no GPU; a step needs an operator that the GPU lacks).
   */
  backend?: 'wasm' | 'webgpu';
}

/** Options of a training session's `save`. */
export interface SaveSessionOptions {
  /** Default: one of its own, the database `trainlet-sessions` or in Node the folder `sessions`, of two versions. */
  readonly store?: CheckpointStore;
  /**
   * The preparation of inputs, as JSON can hold it. Default: that with which the session was saved or loaded last.
   */
  readonly preprocessing?: Preprocessing;
  /** Stops it while files are read; nothing is saved then. */
  readonly signal?: AbortSignal;
}

/** The preparation of inputs, such as the size of pictures: plain data by names of your own, or a table's columns. */
export interface Preprocessing {
  /** The encoding of a table, as `readTable` gives it and takes it. */
  readonly columns?: readonly TableColumn[];
  readonly [name: string]: unknown;
}

/** Options of `TrainingSession.load`, beside those of `create`. */
export interface LoadSessionOptions extends TrainingSessionOptions {
  /** Default: as of `save`. */
  readonly store?: CheckpointStore;
  /** The version, as `save` resolves with it. Default: the newest that is intact. */
  readonly version?: number;
}

/** Options of `predict`. */
export interface PredictOptions extends RunOptions, BatchOptions {
  /**
   * true: also `labels`, the name of the class with the largest score for each example, a Tensor of strings.
   * `invalid-argument` where there are no `classNames`, or the scores are not among what is fetched. Default false.
   */
  readonly labels?: boolean;
  /**
   * true: also `probabilities`, softmax(scores / temperature) along the last axis, with the temperature that
   * `calibrate` or `fineTune` has found (1 where none has); of one score alone, its sigmoid, and so of each score
   * where the labels are a `target` of numbers, as for bce-with-logits. An output that ends in Softmax or Sigmoid is
   * probabilities already: they are given as they are, and a temperature divides their logarithms, or logits after
   * Sigmoid. `invalid-argument` for other outputs of mse, l1 and huber, whose numbers are no scores. Default false.
   */
  readonly probabilities?: boolean;
  /**
   * For `labels`: '' if the class with the largest score is less probable than this, so that what is of no known
   * class need not be called one of them. From 0 to 1; true: the one that `calibrate` or `fineTune` chose by `unknown`,
   * `invalid-argument` where none did. Default: the class with the largest score, whatever its probability.
   */
  readonly threshold?: number | boolean;
  /**
   * Another adapter than the one in use, by its name, for this call alone; null: the base alone; weights by name,
   * `{ me: 0.7, work: 0.3 }`: a sum, as of `useAdapter`, which is computed anew at each call. Nothing of what trains
   * changes by it. `invalid-argument` where there is none of that name.
   */
  readonly adapter?: AdapterChoice;
}

/** Options of `calibrate`. */
export interface CalibrateOptions {
  /**
   * Also chooses a threshold for `predict`: the largest below which no more than the share `missed` of the examples lie
   * that are read rightly. true: 0.05. Default: none.
   */
  readonly unknown?:
    | boolean
    | {
        /** The share of the rightly read examples that may lie below it, from 0 to 1. Default 0.05. */
        readonly missed?: number;
      };
}

/** Options of `extendOutput`. */
export interface ExtendOptions {
  /** Names of the classes that the output has so far, in their order. Default: the model's own (`classNames`). */
  classes?: readonly string[];
  /**
   * From which the new classes answer before any step, by the means of their features; their labels are names, or
   * indices in all classes, the old ones first. With some examples of old classes as well the new ones are told from
   * those, without them only from what the old weights say. Default, and for a class of which there is none: the score
   * is the mean of the old classes' scores, never the largest.
   */
  examples?: FineTuneData;
}

/** The result of `calibrate`. */
export interface Calibrated {
  /**
   * The temperature, by which scores are divided; 1 also where none between 1/20 and 20 fits best, as where all
   * examples are right.
   */
  readonly temperature: number;
  /** A probability, where `unknown` asked for it. */
  readonly threshold?: number;
  /** The number of examples. */
  readonly examples: number;
  /**
   * The calibration error of these examples with temperature 1, and with the one found: by how much the probabilities
   * of the classes that are taken differ from how often they are right, over 15 bins. From 0 to 1.
   */
  readonly before: number;
  /** The same with the temperature that was found, from 0 to 1. */
  readonly after: number;
}

/** Parameters that are updated differently from others. */
export interface ParameterGroup {
  /** Names or patterns (`*`, `?`). */
  readonly params: string | readonly string[];
  /** The factor of the session's learning rate, that of a schedule too; from 0 up. Default 1. */
  readonly lrScale?: number;
  /** From 0 up. Default: the optimizer's. For `adam` made without `weightDecay`, it is that of AdamW. */
  readonly weightDecay?: number;
  /**
   * α of L2-SP: the parameters are drawn towards their base, where they were when their group was first given an
   * anchor; α · (p − base) joins the gradient of each step, before it is clipped. From 0 up; default 0: none. The base
   * is one more copy of the parameters, in memory and in Trainlet's checkpoints, so that a run goes on to the bit. Not
   * for a new head, which has no base worth staying at.
   */
  readonly anchor?: number;
}

export interface InferenceSession extends AsyncDisposed {}

/** Runs any ONNX model, forward only. */
export class InferenceSession {
  private constructor();
  /** Loads a model into an engine of its own. */
  static create(model: Source, options?: SessionOptions): Promise<InferenceSession>;
  /** The names of the inputs, in the model's order. */
  readonly inputNames: readonly string[];
  /** The names of the outputs, in the model's order. */
  readonly outputNames: readonly string[];
  /** Names, types and dims; a dim is a number, or a name where it is free. */
  readonly inputs: readonly ValueInfo[];
  /** Names, types and dims of the outputs; a dim is a number, or a name where it is free. */
  readonly outputs: readonly ValueInfo[];
  /** The names of its classes, where it is a model with a `head` of ours, or was exported by a session of one. */
  readonly classNames: readonly string[] | null;
  /** Warnings about the model, one sentence each: that its opset is newer than all that we know. */
  readonly warnings: readonly string[];
  /** The plan of the shapes run last. */
  getMemoryPlan(): Promise<MemoryPlan>;
  /**
   * The graph as text, one line for each node with its shapes. After a run, the graph as it last ran: rewritten, for
   * the shapes that were fed, with the place of each output in the arena, `@offset+bytes`, and the numbers of the first
   * and last node that use it. It is meant to be read by people: the format may change.
   */
  getGraphText(): Promise<string>;
  /** Times each node of the runs that follow. */
  startProfiling(): Promise<void>;
  /** The time that each node took; `invalid-argument` if there was no run. */
  endProfiling(): Promise<NodeTimes>;
  /**
   * `run<Tensor<'float32'>>(…)` says what type the outputs have; `run<Tensor[]>(…)` and the like, that they are not
   * tensors of numbers. A tensor without a name is fed to the only input.
   */
  run<V extends OutputValue = Tensor>(
    feeds: Feeds | TensorLike,
    fetches?: Fetches | (RunOptions & BatchOptions),
    options?: RunOptions & BatchOptions,
  ): Promise<Record<string, V>>;
  /** Gives the outputs in the structure of the names. */
  run<const F extends FetchStructure>(
    feeds: Feeds | TensorLike,
    fetches: F,
    options?: RunOptions & BatchOptions,
  ): Promise<Fetched<F>>;
  /**
   * Ends the worker. Runs and steps that are not done are stopped, and other calls have 0.3 s to be answered, or until
   * the signal fires: all that is not answered is rejected with `released`. Await what you need before. It may be
   * called twice.
   */
  release(options?: {
    /** Ends the wait for calls that are not done. */
    signal?: AbortSignal;
  }): Promise<void>;
}

/** A forward run that waits for the gradients of its outputs. */
export interface Forward extends AsyncDisposed {
  /** The outputs of the training model by their names. */
  readonly outputs: Readonly<Record<string, Tensor>>;
  /**
   * Goes on with the gradients of a loss by the outputs, float32 and of their shapes; of those left out they are zero.
   * Adds the parameters' gradients to those there are, as `runTrainStep` does, and gives those towards the `inputs`
   * asked for, by their names. Once for each forward run: a second is refused (`invalid-argument`), and one after
   * parameters were changed in between, by an optimizer step or `setTrainable` for example. A gradient that does not
   * fit (`invalid-feed`) may be given again, and so may all once there is memory again (`out-of-memory`). A `signal`
   * that stops it drops all gradients that were being added up.
   */
  backward(gradients: Readonly<Record<string, TensorLike>>, options?: BackwardOptions): Promise<Record<string, Tensor>>;
  /** Frees its memory where its backward will not come. Once it has run, and twice, is fine. */
  drop(): Promise<void>;
}

/** Options of `backward`. */
export interface BackwardOptions extends RunOptions {
  /** Float32 inputs to give gradients towards; nothing is computed for others. Default: none. */
  readonly inputs?: readonly string[];
}

/** Options of `exportModel`. */
export interface ExportOptions {
  /** Default: the model's own. */
  outputs?: readonly string[];
  /**
   * Also writes the current state of the training as ONNX's training_info: loss, Gradient, optimizer and its state. Any
   * runtime that reads it can go on from there, and so can `generateArtifacts` without a loss. It cannot hold random
   * state and the position in the data. Default false.
   */
  trainingInfo?: boolean;
  /**
   * Default `onnx`. `ort` is ONNX Runtime's own format, for its builds that read no ONNX: constants are initializers
   * there, and the type of every value is told. `unsupported-op` where ONNX Runtime has no kernel for an operator, or a
   * value gets its type only when it is run; refused with `trainingInfo`.
   */
  format?: 'onnx' | 'ort';
  /** The average that `fit` kept with `ema`, not the parameters as they are; `invalid-argument` if there is none. */
  ema?: boolean;
  /**
   * For artifacts made with `lora`. `separate` (the default): adapters are nodes and initializers of their own, and the
   * base stays what it was. `merged`: they go into the weights, and the model is the base's in structure and size;
   * `unsupported-op` where a weight is no float32 constant, as one of 4 bits. `inputs`: their matrices are inputs of
   * the model by their names (`…q_proj.lora_A.weight`), so that one base serves many persons: stock onnxruntime-web
   * feeds them with each run. The last two: `invalid-argument` where there are none, or with `trainingInfo`.
   */
  adapters?: 'separate' | 'merged' | 'inputs';
  /**
   * The signal, as of a run (`RunOptions`): what waits for others is cancelled at once. One that is being written is
   * not cut short where memory is shared either.
   */
  signal?: AbortSignal;
}

/** Options of `saveCheckpoint`. */
export interface CheckpointOptions {
  /** True if the optimizer's moments and step count are saved; default true. */
  optimizerState?: boolean;
  /**
   * false: of a session with `lora` the adapters alone, all of them, with their optimizer state: kilobytes, to be
   * loaded as `adapterState` beside the artifacts. Whatever trains is among it; of the parameters that are not there is
   * a hash.
   * `invalid-argument` without `lora`, and with another format than `trainlet`. Default true.
   */
  base?: boolean;
  /**
   * Default `trainlet`, from which training continues to the bit. `ort` is ONNX Runtime's format: it cannot hold the
   * position of a fit, the state of the random numbers, bounds, groups, averages, the optimizer's state of frozen
   * parameters, separate step counts of parameters and adapters that are not in use, and it holds the learning rate
   * only with the optimizer's state.
   */
  format?: 'trainlet' | 'ort';
  /** The version of `ort`: 2 (default) is read by ONNX Runtime 1.18 and later, 1 by 1.16 and 1.17. */
  version?: 1 | 2;
  /**
   * The signal, as of a run (`RunOptions`): one that waits for others, or for the end of a step of `fit`, is cancelled
   * at once. One that is being written is not cut short where memory is shared either.
   */
  signal?: AbortSignal;
}

/** A value that a checkpoint keeps under a name of its own. */
export type Property = bigint | number | string;

/** Small values that are saved with the checkpoint: a bigint is stored as int64, a number as float32. */
export interface PropertyBag {
  /** The value of that name; undefined if there is none. */
  get(name: string): Property | undefined;
  /**
   * Refuses at once what could not be read back unchanged (`invalid-argument`): a name that is empty or has more
   * than 1,024 bytes of UTF-8, a string of more than 16 MB, a zero character or a lone surrogate in either, a bigint of
   * more than 64 bits, a number that is not finite as a float32.
   */
  set(name: string, value: Property): void;
  /** Removes it. True if there was one. */
  delete(name: string): boolean;
  /** All names with their values. */
  entries(): IterableIterator<[string, Property]>;
}
