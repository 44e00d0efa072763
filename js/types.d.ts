/**
 * What a user of trainlet imports: every public name, its type and its meaning. The one contract; the code is checked
 * against it.
 */
/// <reference lib="esnext.disposable" />

/**
 * Where bytes come from, under 4 GB of them. A string is a URL (in Node also a path, of a regular file: no pipe, no
 * device);
 * `indexeddb:NAME` reads the browser's checkpoint store.
 */
export type Source = string | URL | Uint8Array | ArrayBuffer | Blob | Response;

export type NumberType =
  | 'float32'
  | 'float64'
  | 'float16'
  | 'bfloat16'
  | 'int8'
  | 'uint8'
  | 'int16'
  | 'uint16'
  | 'int32'
  | 'uint32'
  | 'int64'
  | 'uint64'
  | 'bool';
export type DataType = NumberType | 'string';

export type TypedArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

/** The class that holds the data of each type, as in onnxruntime-common; float16 and bfloat16 are bits. */
export interface DataTypeMap {
  float32: Float32Array;
  float64: Float64Array;
  float16: Uint16Array;
  bfloat16: Uint16Array;
  int8: Int8Array;
  uint8: Uint8Array;
  int16: Int16Array;
  uint16: Uint16Array;
  int32: Int32Array;
  uint32: Uint32Array;
  int64: BigInt64Array;
  uint64: BigUint64Array;
  bool: Uint8Array;
  string: string[];
}

/** The class of a tensor's data: of `'float32'` as of `Float32Array` itself. */
export type DataOf<T> = T extends DataType ? DataTypeMap[T] : T;
/** The type of a tensor's elements, or those that a tensor with such data may have. */
export type TypeOf<T> = T extends DataType
  ? T
  : { [K in DataType]: T extends DataTypeMap[K] ? K : DataTypeMap[K] extends T ? K : never }[DataType];

/**
 * Typed data with a shape; the fields and data classes of onnxruntime-common's Tensor: int64 is a BigInt64Array, bool a
 * Uint8Array, float16 and bfloat16 a Uint16Array of bits. A typed array is kept, not copied; an array of numbers is
 * converted, and refused where a value does not fit the type. Strings are an array, without zero characters or halves
 * of surrogate pairs in them; only an `InferenceSession` takes them. `dims` defaults to `[data.length]`.
 *
 * `Tensor<'float32'>` and `Tensor<Float32Array>` are the same; `Tensor` alone is one of numbers, of any type.
 */
export type Tensor<T extends DataType | TypedArray | string[] = NumberType> = TypedTensor<TypeOf<T>, DataOf<T>>;
export const Tensor: TensorConstructor;

export interface TypedTensor<Type extends DataType, Data> extends TensorLike {
  readonly type: Type;
  readonly data: Data;
  readonly dims: readonly number[];
  /** The number of elements. */
  readonly size: number;
}

type Values = readonly number[] | readonly bigint[] | readonly boolean[] | readonly string[];
export interface TensorConstructor {
  new <T extends DataType>(type: T, data: DataTypeMap[T] | Values, dims?: readonly number[]): Tensor<T>;
  new <D extends TypedArray | string[]>(
    type: TypeOf<NoInfer<D>>,
    data: D | Values,
    dims?: readonly number[],
  ): Tensor<D>;
  /** As in ONNX Runtime: the class of the data tells the type (a Uint8Array is uint8, a Uint16Array uint16). */
  new <D extends TypedArray>(data: D, dims?: readonly number[]): TypedTensor<ClassType<D>, D>;
  new (data: readonly boolean[], dims?: readonly number[]): Tensor<'bool'>;
  new (data: readonly string[], dims?: readonly number[]): Tensor<'string'>;
  readonly prototype: Tensor;
}
type ClassType<D> = Exclude<TypeOf<D>, 'bool' | 'float16' | 'bfloat16'>;

/** What is accepted wherever a Tensor is, onnxruntime's own Tensor included. */
export interface TensorLike {
  readonly type: string;
  readonly data: unknown;
  readonly dims: readonly number[];
}

/**
 * Tensors bound by name; the order of the keys means nothing, and an absent optional input is null. The arrays are
 * copied, never
 * taken. Nested objects and arrays are read as flat names: `{ past: [{ key }] }` feeds the input `past.0.key`. At the
 * name of an input that is
 * a sequence stands the array of its tensors, `[]` for none.
 */
export type Feeds = Readonly<Record<string, Feed>>;
export type Feed = TensorLike | null | readonly Feed[] | { readonly [key: string]: Feed };
/**
 * The outputs wanted; the others are not computed. By name: a tensor of the output's type and dims is filled and given
 * back.
 */
export type Fetches = readonly string[] | Readonly<Record<string, TensorLike | null>>;
/**
 * Output names in a structure of one's own; the tensors come back in the same: `{ present: [{ key: 'present.0.key' }]
 * }`.
 */
export type FetchStructure = readonly FetchName[] | { readonly [key: string]: FetchName };
export type FetchName = string | FetchStructure;
export type Fetched<F> = F extends string ? Tensor : { -readonly [K in keyof F]: Fetched<F[K]> };
/** What an output may be: a tensor, a sequence of them, or an optional without an element. */
export type OutputValue = Tensor | Tensor<'string'> | Tensor[] | Tensor<'string'>[] | null;
/**
 * Of ONNX Runtime's options, all but `terminate` are accepted, so that code written for it runs, and without a meaning
 * here.
 */
export interface RunOptions {
  /**
   * Stops the run: it is rejected with the code `aborted`, and the session is as if it had not been asked, except that
   * gradients which were being
   * added up are dropped. A call that waits for others is taken back at once; the one that runs ends within about 100
   * ms where memory can be
   * shared (in Node, and in a page that is `crossOriginIsolated`), with `worker: true`. Elsewhere the engine cannot
   * hear: what is done
   * within 3 s of the signal counts as done (the promise resolves). A call that is not over by then is rejected with
   * `aborted` and its worker ended:
   * what is left is the last checkpoint that was saved, and all other calls of the session are rejected with
   * `worker-died`.
   */
  readonly signal?: AbortSignal;
  /**
   * As if there were such a signal, which comes as soon as this is true: at the call, or set to true while the run goes
   * on.
   */
  terminate?: boolean;
  readonly logSeverityLevel?: number;
  readonly logVerbosityLevel?: number;
  readonly tag?: string;
  readonly extra?: unknown;
}

export interface LoadProgress {
  /** The argument that is loading: `model`, `trainModel`, `checkpointState`, … */
  readonly source: string;
  readonly loadedBytes: number;
  /** Unknown where the server does not say. */
  readonly totalBytes?: number;
}

export interface EngineOptions {
  /**
   * Default true: a worker of its own for each session (a Web Worker; `worker_threads` in Node). false: the calling
   * thread. A worker that dies
   * rejects every call with `worker-died`. Where a browser does not tell of that, as when it was ended from outside,
   * Web Locks do: in secure
   * contexts, once the engine is there; a `signal` is heard everywhere.
   */
  worker?: boolean;
  /**
   * How many threads compute, at most 16. Default 'auto': the cores, at most 8. More than one need memory that can be
   * shared: in Node always, in
   * a page where it is `crossOriginIsolated`; elsewhere one computes. Every count gives the same bits.
   */
  threads?: number | 'auto';
  /**
   * true: the same bits on every machine and browser. Default false: where the browser has relaxed SIMD, products are
   * added with one rounding
   * instead of two if the processor is faster so, and another processor may give other last bits.
   */
  reproducible?: boolean;
  /**
   * The most bytes that the engine takes for this session, or to make these artifacts: models and files as they are
   * read, state, feeds, plans,
   * what a step works in, checkpoints being written. Default: as many as there are. Where a step would pass it, cheap
   * values are computed twice
   * instead of kept and what was kept for speed is dropped; if that does not do, the call fails with `out-of-memory`,
   * which says how many bytes
   * were wanted, and the session goes on. `getMemoryPlan().takenBytes` tells how many are taken.
   */
  maxMemoryBytes?: number;
  /**
   * Multiply-adds that one run or step may take, as its shapes say before anything of it is computed; more is refused
   * with the code `too-much-work`
   * and the name of the most expensive node. Default 1e13, a dozen steps of a language model of 135 million parameters
   * on 2,048 tokens; with one
   * thread that is about half an hour. `Infinity`: no limit.
   */
  maxWork?: number;
  /**
   * For finding faults: the rewrites of the graph, by name, that may make a session's steps faster; the others are left
   * out. Default: all.
   * `generateArtifacts` knows two of them, which find LayerNormalization and Gelu in their pieces: `layer_norm` and
   * `gelu`.
   * A loss that changes by more than rounding with `'none'` is a bug of ours, please tell us.
   */
  passes?: readonly string[] | 'none';
  /**
   * The engine's file, instead of the one of four beside this package that suits `threads`, `reproducible` and the
   * browser.
   */
  wasmUrl?: string | URL;
  workerUrl?: string | URL;
  wasmBinary?: Uint8Array;
  /**
   * `sha256-…` (or sha384, sha512), in base64, for each argument that is to be checked before parsing: `{ trainModel:
   * 'sha256-…' }`.
   */
  integrity?: Readonly<Record<string, string>>;
  /**
   * The files in which models keep data (ONNX's external_data), by their location there: `{ 'model.onnx.data': bytes
   * }`. The only place where
   * they are looked for; a path is just a name, but a `./` before it means nothing. An ONNX Runtime checkpoint's second
   * file (of 1.8 GB and
   * more) is `checkpoint.data`. The bytes are copied, never taken.
   */
  externalData?: Readonly<Record<string, Uint8Array>>;
  /**
   * Stops the loading; the promise is then rejected with the code `aborted`. With `worker: false` it is not heard while
   * the engine computes.
   */
  signal?: AbortSignal;
  onProgress?: (progress: LoadProgress) => void;
}

/**
 * An engine's options, and those of ONNX Runtime that say how it is to compute: accepted, and without a meaning here.
 */
export interface SessionOptions extends EngineOptions {
  executionProviders?: readonly unknown[];
  intraOpNumThreads?: number;
  interOpNumThreads?: number;
  executionMode?: 'sequential' | 'parallel';
  graphOptimizationLevel?: 'disabled' | 'basic' | 'extended' | 'all';
  freeDimensionOverrides?: Readonly<Record<string, number>>;
  enableCpuMemArena?: boolean;
  enableMemPattern?: boolean;
  enableProfiling?: boolean;
  profileFilePrefix?: string;
  logId?: string;
  logSeverityLevel?: number;
  logVerbosityLevel?: number;
  extra?: unknown;
}

/** Any ONNX model, forward only. */
export class InferenceSession {
  private constructor();
  static create(model: Source, options?: SessionOptions): Promise<InferenceSession>;
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  /** Names, types and dims; a dim is a number or the name of a free one. */
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
  /** Of the shapes run last. */
  getMemoryPlan(): Promise<MemoryPlan>;
  /**
   * The graph as text, a node a line with its shapes. After a run as it ran last: rewritten, for the shapes fed, and
   * with
   * the place of each output in the arena, `@offset+bytes`, and the numbers of the first and last node that use it. For
   * people: the form may change.
   */
  getGraphText(): Promise<string>;
  /** Times each node of the runs that follow. */
  startProfiling(): Promise<void>;
  /** What the nodes took; `invalid-argument` where there was no run. */
  endProfiling(): Promise<NodeTimes>;
  /**
   * `run<Tensor<'float32'>>(…)` says what type the outputs are of; `run<Tensor[]>(…)` and the like, that they are of
   * another kind than tensors of numbers.
   */
  run<V extends OutputValue = Tensor>(
    feeds: Feeds,
    fetches?: Fetches | RunOptions,
    options?: RunOptions,
  ): Promise<Record<string, V>>;
  run<const F extends FetchStructure>(feeds: Feeds, fetches: F, options?: RunOptions): Promise<Fetched<F>>;
  /**
   * Ends the worker. Calls that are under way have 3 s to be answered, and are rejected with `released` after that, or
   * as soon as the signal comes.
   * Twice is fine.
   */
  release(options?: { signal?: AbortSignal }): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ValueInfo {
  readonly name: string;
  readonly type: string;
  readonly dims: readonly (number | string)[];
  /** It is a sequence of such tensors; `[]` for `dims` may say that they are of any shape, here and of an optional. */
  readonly sequence?: true;
  /** It need not be fed. */
  readonly optional?: true;
}

export interface ParameterInfo {
  readonly name: string;
  readonly type: DataType;
  readonly dims: readonly number[];
  readonly trainable: boolean;
}

/** What each node takes, in the order of running. */
export interface NodeTimes {
  /** How many were timed: those on the shapes fed last. */
  readonly runs: number;
  /** Multiply-adds a ms that this machine's threads do together in registers alone: no operator passes it. */
  readonly peak: number;
  /** `ms` of a run, on average; `work` is its multiply-adds, 0 for what moves elements or computes each by itself. */
  readonly nodes: readonly { readonly name: string; readonly op: string; readonly ms: number; readonly work: number }[];
}

export interface MemoryPlan {
  /** Parameters, gradients and optimizer state. */
  readonly stateBytes: number;
  /** What a step works in. */
  readonly arenaBytes: number;
  readonly peakBytes: number;
  /** The most that is alive at one time: no plan can be smaller. */
  readonly lowerBoundBytes: number;
  /** All that the session has taken by now, models and plans themselves too: what `maxMemoryBytes` bounds. */
  readonly takenBytes: number;
  /**
   * Frozen weights in the form that convolutions read, a second copy of them where that pays and `maxMemoryBytes` has
   * room.
   */
  readonly packedBytes: number;
}

/**
 * The four artifacts of ONNX Runtime, as bytes. The label input is named as there: `labels` for cross-entropy (class
 * indices, int64), `target` for the losses of numbers (mse, bce-with-logits …).
 */
export interface Artifacts {
  readonly trainModel: Uint8Array<ArrayBuffer>;
  readonly evalModel: Uint8Array<ArrayBuffer>;
  readonly optimizerModel: Uint8Array<ArrayBuffer>;
  readonly checkpointState: Uint8Array<ArrayBuffer>;
  /** What is worth knowing about them, a sentence each. */
  readonly warnings: readonly string[];
}

export type LossType = 'cross-entropy' | 'mse' | 'bce-with-logits' | 'l1' | 'huber' | 'none';
export interface LossOptions {
  /** `none`: the model's own output is the loss already. */
  type: LossType;
  reduction?: 'mean' | 'sum';
  /** One weight a class (cross-entropy). */
  weights?: readonly number[];
  /** Labels of this value do not count (cross-entropy). */
  ignoreIndex?: number;
  /**
   * Huber: half a difference's square counts up to this, beyond it delta · (|difference| − delta / 2). Above 0; default
   * 1.
   */
  delta?: number;
}

export type OptimizerType = 'adamw' | 'adam' | 'sgd' | 'adagrad' | 'rmsprop';
/** Numbers are finite and at least 0 where nothing else is said; defaults are PyTorch's. An option that the type does not
 * have is refused, with those that it has. */
export interface OptimizerOptions {
  type: OptimizerType;
  lr?: number;
  /** Each below 1. */
  betas?: readonly [number, number];
  eps?: number;
  weightDecay?: number;
  /** Of SGD and RMSprop; below 1. */
  momentum?: number;
  /** Of the gradient in SGD's momentum, after the first step; may be negative. */
  dampening?: number;
  nesterov?: boolean;
  /** Adagrad: after t steps the learning rate is lr / (1 + t·lrDecay). */
  lrDecay?: number;
  /** RMSprop (not centered): how much of the mean of squared gradients stays in a step; below 1. Default 0.99. */
  alpha?: number;
  /** The gradients together are scaled down to this L2 norm. */
  clipGradNorm?: number;
}

export interface ArtifactOptions extends EngineOptions {
  /**
   * Default `training-info`: the model brings its training in ONNX's own training_info. Its algorithm says the loss
   * (the y of its Gradient),
   * what trains (the xs that it updates), and, unless `optimizer` is given, the optimizer (Adam, Momentum, Adagrad, or
   * Sub(x, Mul(lr, g)))
   * with its learning rate, count and state. Any other loss leaves a training_info unread.
   */
  loss?: LossType | LossOptions | 'training-info';
  /** Default `adamw`, or the training_info's. */
  optimizer?: OptimizerType | OptimizerOptions;
  /** Globs over parameter names; default: every float parameter, or those that the training_info trains. */
  requiresGrad?: readonly string[];
  /** Globs over parameter names; they win over `requiresGrad`. */
  frozen?: readonly string[];
  /** The outputs that the loss is taken of; default: the first. */
  lossInputs?: readonly string[];
  /**
   * Outputs of the model that the train and eval graphs give beside the loss: with the predictions among them, `fit`
   * tells the training accuracy.
   */
  additionalOutputs?: readonly string[];
  /**
   * A checkpoint of names alone; `loadParametersBuffer(bytes, false)` must bring the values before anything runs.
   * Default false.
   */
  nominal?: boolean;
  /**
   * Of a training_info: parameters and state begin with what its initialization computes, not with what the file keeps.
   * Default true.
   */
  initialize?: boolean;
}
/** Makes the artifacts of training from an inference model, in a worker that lives only for this. */
export function generateArtifacts(model: Source, options?: ArtifactOptions): Promise<Artifacts>;

export interface ArtifactSources {
  /** From `generateArtifacts`, or what `saveCheckpoint` gave. */
  checkpointState: Source;
  trainModel: Source;
  evalModel?: Source;
  optimizerModel?: Source;
}

export class TrainingSession {
  private constructor();
  static create(artifacts: ArtifactSources, options?: SessionOptions): Promise<TrainingSession>;

  // — as in onnxruntime-web/training —
  /** `runTrainStep<Tensor<'float32'>>(…)` and the like say what type the outputs are of. */
  runTrainStep<V extends Tensor = Tensor>(
    feeds: Feeds,
    fetches?: Fetches | RunOptions,
    options?: RunOptions,
  ): Promise<Record<string, V>>;
  runTrainStep<const F extends FetchStructure>(feeds: Feeds, fetches: F, options?: RunOptions): Promise<Fetched<F>>;
  runEvalStep<V extends Tensor = Tensor>(
    feeds: Feeds,
    fetches?: Fetches | RunOptions,
    options?: RunOptions,
  ): Promise<Record<string, V>>;
  runEvalStep<const F extends FetchStructure>(feeds: Feeds, fetches: F, options?: RunOptions): Promise<Fetched<F>>;
  /** An optimizer's step is not stopped once it has begun. */
  runOptimizerStep(options?: RunOptions): Promise<void>;
  lazyResetGrad(): Promise<void>;
  /**
   * The number of elements: of the parameters that train (true, the default here and below), of all (false), or of
   * those that train and the running statistics (`'with-statistics'`).
   */
  getParametersSize(trainableOnly?: boolean | 'with-statistics'): Promise<number>;
  /**
   * One float32 tensor of them all, in the order of the training graph's inputs. Running means and variances of
   * normalizations do not train: who averages models, or sends one on, wants `'with-statistics'`, which is all that
   * training changes.
   */
  getContiguousParameters(trainableOnly?: boolean | 'with-statistics'): Promise<Tensor<'float32'>>;
  /** The bytes of such a tensor: four times as many as there are elements. */
  loadParametersBuffer(bytes: Uint8Array, trainableOnly?: boolean | 'with-statistics'): Promise<void>;
  readonly trainingInputNames: readonly string[];
  readonly trainingOutputNames: readonly string[];
  readonly evalInputNames: readonly string[];
  readonly evalOutputNames: readonly string[];
  /**
   * Ends the worker. Calls that are under way have 3 s to be answered, and are rejected with `released` after that, or
   * as soon as the signal comes.
   * Twice is fine.
   */
  release(options?: { signal?: AbortSignal }): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;

  // — beyond it —
  /**
   * Train, optimize and reset in one message to the worker. A loss that is not finite changes no parameter and is an
   * error.
   */
  step(feeds: Feeds, options?: RunOptions): Promise<{ loss: number }>;
  /**
   * Trains. The place in the data is kept in the session and in its checkpoints, so a fit that was cut short (by a
   * kill, an
   * error, the signal or `maxSteps`) is continued to the bit by the next `fit` over whole arrays with the same number
   * of examples and
   * the same batch size, in this session or in one made from a checkpoint of it: `epochs` then counts those already
   * done, and
   * the batches left are taken in the same shuffled order. Schedule, the means of an epoch and early stopping go on
   * where they were, with the
   * parameters that `restoreBest` has found best: with the same options all is as if the fit had not been cut. Where
   * options differ, those of this
   * call hold from here on; the best so far counts as long as `monitor` is the same and, with `restoreBest`, its
   * parameters were kept.
   * `resume: false` starts anew. A fit that came to its end leaves no place. A `history` has the epochs that ended in
   * its own call.
   */
  fit(data: Dataset, options?: FitOptions): Promise<History>;
  /** Mean loss over the examples, and the metrics. */
  evaluate(data: Dataset, options?: EvaluateOptions): Promise<Record<string, number>>;
  /** Forward without labels; the model's own outputs unless `fetches` says which. */
  predict<V extends Tensor = Tensor>(
    feeds: Feeds,
    fetches?: Fetches | RunOptions,
    options?: RunOptions,
  ): Promise<Record<string, V>>;
  predict<const F extends FetchStructure>(feeds: Feeds, fetches: F, options?: RunOptions): Promise<Fetched<F>>;
  /** Names, types and dims of what a step is fed. */
  readonly trainingInputs: readonly ValueInfo[];
  /** What there is, and what of it trains now. */
  readonly parameters: readonly ParameterInfo[];
  /**
   * From here on exactly the parameters train whose names match one of the patterns (`*` any characters, `?` one), the
   * others are frozen; no new artifacts are needed. What only the frozen ones' gradients needed is not computed.
   * Running statistics never train, nor does what a pattern with `*` or `?` matches and the loss does not depend on or
   * is not finite; by its own name that is refused. A BatchNormalization of which neither scale nor bias trains uses
   * its running statistics and leaves them as they are, as in Keras. The optimizer's state stays with the parameter:
   * once it trains again it goes on with its moments and its own count of steps, as in PyTorch. Gradients that were
   * added up are dropped, and the best parameters of a fit that was cut short. `saveCheckpoint` keeps what trains, and
   * in Trainlet's format the state of what is frozen.
   * Errors: `invalid-argument` (a pattern that matches nothing that could train, nothing left to train, a fit that is
   * running), `unsupported-op` (an operator on the way without a gradient); what trains is then as before.
   */
  setTrainable(patterns: readonly string[]): Promise<void>;
  /** Of the shapes run last. */
  getMemoryPlan(): Promise<MemoryPlan>;
  /** As of an InferenceSession; 'eval' is also what `predict` runs. Default: 'train'. */
  getGraphText(graph?: 'train' | 'eval'): Promise<string>;
  startProfiling(): Promise<void>;
  endProfiling(graph?: 'train' | 'eval'): Promise<NodeTimes>;
  getParameter(name: string): Promise<Tensor>;
  setParameter(name: string, value: TensorLike): Promise<void>;
  /**
   * The gradient of a parameter as `runTrainStep` has added it up since the last `lazyResetGrad`: zeros after that, and
   * after `step`, which ends with it. Before clipping. `invalid-argument` for a parameter that does not train.
   */
  getGradient(name: string): Promise<Tensor<'float32'>>;
  setLearningRate(lr: number): Promise<void>;
  getLearningRate(): Promise<number>;
  /** Of dropout and other random operators, and of the shuffles of later fits. */
  setSeed(seed: number | bigint): Promise<void>;
  readonly properties: PropertyBag;
  /**
   * Bytes that `create` reads again; damage to them is told then, by a checksum (`checkpoint-corrupt`). Parameters,
   * running statistics or moments
   * that training has made infinite or NaN are not saved: `non-finite-loss`. What was not finite when it was loaded, a
   * mask for one, is.
   */
  saveCheckpoint(options?: CheckpointOptions): Promise<Uint8Array<ArrayBuffer>>;
  /** A plain inference model with the parameters as they are now; `non-finite-loss` as with `saveCheckpoint`. */
  exportModel(options?: ExportOptions): Promise<Uint8Array<ArrayBuffer>>;
}

export interface ExportOptions {
  /** Default: the model's own. */
  outputs?: readonly string[];
  /**
   * Also the training as it stands, as ONNX's training_info: loss, Gradient, optimizer and its state, so that any
   * runtime that reads it, and
   * `generateArtifacts` without a loss, can go on. Random state and the position in the data have no place in it.
   * Default false.
   */
  trainingInfo?: boolean;
}

export interface CheckpointOptions {
  /** Moments and steps of the optimizer; default true. */
  optimizerState?: boolean;
  /**
   * Default `trainlet`, which continues to the bit. `ort` is ONNX Runtime's: it has no place for where a fit stands and
   * the state of the random numbers, for the optimizer's state of frozen parameters and steps that are a parameter's
   * own, and for the learning rate only with the optimizer's state.
   */
  format?: 'trainlet' | 'ort';
  /** Of `ort`: 2 (default) is read by ONNX Runtime from 1.18 on, 1 by 1.16 and 1.17. */
  version?: 1 | 2;
}

export type Property = bigint | number | string;
/** Small values that are saved with the checkpoint: int64 is a bigint, a number is stored as float32. */
export interface PropertyBag {
  get(name: string): Property | undefined;
  /**
   * What would not come back as it is, is refused at once (`invalid-argument`): an empty name, one of more than 1,024
   * bytes of UTF-8, a string of more
   * than 16 MB, a zero character or half of a surrogate pair in either, a bigint of more than 64 bits, a number that no
   * finite float32 is near.
   */
  set(name: string, value: Property): void;
  delete(name: string): boolean;
  entries(): IterableIterator<[string, Property]>;
}

/**
 * Whole arrays (all with the same first dim; `labels` are merged with `inputs` into the feeds by name), or batches as
 * they
 * come; a batch in flight and the next are all that is held.
 */
export type Dataset =
  | { inputs: Feeds; labels?: Feeds }
  | AsyncIterable<Feeds>
  | Iterable<Feeds>
  | (() => AsyncIterable<Feeds> | Iterable<Feeds>);

/** `accuracy`: the share of labels (class indices) that are where the prediction is largest. */
export type Metric = 'loss' | 'accuracy';

/**
 * The learning rate of each optimizer step, counted from the start of the fit (a continued fit counts on). `warmup`
 * steps
 * rise linearly to `lr` first. linear falls to `end` (default 0), cosine to `end` along half a wave, both at `steps`
 * (default: all
 * steps of `epochs`, whatever `maxSteps` cuts off; of batches as they come, whose number is not known, `maxSteps`);
 * step multiplies by `factor`
 * every `every` steps.
 */
export type Schedule =
  | ((step: number) => number)
  | { type: 'constant'; lr: number; warmup?: number }
  | { type: 'linear' | 'cosine'; lr: number; warmup?: number; steps?: number; end?: number }
  | { type: 'step'; lr: number; every: number; factor: number; warmup?: number };

export interface EvaluateOptions {
  /** Of whole arrays; default 32. */
  batchSize?: number;
  /** Beside the loss; default: accuracy where the labels are class indices. */
  metrics?: readonly Metric[];
  /** Stops it, within a batch too: as a run's. */
  signal?: AbortSignal;
}

export interface FitOptions {
  /** Default 1. */
  epochs?: number;
  /** Of whole arrays; default 32. The last batch of an epoch may be smaller and is trained too. */
  batchSize?: number;
  /** Whole arrays are shuffled anew for each epoch; default true. */
  shuffle?: boolean;
  /** Of the shuffles. Default: from `setSeed` and the optimizer steps done, so the same program gives the same run. */
  seed?: number;
  /** Continue a fit that was cut short; default true. */
  resume?: boolean;
  /** Batches to an optimizer step; their gradients are added up, as in ONNX Runtime. Default 1. */
  accumulate?: number;
  /** The most optimizer steps that this call takes. */
  maxSteps?: number;
  /** A data set, or the share at the end of the arrays (0 … 1) that is held out. */
  validation?: Dataset | number;
  metrics?: readonly Metric[];
  schedule?: Schedule;
  /**
   * `monitor` is a metric of the epoch; default `val_loss` with validation, else `loss`. accuracies are better when
   * larger. With `restoreBest` a fit
   * ends with the best epoch's parameters; one that `maxSteps` or the signal cuts short keeps them, in its checkpoints
   * too, for the fit that goes on.
   */
  earlyStopping?: { patience: number; monitor?: string; minDelta?: number; restoreBest?: boolean };
  /**
   * Saved at the intervals given, after each epoch, at the end, and when it is aborted. A save that fails (no room, a
   * store that does not answer within a
   * minute and a second for each MB) ends nothing: `onCheckpoint` tells, and it is tried again after 1, 2, 4 … 60
   * seconds. Where the last state of all
   * could not be saved, fit is rejected with the store's code and what is not saved, `cause` and `history`. Parameters
   * that are not finite are never
   * saved over good ones: fit is rejected with `non-finite-loss`.
   */
  checkpoint?: { store: CheckpointStore; name: string; everySteps?: number; everyMs?: number };
  /** What a loss or gradient does that is not finite; no parameter is changed by it. Default `throw`. */
  onNaN?: 'throw' | 'stop' | 'skip';
  onBatch?: (event: BatchEvent) => void;
  onEpoch?: (event: EpochEvent) => void;
  onCheckpoint?: (event: CheckpointEvent) => void;
  /** Stops between two steps, or within one (as a run's), which then is as if it had not begun: fit is rejected with the code `aborted` (the error has
   * the `history` so far) and the session stays usable. */
  signal?: AbortSignal;
}

export interface BatchEvent {
  /** Optimizer steps done since the start of the fit. */
  readonly step: number;
  /** Those of the whole fit, where known. */
  readonly steps?: number;
  /** Counted from 0. */
  readonly epoch: number;
  readonly epochs: number;
  /** Batches done in this epoch. */
  readonly batch: number;
  readonly batches?: number;
  readonly loss: number;
  readonly lr: number;
  readonly samplesPerSecond: number;
  /** Unknown where the length of the data is. */
  readonly etaMs?: number;
  readonly metrics: Readonly<Record<string, number>>;
}

export interface EpochEvent {
  readonly step: number;
  readonly epoch: number;
  readonly epochs: number;
  /** The mean over the examples of the epoch. */
  readonly loss: number;
  readonly lr: number;
  readonly samplesPerSecond: number;
  readonly etaMs?: number;
  /** `loss`, `accuracy` where known, and `val_…` of the validation data. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** A checkpoint was saved, or with `error` could not be. */
export interface CheckpointEvent {
  /** As in a BatchEvent. */
  readonly step: number;
  readonly epoch: number;
  readonly error?: TrainletError;
  /** When it will be tried again at the earliest; not at all at the fit's end. */
  readonly retryMs?: number;
}

export interface History {
  readonly epochs: readonly EpochEvent[];
  /** Optimizer steps that this call did. */
  readonly steps: number;
  /** Batches left out because their loss or gradient was not finite (`onNaN: 'skip'`). */
  readonly skipped: number;
  readonly stopped: 'completed' | 'max-steps' | 'early-stopping' | 'non-finite-loss' | 'aborted' | 'failed';
}

/**
 * Checkpoints that survive a kill at any moment: IndexedDB in browsers; in Node a folder, where a version is one file,
 * `NAME.VERSION.trainlet` (a path to it is a `Source`), and no other file is touched. Two processes or tabs may save
 * under one name:
 * each save is a version of its own. A name is a string with a character in it, without lone surrogates; in a folder it
 * takes at most
 * 200 bytes of a file's name: a to z, digits, - and _ one each, every other byte of UTF-8 three.
 * Errors: `invalid-argument`, `store-failed`, `quota-exceeded`, `checkpoint-corrupt`.
 */
export class CheckpointStore {
  private constructor();
  /**
   * `database` (browsers) defaults to `trainlet`, `directory` (Node) to `checkpoints`; the last `keep` versions stay,
   * default 2.
   */
  static open(options?: { database?: string; directory?: string; keep?: number }): Promise<CheckpointStore>;
  /**
   * Takes the bytes and meta at the call; resolves with the version's number when they are durable. A folder keeps
   * `meta` as JSON.
   * A browser's storage that is silent for 15 s, and one more for each MB, is `store-failed`: the save may then still
   * be done.
   */
  save(name: string, bytes: Uint8Array, meta?: Record<string, unknown>): Promise<number>;
  /**
   * The newest version that is whole (a checksum says so), with the newer ones that are not in `skipped`; or the
   * `version` asked for.
   * `checkpoint-corrupt` if there are versions and none is whole.
   */
  load(name: string, options?: { version?: number }): Promise<StoredCheckpoint | undefined>;
  /** Oldest first. */
  versions(name: string): Promise<readonly CheckpointVersion[]>;
  list(): Promise<readonly { name: string; bytes: number; savedAt: Date }[]>;
  delete(name: string): Promise<void>;
  /**
   * Asks the browser not to drop the storage when the disk is nearly full, and says whether it will not. In Node true.
   */
  persist(): Promise<boolean>;
}

export interface StoredCheckpoint {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly meta: Record<string, unknown>;
  readonly savedAt: Date;
  readonly version: number;
  readonly skipped: readonly { version: number; reason: string }[];
}

/** `bytes`: how many; `meta` is missing where the version can be seen not to be whole. */
export interface CheckpointVersion {
  readonly version: number;
  readonly bytes: number;
  readonly savedAt: Date;
  readonly meta?: Record<string, unknown>;
}

export type ErrorCode =
  | 'invalid-model'
  | 'unsupported-op'
  | 'invalid-feed'
  | 'invalid-argument'
  | 'out-of-memory'
  | 'too-much-work'
  | 'checkpoint-mismatch'
  | 'checkpoint-corrupt'
  | 'non-finite-loss'
  | 'aborted'
  | 'released'
  | 'worker-died'
  | 'quota-exceeded'
  | 'source-unreadable'
  | 'integrity-mismatch'
  | 'store-failed'
  | 'unsupported-browser'
  | 'internal';

/** Everything thrown is one of these, a sentence each. `code` is stable. */
export class TrainletError extends Error {
  constructor(code: ErrorCode, message: string, options?: { node?: string; cause?: unknown });
  readonly code: ErrorCode;
  /** The node of the model that the sentence is about. */
  readonly node?: string;
  /** What a fit had done when it was aborted or failed. */
  readonly history?: History;
}
