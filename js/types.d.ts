/**
 * What a user of trainlet imports: every public name, its type and its meaning. This is the one contract; the code is
 * checked against it.
 */
/// <reference lib="esnext.disposable" />

/**
 * Where bytes come from, always less than 4 GB. A string is a URL (in Node also the path of a regular file, not of a
 * pipe or device); `indexeddb:NAME` reads from the browser's checkpoint store, and
 * `indexeddb:NAME?database=DATABASE&version=VERSION`, either or both, from another database or an earlier version: NAME
 * and DATABASE are percent-encoded there (`encodeURIComponent`), while a name alone is taken as it is.
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
  | 'bool'
  | 'int4'
  | 'uint4'
  | 'int2'
  | 'uint2'
  | 'float8e4m3fn'
  | 'float8e4m3fnuz'
  | 'float8e5m2'
  | 'float8e5m2fnuz'
  | 'float8e8m0'
  | 'float4e2m1';
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

/**
 * The class that holds the data of each type, as in onnxruntime-common; floats of 16 bits and fewer are held as bits.
 * Elements of 4 and 2 bits have a byte each, where onnxruntime-common packs them; of int4 and int2 that is the byte of
 * an int8.
 */
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
  int4: Uint8Array;
  uint4: Uint8Array;
  int2: Uint8Array;
  uint2: Uint8Array;
  float8e4m3fn: Uint8Array;
  float8e4m3fnuz: Uint8Array;
  float8e5m2: Uint8Array;
  float8e5m2fnuz: Uint8Array;
  float8e8m0: Uint8Array;
  float4e2m1: Uint8Array;
  string: string[];
}

/** The class of a tensor's data, given either a type (`'float32'`) or the class itself (`Float32Array`). */
export type DataOf<T> = T extends DataType ? DataTypeMap[T] : T;
/** The type of a tensor's elements; given a class of data, every type that may use it. */
export type TypeOf<T> = T extends DataType
  ? T
  : { [K in DataType]: T extends DataTypeMap[K] ? K : DataTypeMap[K] extends T ? K : never }[DataType];

/**
 * Typed data with a shape; the fields and data classes of onnxruntime-common's Tensor: int64 is a BigInt64Array, bool a
 * Uint8Array, float16 and bfloat16 a Uint16Array of bits, smaller floats a Uint8Array of them. A typed array is kept,
 * not copied; an array of numbers is converted, and refused where a value does not fit the type. Strings are held in an
 * array and may contain no zero characters and no lone surrogates; only an `InferenceSession` accepts them. `dims`
 * defaults to `[data.length]`.
 *
 * `Tensor<'float32'>` and `Tensor<Float32Array>` are the same; `Tensor` alone is a tensor of numbers of any type.
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
  /**
   * A tensor of a picture, (1, channels, height, width), or of an array of them as one batch. With `size`, `mean` and
   * `std` it has the numbers of torchvision's Resize, CenterCrop, ToTensor and Normalize on Pillow's pixels, to the bit
   * and in every browser:
   *
   *     const input = await Tensor.fromImage(photo, { size: 224, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] });
   *
   * It works in a page, in a worker, and with `{ data, width, height }` in Node. The source is read when the promise is
   * settled at the latest: do not close or redraw it before. Errors: `invalid-argument` (options, or what is no
   * picture), `source-unreadable` (a file that the browser cannot decode, a picture of another site that does not allow
   * its pixels to be read, a video without a frame).
   */
  fromImage<T extends 'float32' | 'uint8' = 'float32'>(
    source: ImageSource | readonly ImageSource[],
    options?: ImageOptions<T>,
  ): Promise<Tensor<T>>;
  /**
   * A tensor of a sound, or of an array of them as one batch: (sounds, samples), with `frames` (sounds, frames,
   * length), with `mel` (sounds, nMels, frames). Channels are mixed to one, their mean.
   *
   *     const input = await Tensor.fromAudio(recording, { sampleRate: 16000, length: 16000, mel: { nMels: 40, log: true } });
   *
   * Samples come to another rate as by torchaudio's `resample` (a sinc of six zero crossings in a Hann window).
   * Errors: `invalid-argument` (options, or what is no sound), `source-unreadable` (a file that cannot be decoded
   * here).
   */
  fromAudio(source: AudioSource | readonly AudioSource[], options?: AudioOptions): Promise<Tensor<'float32'>>;
}
/**
 * A sound: an AudioBuffer, what has its fields, or samples of one channel. A Blob is a file that the page decodes, with
 * the browser's own resampling, which differs between browsers.
 */
export type AudioSource =
  | { readonly sampleRate: number; readonly numberOfChannels: number; getChannelData(channel: number): Float32Array }
  | Float32Array
  | Blob;

export interface AudioOptions {
  /** Samples a second that are wanted, a whole number up to 768,000. Default: the source's; a Blob's is 48,000. */
  sampleRate?: number;
  /** Those of a Float32Array, which does not tell. Default: as `sampleRate`, so nothing is resampled. */
  sourceRate?: number;
  /** Samples at the rate wanted: what is longer is cut at its end, what is shorter gets silence there. Default: all. */
  length?: number;
  /** Samples in frames of `length`, one each `hop` (default: `length`); what is left at the end is dropped. */
  frames?: { length: number; hop?: number };
  /** A mel spectrogram. */
  mel?: MelOptions;
}

/**
 * How loud each pitch is, frame by frame. Names, defaults and numbers are those of torchaudio's MelSpectrogram, with a
 * periodic Hann window; `melScale: 'onnx'` with `center: false` gives those of ONNX's STFT and MelWeightMatrix.
 */
export interface MelOptions {
  /** Samples of a Fourier transform; default 400. */
  nFft?: number;
  /** Samples that are heard in it, in its middle; default `nFft`. */
  winLength?: number;
  /** Samples from one frame to the next; default half of `winLength`. */
  hopLength?: number;
  /** Default 128. */
  nMels?: number;
  /** In Hz; default 0. */
  fMin?: number;
  /** In Hz; default half the sample rate. */
  fMax?: number;
  /** Of the magnitudes: 2 (default) or 1. */
  power?: 1 | 2;
  /** Whether half a window of the sound's mirror image is put before and after it; default true. */
  center?: boolean;
  /** `htk` (default), `slaney` as in librosa, or `onnx`: HTK's, with the triangles of ONNX's MelWeightMatrix. */
  melScale?: 'htk' | 'slaney' | 'onnx';
  /** `slaney`: each triangle has the same area, as in librosa. Default null: the same height. */
  norm?: 'slaney' | null;
  /** Natural logarithms, of the value plus 1e-6. Default false. */
  log?: boolean;
}
type Dom<Name extends string> = typeof globalThis extends { [K in Name]: { prototype: infer T } } ? T : never;
/**
 * A picture. A Blob, or a URL, is a file that the browser decodes, turned as its camera says; of a video it is the
 * frame that is shown; ImageData is four bytes a pixel: red, green, blue, alpha.
 */
export type ImageSource =
  | Dom<'ImageBitmap'>
  | Dom<'HTMLCanvasElement'>
  | Dom<'OffscreenCanvas'>
  | Dom<'HTMLImageElement'>
  | Dom<'HTMLVideoElement'>
  | Dom<'VideoFrame'>
  | { readonly data: Uint8ClampedArray | Uint8Array; readonly width: number; readonly height: number }
  | Blob
  | string
  | URL;

/** How a picture becomes numbers. `tensorLayout`, `tensorFormat`, `norm` and `dataType` are ONNX Runtime's. */
export interface ImageOptions<T extends 'float32' | 'uint8' = 'float32'> {
  /**
   * Pixels of both sides, or of each; 1 to 16,384. Default: the picture's own, which must be the same for all of a
   * batch.
   */
  size?: number | readonly [height: number, width: number];
  /**
   * What becomes of a picture of other proportions than `size`. `center` (default): it is scaled until it covers that
   * size, and what sticks out is cut off; false: it is stretched.
   */
  crop?: 'center' | false;
  /** 3 (default), or 1 for grey (0.299 red + 0.587 green + 0.114 blue). */
  channels?: 1 | 3;
  /** Default NCHW: (pictures, channels, height, width). */
  layout?: 'NCHW' | 'NHWC';
  /** The same as `layout`. */
  tensorLayout?: 'NCHW' | 'NHWC';
  /** The order of the channels; default RGB. */
  tensorFormat?: 'RGB' | 'BGR' | 'RBG';
  /**
   * For red, green and blue, or one number for all: (pixel / 255 − mean) / std. Defaults 0 and 1: numbers from 0 to 1.
   * Networks pretrained on ImageNet mostly want mean [0.485, 0.456, 0.406] and std [0.229, 0.224, 0.225].
   */
  mean?: number | readonly number[];
  std?: number | readonly number[];
  /** Instead of both: (pixel + bias) / mean, of pixels from 0 to 255. Defaults 0 and 255. */
  norm?: { mean?: number | readonly number[]; bias?: number | readonly number[] };
  /** Default float32; `uint8` are the pixels as they are. */
  dataType?: T;
  /** What is seen through transparent pixels: red, green and blue from 0 to 255. Default [255, 255, 255], white. */
  background?: readonly [red: number, green: number, blue: number];
}
type ClassType<D> = Exclude<
  TypeOf<D>,
  'bool' | 'float16' | 'bfloat16' | `${'int' | 'uint'}${2 | 4}` | `float${4 | 8}e${string}`
>;

/** What is accepted wherever a Tensor is, onnxruntime's own Tensor included. */
export interface TensorLike {
  readonly type: string;
  readonly data: unknown;
  readonly dims: readonly number[];
}

/**
 * Tensors by input name. The order of the keys does not matter, and null stands for an absent optional input. The
 * arrays are copied, never transferred. Nested objects and arrays are read as flat names: `{ past: [{ key }] }` feeds
 * the input `past.0.key`. An input that is a sequence takes an array of tensors, `[]` for an empty one. An input that
 * is a map takes a Map: its keys are strings, or bigints for int64, its values numbers, bigints for int64, or strings.
 * An input without dims takes a plain value: `{ temperature: 0.7, steps: 3, greedy: true }`.
 */
export type Feeds = Readonly<Record<string, Feed>>;
export type Feed =
  | TensorLike
  | number
  | bigint
  | boolean
  | string
  | null
  | readonly Feed[]
  | ReadonlyMap<string | bigint, number | bigint | string>
  | { readonly [key: string]: Feed };
/**
 * The outputs that are wanted; the others are not computed. Given as an object, a tensor of the output's type and dims
 * is filled and returned.
 */
export type Fetches = readonly string[] | Readonly<Record<string, TensorLike | null>>;
/**
 * Output names in a structure of your own, such as `{ present: [{ key: 'present.0.key' }] }`; the tensors are returned
 * in the same structure.
 */
export type FetchStructure = readonly FetchName[] | { readonly [key: string]: FetchName };
export type FetchName = string | FetchStructure;
export type Fetched<F> = F extends string ? Tensor : { -readonly [K in keyof F]: Fetched<F[K]> };
/**
 * What an output may be: a tensor, a sequence of tensors, null for an empty optional, or, of ZipMap, a map from class
 * labels to scores for each example. Labels that are int64 are bigints.
 */
export type OutputValue =
  | Tensor
  | Tensor<'string'>
  | Tensor[]
  | Tensor<'string'>[]
  | Map<string, number>[]
  | Map<bigint, number>[]
  | null;
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
  readonly logSeverityLevel?: number;
  readonly logVerbosityLevel?: number;
  readonly tag?: string;
  readonly extra?: unknown;
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

export interface LoadProgress {
  /** The argument that is being loaded: `model`, `trainModel`, `checkpointState`, … */
  readonly source: string;
  readonly loadedBytes: number;
  /** Absent where the server does not tell. */
  readonly totalBytes?: number;
}

export interface EngineOptions {
  /**
   * Default true: each session runs in a worker of its own (a Web Worker; `worker_threads` in Node). false: in the
   * calling thread, which has a turn at other things every 4 ms, or after a step that takes longer. When a worker dies,
   * every call is rejected with `worker-died`. Where the browser does not report the death, as when the worker was ended
   * from outside, it is noticed once the engine has been loaded: by Web Locks in secure contexts, elsewhere within about
   * 15 s, while a call is open, by a worker that the worker starts. A `signal` works everywhere.
   */
  worker?: boolean;
  /**
   * How many threads compute, at most 16. Default 'auto': as many as there are cores, at most 8. More than one thread
   * needs memory that can be shared, which is there in Node and in a page that is `crossOriginIsolated`; elsewhere one
   * thread computes. Every count gives the same bits.
   */
  threads?: number | 'auto';
  /**
   * true: the same bits on every machine and in every browser. Default false: where the browser has relaxed SIMD, a
   * multiply-add may be rounded once instead of twice if that is faster on the processor, so the last bits may differ
   * between processors.
   */
  reproducible?: boolean;
  /**
   * The most bytes that the engine may take for this session, or for making these artifacts: models and files while
   * they are read, state, feeds, plans, the memory that a step works in, checkpoints being written. Default: as many as
   * there are. Where a step would exceed it, cheap values are computed twice instead of being kept, and what was kept
   * for speed is dropped; if that is not enough, the call fails with `out-of-memory`, which says how many bytes were
   * wanted, and the session remains usable. `getMemoryPlan().takenBytes` says how many are taken. The strings that a
   * run gives back are bounded by the same number, or by 134,217,728 bytes: 32 bytes each, and two a letter.
   */
  maxMemoryBytes?: number;
  /**
   * The most multiply-adds that one run or step may take. They are counted from the shapes before anything is computed;
   * more is refused with the code `too-much-work` and the name of the most expensive node. Default 1e13, as many as a
   * dozen steps of a language model of 135 million parameters on 2,048 tokens; with one thread that is about half an
   * hour. Making a string counts as 512, each of its letters as 8. Strings made of constants, while a model is loaded,
   * may take 268,435,456. Letters that a run compares (Equal, LabelEncoder, TfIdfVectorizer, …) count as 8 each, and
   * the run is refused as soon as they are too many. `Infinity`: no limit.
   */
  maxWork?: number;
  /**
   * For debugging: names of the graph rewrites that may be used to make a session's steps faster; the others are left
   * out. Default: all. `generateArtifacts` knows two of them, `layer_norm` and `gelu`, which recognise
   * LayerNormalization and Gelu in the operators that exporters write for them. If `'none'` changes a loss by more than
   * rounding, that is a bug of ours: please report it.
   */
  passes?: readonly string[] | 'none';
  /**
   * The engine's file. Default: the one of the four files beside this package that suits `threads`, `reproducible` and
   * the browser.
   */
  wasmUrl?: string | URL;
  workerUrl?: string | URL;
  wasmBinary?: Uint8Array;
  /**
   * A hash (`sha256-…`, sha384 or sha512, in base64) for each argument that is to be checked before it is parsed: `{
   * trainModel: 'sha256-…' }`.
   */
  integrity?: Readonly<Record<string, string>>;
  /**
   * The files in which models keep data (ONNX's external_data), by the location that the model gives: `{
   * 'model.onnx.data': 'model.onnx.data' }`. They are looked for here, and in Node beside a model that is a path, if
   * their names continue the model's own. A location is only a name, in which a leading `./` is ignored. The second
   * file of an ONNX Runtime checkpoint (of 1.8 GB or more) is `checkpoint.data`. Bytes are copied, never transferred. `generateArtifacts` and `parametersOf` never have a URL, a path or a Blob in
   * memory as a whole: they read one tensor after the other (of a server by ranges; one that gives none is asked for
   * the whole, as a Blob).
   */
  externalData?: Readonly<Record<string, Source>>;
  /**
   * Inputs of the model that are always the same: `{ sr: 16000n }`. They are bound once and no longer fed, and what
   * they decide, as the branch of an If, is decided when the model is loaded. A bigint is an int64 scalar, a boolean a
   * bool, a number a float32; anything else is given as a tensor. Scalars also stand for an input of one element. A
   * name that is no input of a model, and another type or shape than the input's, is refused.
   */
  constants?: Readonly<Record<string, bigint | number | boolean | TensorLike>>;
  /**
   * Stops the loading; the promise is then rejected with the code `aborted`. With `worker: false` it has no effect
   * while the engine computes.
   */
  signal?: AbortSignal;
  onProgress?: (progress: LoadProgress) => void;
}

/**
 * The engine's options, and those that tell ONNX Runtime how to compute: these are accepted and have no effect. A
 * session takes any number for a free dim; `generateArtifacts` heeds `freeDimensionOverrides`.
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

export interface TrainingSessionOptions extends SessionOptions {
  /**
   * Ranges by name or pattern (`*`, `?`): after each step of the optimizer, values of parameters that train are clamped
   * to theirs: `{ 'w*': [0, 10] }`. Either may be infinite; of several patterns that match, the last counts. Saved in
   * Trainlet's checkpoints; given here they take the place of the checkpoint's, `{}` forgets them. Refused: a least
   * above the most, NaN, a pattern that matches no float32 parameter.
   */
  bounds?: Readonly<Record<string, readonly [least: number, most: number]>>;
}

/** Options of `predict`. */
export interface PredictOptions extends RunOptions {
  /**
   * true: also `labels`, the name of the class with the largest score for each example, a Tensor of strings.
   * `invalid-argument` where there are no `classNames`, or the scores are not among what is fetched. Default false.
   */
  readonly labels?: boolean;
  /**
   * true: also `probabilities`, softmax(scores / temperature) along the last axis, with the temperature that
   * `calibrate` or `fineTune` has found (1 where none has); of scores as the loss 'cross-entropy' takes them, or of the
   * logarithms of an output that is probabilities already. Default false.
   */
  readonly probabilities?: boolean;
  /**
   * Of `labels`: '' where the class with the largest score is less probable than this, so that what is of no known
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
  readonly unknown?: boolean | { readonly missed?: number };
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

/** What `calibrate` found. */
export interface Calibrated {
  /** By which scores are divided; 1 also where none between 1/20 and 20 fits best, as where all examples are right. */
  readonly temperature: number;
  /** A probability, where `unknown` asked for it. */
  readonly threshold?: number;
  readonly examples: number;
  /**
   * The calibration error of these examples with temperature 1, and with the one found: by how much the probabilities
   * of the classes that are taken differ from how often they are right, over 15 bins. From 0 to 1.
   */
  readonly before: number;
  readonly after: number;
}

/** Parameters that are updated differently from others. */
export interface ParameterGroup {
  /** Names or patterns (`*`, `?`). */
  readonly params: string | readonly string[];
  /** By which the session's learning rate is multiplied, that of a schedule too; from 0 up. Default 1. */
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

/** Runs any ONNX model, forward only. */
export class InferenceSession {
  private constructor();
  static create(model: Source, options?: SessionOptions): Promise<InferenceSession>;
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  /** Names, types and dims; a dim is a number, or a name where it is free. */
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
  /** The names of its classes, where it is a model with a `head` of ours, or was exported by a session of one. */
  readonly classNames: readonly string[] | null;
  /** What is worth knowing about the model, one sentence each: that its opset is newer than all that we know. */
  readonly warnings: readonly string[];
  /** Of the shapes run last. */
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
   * tensors of numbers.
   */
  run<V extends OutputValue = Tensor>(
    feeds: Feeds,
    fetches?: Fetches | RunOptions,
    options?: RunOptions,
  ): Promise<Record<string, V>>;
  run<const F extends FetchStructure>(feeds: Feeds, fetches: F, options?: RunOptions): Promise<Fetched<F>>;
  /**
   * Ends the worker. Runs and steps that are not done are stopped, and other calls have 0.3 s to be answered, or until
   * the signal fires: all that is not answered is rejected with `released`. Await what you need before. It may be
   * called twice.
   */
  release(options?: { signal?: AbortSignal }): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ValueInfo {
  readonly name: string;
  readonly type: string;
  readonly dims: readonly (number | string)[];
  /**
   * It is a sequence of such tensors; `dims` of `[]` may mean that they can have any shape, here and for an optional.
   */
  readonly sequence?: true;
  /** It is a map with keys of this type, or a sequence of such; `type` is that of the values, `dims` says nothing. */
  readonly map?: 'string' | 'int64';
  /** It need not be fed. */
  readonly optional?: true;
  /**
   * It is class labels, which a cross-entropy compares with scores of so many `classes` (null where only a run tells)
   * along `axis`, -1 being the last; those of `ignoreIndex` do not count.
   */
  readonly labels?: { readonly classes: number | null; readonly axis: 1 | -1; readonly ignoreIndex?: number };
  /** It is how much each example counts; `fit` and `evaluate` feed 1 where the data set does not say. */
  readonly sampleWeight?: true;
}

export interface ParameterInfo {
  readonly name: string;
  readonly type: DataType;
  readonly dims: readonly number[];
  readonly trainable: boolean;
}

/** A float initializer of a model, before anything is made of it. */
export interface ModelParameter extends ParameterInfo {
  /** The number of elements. */
  readonly size: number;
  /**
   * What it may be called in PyTorch's state_dict, and so in `weights`: its own name; that of the parameter of which the
   * exporter has made it; by the modules that read it (`lm_head.weight`).
   */
  readonly names: readonly string[];
  /** Whether a product reads it as (in, out), where torch.nn.Linear has (out, in). */
  readonly transposed: boolean;
  /**
   * The nodes that read it, in the model's order, 64 at most; where nodes only prepare it (a Transpose, the norm of a
   * weight), those that read their result. `weight`, `bias` and `scale` are what a layer learns, `statistic` is a
   * running mean or variance, `operand` everything else: a mask, a table of constants, a mean of the inputs.
   */
  readonly readers: readonly {
    readonly node: string;
    readonly op: string;
    readonly as: 'weight' | 'bias' | 'scale' | 'statistic' | 'operand';
  }[];
  /** Whether `generateArtifacts` trains it without `requiresGrad` and `frozen`, if the loss depends on it. */
  readonly trainable: boolean;
  /** Why it does not train, in words for people. */
  readonly reason?: string;
}

/** What each node takes, in the order in which they run. */
export interface NodeTimes {
  /** How many runs were timed: those on the shapes that were fed last. */
  readonly runs: number;
  /** Multiply-adds per ms that this machine's threads together do in registers alone: no operator can be faster. */
  readonly peak: number;
  /**
   * `ms`: per run, on average; `work`: its multiply-adds, 0 for operators that move elements or compute each one by
   * itself.
   */
  readonly nodes: readonly { readonly name: string; readonly op: string; readonly ms: number; readonly work: number }[];
}

export interface MemoryPlan {
  /** Parameters, gradients and optimizer state. */
  readonly stateBytes: number;
  /** The memory that a step works in. */
  readonly arenaBytes: number;
  readonly peakBytes: number;
  /** The most bytes that are needed at the same time: no plan can be smaller. */
  readonly lowerBoundBytes: number;
  /** All that the session has taken so far, including models and plans: this is what `maxMemoryBytes` limits. */
  readonly takenBytes: number;
  /**
   * Frozen weights rearranged for convolutions and for products of few rows: a second copy, made where that is faster
   * and `maxMemoryBytes` leaves room; of large weights at most 512 MB.
   */
  readonly packedBytes: number;
}

/**
 * The four artifacts of ONNX Runtime, as bytes. The label input has the name that it has there: `labels` for
 * cross-entropy (class indices, int64), `target` for the losses of numbers (mse, bce-with-logits …).
 */
export interface Artifacts {
  readonly trainModel: Uint8Array<ArrayBuffer>;
  readonly evalModel: Uint8Array<ArrayBuffer>;
  readonly optimizerModel: Uint8Array<ArrayBuffer>;
  readonly checkpointState: Uint8Array<ArrayBuffer>;
  /** What is worth knowing about them, one sentence each. */
  readonly warnings: readonly string[];
}

export type LossType = 'cross-entropy' | 'mse' | 'bce-with-logits' | 'l1' | 'huber' | 'none' | 'outside';
export interface LossOptions {
  /**
   * `none`: the model's own output is the loss already. `outside`: the graphs have no loss, their outputs are the
   * model's own and the `additionalOutputs`; gradients come for all of them that are float32 from outside, by
   * `session.forward` and its `backward`. `step`, `fit`, `evaluate` and `runTrainStep` are refused then.
   */
  type: LossType;
  reduction?: 'mean' | 'sum';
  /** One weight for each class (cross-entropy). */
  weights?: readonly number[];
  /**
   * Labels of this value do not count (cross-entropy). Default: none is ignored; PyTorch's default is -100. Any other
   * label that is no class is refused with `invalid-feed`.
   */
  ignoreIndex?: number;
  /**
   * Which share of a label all classes have alike (cross-entropy): from 0, the default, to 1. Together with `weights`
   * and
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
  type: Exclude<LossType, 'outside'>;
  /** The output that it is taken of, or another value of the model. Default: the first output. */
  input?: string;
  /**
   * What its label input is called. Default: `labels` or `target`, as for one loss, with a number where that is taken.
   */
  label?: string;
  /** By which it counts in the sum: a number from 0 up. Default 1. */
  weight?: number;
}

export type OptimizerType = 'adamw' | 'adam' | 'sgd' | 'adagrad' | 'rmsprop';
/**
 * Numbers are finite and at least 0 unless stated otherwise; defaults are PyTorch's. An option that the type does not
 * have is refused; the error names those that it has.
 */
export interface OptimizerOptions {
  type: OptimizerType;
  lr?: number;
  /** Each below 1. */
  betas?: readonly [number, number];
  eps?: number;
  weightDecay?: number;
  /** Of SGD and RMSprop; below 1. */
  momentum?: number;
  /** SGD: after the first step, the momentum takes (1 − dampening) of the gradient; may be negative. */
  dampening?: number;
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

/**
 * The model's last layer with a weight is cut off, with all that comes after it, and a linear layer takes its place,
 * whose output `scores` is the only one. Features (N, C, H, W) of a convolution are averaged over H and W; of others,
 * as (N, tokens, features), the last axis is taken.
 * ```js
 * const artifacts = await generateArtifacts(model, {
 *   loss: 'cross-entropy',
 *   head: { classes: ['cat', 'dog', 'bird'] },
 * });
 * const session = await TrainingSession.create(artifacts);
 * await session.initializeHead({ inputs: { x }, labels: { labels } });
 * const { labels: names } = await session.predict({ x }, { labels: true });
 * ```
 * Errors: `invalid-argument` (no such value, no layer to cut off, features of another type than float32 or of unknown
 * number, a name given twice).
 */
export interface HeadOptions {
  /**
   * Names of the new classes, in the order of their scores. Checkpoints and exported models keep them (`classNames`).
   */
  classes: readonly string[];
  /** The output or other value of the model that is its features. Default: what the last layer with a weight reads. */
  at?: string;
  /** Units of a layer with Relu before the last, which begins as torch.nn.Linear does. Default 0: there is none. */
  hidden?: number;
}

/**
 * LoRA (Hu et al. 2021): beside frozen weights small matrices train, y = W x + (alpha / r) · B(A(dropout(x))). Names,
 * meanings and defaults are PEFT's, whose spelling (`lora_alpha`, `target_modules`, …) is taken as well, and so is the
 * content of a whole `adapter_config.json`, where what it asks for is here.
 */
export interface LoraOptions {
  /** The rank: rows of A, columns of B. Default 8. */
  r?: number;
  /** Default 8. What the branch gives counts alpha / r times, with `rsLora` alpha / √r times. */
  alpha?: number;
  /** The probability with which a number that A reads is dropped in training; default 0. None of an embedding's. */
  dropout?: number;
  /**
   * Which modules are adapted: names, ends of names from a dot on (`q_proj`), or globs over these; default
   * `'all-linear'`: every Gemm, MatMul and MatMulNBits of a frozen weight but those that no other comes after. By name
   * also convolutions of one group and embeddings (Gather). A module is called what the exporter notes; else after the
   * node's path (`/model/layers.0/self_attn/q_proj/MatMul`), else after the weight; a name that matches none is an error
   * that lists them.
   */
  targets?: string | readonly string[];
  /** Of these the ones that are not; the same kinds of names. Default: none. */
  exclude?: string | readonly string[];
  /** Rank-stabilized (Kalajdzievski 2023): see `alpha`. Default false. */
  rsLora?: boolean;
  /** Another rank for modules by name, as `{ down_proj: 4 }`; the first that matches. Default: none. */
  rankPattern?: Readonly<Record<string, number>>;
  /** Another alpha, likewise. */
  alphaPattern?: Readonly<Record<string, number>>;
  /** Modules whose own parameters train, as a classifier's. Default: none. */
  modulesToSave?: readonly string[];
  /**
   * How the matrices begin: `kaiming-uniform` (the default: A even between ± 1 / √inputs) or `gaussian` (A normal with
   * deviation 1 / r); B is zero. Of an embedding A is zero and B standard normal. The same in every run.
   */
  init?: 'kaiming-uniform' | 'gaussian';
  /** Which biases train too: `none` (the default), `all`, or `lora_only`: those of the modules that are adapted. */
  bias?: 'none' | 'all' | 'lora_only';
  /** Names of modules by the name of their node or weight, where those found are not PyTorch's. */
  moduleNames?: Readonly<Record<string, string>>;
}

/** The files of an adapter's folder, as PEFT names them. */
export interface AdapterFiles {
  'adapter_model.safetensors': Uint8Array<ArrayBuffer>;
  'adapter_config.json': Uint8Array<ArrayBuffer>;
}
/** The file of an adapter as ONNX Runtime reads it: the inputs of a model that was exported with `adapters: 'inputs'`. */
export interface OnnxAdapterFiles {
  'adapter.onnx_adapter': Uint8Array<ArrayBuffer>;
}
/** One of PEFT's, or `adapter.onnx_adapter`. */
export interface AdapterSources {
  'adapter_model.safetensors'?: Source;
  /** Checked against the artifacts' ranks and alphas, which the other files do not tell. Default: not checked. */
  'adapter_config.json'?: Source;
  'adapter.onnx_adapter'?: Source;
}
export interface ExportAdapterOptions {
  /**
   * Default `peft`, its folder. `onnx`: one file in ONNX Runtime's own format (`LoraAdapter`, Python's
   * `AdapterFormat`): A and B under the names of the inputs of `exportModel({ adapters: 'inputs' })`,
   * as float32; alpha / r is in that model. It takes none of the options below, and cannot hold what trains whole.
   */
  format?: 'peft' | 'onnx';
  /** How numbers are kept; default `float32`. Half of the bytes are enough for most: `float16`, `bfloat16`. */
  type?: 'float32' | 'float16' | 'bfloat16';
  /** What the names of modules begin with and PyTorch's do not, as `'model.'` of a wrapper; default '': nothing. */
  prefix?: string;
  /** What the configuration says the base is called, for example `'HuggingFaceTB/SmolLM2-135M'`. Default: nothing. */
  baseModel?: string;
}

/** An adapter by its name; null: none, the base alone; weights by name: their sum. */
export type AdapterChoice = string | null | Readonly<Record<string, number>>;

/** The adapters of a session. */
export interface Adapters {
  /** In the order in which they were added; the artifacts' own is called `default`. Empty without `lora`. */
  readonly names: readonly string[];
  /**
   * What `useAdapter` was given last: a name, weights by name, or null; null too without `lora`, and where a checkpoint
   * was saved while a sum was in use, which then answers until another is used.
   */
  readonly active: string | null | Readonly<Record<string, number>>;
}

export interface ArtifactOptions extends EngineOptions {
  /**
   * Default `training-info`: the model brings its training in ONNX's own training_info. Its algorithm determines the
   * loss (the y of its Gradient), what trains (the xs that it updates), and, unless `optimizer` is given, the optimizer
   * (Adam, Momentum, Adagrad, or Sub(x, Mul(lr, g))) with its learning rate, count and state. Any other loss leaves a
   * training_info unread.
   */
  loss?: LossType | LossOptions | 'training-info';
  /**
   * Several losses instead of one `loss`: their sum, each times its `weight`, is the first output, `loss`; each by
   * itself is another, `<input>_loss`, in their order. Each has a label input of its own. Default: none.
   */
  losses?: readonly WeightedLoss[];
  /** Default `adamw`, or the training_info's. */
  optimizer?: OptimizerType | OptimizerOptions;
  /** A new last layer in place of the model's own, for other classes. Default: the model's outputs stay. */
  head?: HeadOptions;
  /**
   * Adapters beside the weights, which stay as they are: the adapters train, a new `head`, and what `modulesToSave` and
   * `bias` name; `requiresGrad` goes without it. `{}` takes the defaults. Or the parsed `adapter_config.json` of an
   * adapter, which `loadAdapter` then loads. Default: there are none.
   */
  lora?: LoraOptions | Readonly<Record<string, unknown>>;
  /**
   * Tensors of safetensors files in the place of the model's own values, by the names that PyTorch gives them; of several
   * files, an array, or their index (`model.safetensors.index.json`). A tensor has the name of an initializer, or where
   * the exporter has replaced that by a number (`onnx::MatMul_9772`, `val_12`) the name of the module that reads it and
   * `.weight`; `parametersOf` tells both. A prefix that all on one side have (`model.`) makes no difference. Matrices
   * that the exporter has transposed are transposed; F32, F16, BF16 and F64 become the initializer's type. What one
   * side alone has keeps its values, and is named by `warnings`. Gates of LSTM and GRU, and a BatchNormalization that
   * dynamo has folded, are computed again; what else an exporter has computed of a parameter is refused. What the exporter made one because it began equal is
   * separated as by `untie`. Files are read a tensor at a time, by ranges of the server, and where all floats are there,
   * files of `externalData` need not be. It goes with a loss of its own.
   * ```js
   * const weights = 'base/model.safetensors';
   * const artifacts = await generateArtifacts('model.onnx', { loss: 'cross-entropy', weights });
   * ```
   * `invalid-argument`: no tensor fits, one has another shape, two that differ are one parameter of the model, the
   * exporter has computed what a tensor would replace (`1 + weight`);
   * `source-unreadable`: it is no such file. Default: the model's own.
   */
  weights?: Source | readonly Source[];
  /**
   * Numbers for the free dims of the model's inputs, by their names, as `{ batch: 1, height: 224 }`; `x[2]` is dim 2 of
   * input `x` if the file gives that no name. They are set before the graph is read, so that operators train that need
   * the number (GatherND the last dim of its indices, say). The artifacts are for these numbers alone.
   * `invalid-argument`: no input has such a dim (the error lists those that there are); not a whole number of at least
   * 1; a model in ORT format. Default: none.
   */
  freeDimensionOverrides?: Readonly<Record<string, number>>;
  /**
   * Frozen float32 weights in fewer bits, so that a large base fits: of those matrices that only products (MatMul, Gemm,
   * as they are or behind a Transpose) and look-ups (Gather, an embedding) read. Gradients go through them to what
   * trains before. `int8`: symmetric, a scale for each output, as onnxruntime.quantization has it; `int4`: asymmetric in
   * blocks of 32, as its MatMulNBitsQuantizer, embeddings as `int8`; `float16`: half of the bytes, but for weights that
   * it cannot hold. They are parameters of these types under other names (`W_quantized` and `W_scale`; `W_Q4`, `W_scales`
   * and `W_zero_points`; `W_float16`), which train no more; adapters cannot be merged into them. `invalid-argument` where
   * no such weight is frozen, with `nominal` and with a training_info. Default: they stay as they are.
   */
  quantizeFrozen?: 'int8' | 'int4' | 'float16';
  /**
   * Globs over parameter names. Default, where there is a `head`: its parameters, `head.*`, alone. Else those that the
   * training_info trains; otherwise what a layer reads as its weight, its bias or its scale (`parametersOf` tells), not
   * masks, constant tables and means of the inputs, of which `warnings` names those left out. Where PyTorch's exporter
   * notes that something is a parameter, a buffer or a constant, as `torch.onnx.export` with dynamo does, that decides:
   * learned positions train, buffers and tables of sines do not. For values that it computed (rows looked up or
   * repeated, a tied weight transposed) it notes the parameter, and that decides as well; a weight times a mask keeps
   * its zeros.
   * PyTorch's exporter by TorchScript notes nothing: there other named parameters and buffers that layers read train
   * too, but those with the contents of a mask or a table of sines, and those named like a buffer (`mask`, `mean`,
   * `std`, `window`); `warnings` names them.
   * `requires_grad=False` stands in no file: such parameters need `frozen`. To train more than the default, name all of it:
   * `(await parametersOf(model)).filter((p) => p.trainable).map((p) => p.name)` and the others. Running statistics
   * never train, nor does what is not finite: that is left out where a pattern with `*` or `?` matches it, and
   * `invalid-argument` by its own name.
   */
  requiresGrad?: readonly string[];
  /** Globs over parameter names; they win over `requiresGrad`. */
  frozen?: readonly string[];
  /**
   * Exporters fix the batch at that of their example, 1, unless they are told otherwise. `free` (the default): where
   * the model keeps examples apart, its batch becomes free, and a warning says so, or names the node that prevents it.
   * `fixed`: the model stays as it is.
   */
  batch?: 'free' | 'fixed';
  /**
   * For a BatchNormalization whose scale and bias do not train. `frozen` (the default): it uses its running statistics
   * and leaves them alone, as in Keras. `update`: it uses the batch's statistics and keeps moving the running ones, as
   * in PyTorch's train(). Dropout is off where there are weights before it of which none trains. The running variance
   * follows the batch's over n, as ONNX and ONNX Runtime have it, where PyTorch takes n - 1.
   */
  batchNorm?: 'frozen' | 'update';
  /**
   * Exporters merge parameters that are equal when they export, as the biases of a new model are. By default each layer
   * has its own again, under PyTorch's name, where the exporter has left a trace: both of PyTorch's do. Tied weights
   * and a module that is called several times stay one. true: also without a trace, for tensors whose elements are all
   * equal and for those of numbered copies of a layer (`layers.0`, `layers.1`); where this would separate something,
   * `warnings` says so. false: merged parameters train as one; checkpoints made when that was the default need it. true
   * is refused with a training_info.
   */
  untie?: boolean;
  /**
   * The outputs from which the loss is computed; default: the first. If these are probabilities, `cross-entropy` and
   * `bce-with-logits` use the scores before the Softmax or Sigmoid, so that no activation is applied twice; if these
   * scores are not known, a warning says so.
   */
  lossInputs?: readonly string[];
  /**
   * Outputs of the model that the train and eval graphs have besides the loss; if the predictions are among them, `fit`
   * reports the training accuracy.
   */
  additionalOutputs?: readonly string[];
  /**
   * A checkpoint with names but no values; `loadParametersBuffer(bytes, false)` must supply them before anything runs.
   * Default false.
   */
  nominal?: boolean;
  /**
   * For a training_info: parameters and state start from what its initialization computes, not from the values in the
   * file. Default true.
   */
  initialize?: boolean;
  /**
   * The three models in ONNX Runtime's own format (.ort) instead of ONNX, for its builds that read no ONNX.
   * `unsupported-op` where ONNX Runtime has no kernel for an operator of them or for the optimizer. Default false.
   */
  ortFormat?: boolean;
}
/**
 * Makes the training artifacts from an inference model, in a worker of its own. Where model and external data have at
 * most 8 MB, the worker waits a second for the next call that has the same `worker`, `workerUrl`, `wasmUrl`, `threads` and
 * `reproducible`: the session, mostly, which need not start one then.
 */
export function generateArtifacts(model: Source, options?: ArtifactOptions): Promise<Artifacts>;

/** As for `generateArtifacts`; what is of files and weights alone changes nothing. */
export interface PlanMemoryOptions extends ArtifactOptions {
  /** What a step is fed, by input, labels too: `{ input_ids: [1, 128], labels: [1, 128] }`. */
  readonly dims: Readonly<Record<string, readonly number[]>>;
}

/**
 * How many bytes a training will take, told before its weights are loaded: the engine makes artifacts and plans a step
 * of them, and of `externalData` it reads whole numbers alone, mostly nothing, so that the file need not be given.
 * Weights in the model's own file are read with it. `getMemoryPlan()` of the session says the same after its first step;
 * weights that are packed for speed are left out.
 *
 * ```js
 * const dims = { input_ids: [1, 128], labels: [1, 128] };
 * const { peakBytes } = await planMemory('model.onnx', { loss: 'cross-entropy', quantizeFrozen: 'int4', lora: {}, dims });
 * ```
 *
 * Errors: those of `generateArtifacts` and of a step's shapes; `out-of-memory` where it would take more than
 * `maxMemoryBytes`; `unsupported-op` where shapes depend on computed values.
 */
export function planMemory(model: Source, options: PlanMemoryOptions): Promise<MemoryPlan>;

/**
 * The parameters of a model in the order in which its nodes read them: who reads them, and which train by default.
 * `invalid-model`, `unsupported-op` and the like as of `generateArtifacts`.
 */
export function parametersOf(
  model: Source,
  options?: EngineOptions & Pick<ArtifactOptions, 'freeDimensionOverrides'>,
): Promise<readonly ModelParameter[]>;

/** Examples of one person. */
export interface FineTuneData {
  /** The model's inputs, an example a row. */
  inputs: Readonly<Record<string, TensorLike>>;
  /**
   * What each is: the name of its class, or its index in `classes`; also as a data set has them, one tensor of indices:
   * `fineTune(model, await store.dataset(), { classes: await store.classes() })`.
   */
  labels: readonly (string | number | bigint)[] | TypedArray | Feeds;
}

export interface FineTuneOptions {
  /**
   * Names of the classes, in the order of the scores. Default: of a new head, the labels in the order in which they
   * first appear; else the model's own (`classNames`), or '0', '1' ….
   */
  classes?: readonly string[];
  /** Where the new last layer goes, as of `generateArtifacts`; false: the model's own outputs stay, and learn on. */
  head?: Omit<HeadOptions, 'classes'> | false;
  /**
   * How many layers below a new head learn after it, at a tenth of its rate and for a quarter of its epochs; default 0:
   * none. With `head: false`, how many of the model's last layers learn; default: all.
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
   * Which share of each class is held out, to stop by and to judge; of fewer than five examples none is. Default 0.2.
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
  replay?: FineTuneData & { ratio?: number };
  /**
   * How pictures or signals are changed each time that they are learned, as of `fit`; false: not at all. Default: not
   * with a new head, whose features are computed once; pictures are moved by up to 7 % and turned by up to 10° with
   * `head: false`. A page that serves its files by itself needs `worker-augment.js` beside `worker.js`.
   */
  augment?: FitOptions['augment'] | false;
  /**
   * How strongly all that the base has (not a new head) is drawn to where it was, as the `anchor` of a parameter group;
   * 0: not at all. Default 0.1.
   */
  anchor?: number;
  /**
   * When the new weights are taken: the loss of what is held out may rise by this share of it (default 0), and the
   * accuracy on the replay samples may fall by so much (default 0.01). Else the old ones are put back.
   */
  accept?: { lossRise?: number; replayDrop?: number };
  /** A threshold for `predict` is chosen on what is held out, as by `calibrate`. Default: none. */
  unknown?: CalibrateOptions['unknown'];
  /** Of what is held out, and of the shuffles. Default 0. */
  seed?: number;
  /**
   * Where it is saved, as of `fit`: while it trains, by default each second, and what was taken in the end, of which
   * `report.checkpoint` tells. The same call (the same model, examples and options that decide what is learned) goes on
   * where one under that name was cut short, by a kill too, and gives what that would have given, to the bit. Default:
   * nowhere.
   */
  checkpoint?: FitOptions['checkpoint'];
  /**
   * As of `fit`. `maxMs` is for all of the call: training ends early enough for the gate to judge, or does not begin,
   * in which case a new head answers by class means; `history.stopped` of the phase says `max-ms`. Pauses are off
   * unless they are asked for: it takes seconds, and who comes back to the tab wants it done.
   */
  budget?: Budget;
  /**
   * As of `fit`: with a `store`, what the layers below a new head give of each example is kept for the next call, in
   * another session of the page as well. The same call with and without it gives the same to the bit. `report.features`
   * tells how many were computed.
   */
  cacheFeatures?: FitOptions['cacheFeatures'];
  engine?: EngineOptions;
  /** Told while features are computed, and after each epoch: so much `of` so much is `done`. */
  onProgress?: (progress: FineTuneProgress) => unknown;
  onCheckpoint?: (event: CheckpointEvent) => unknown;
  onPause?: (event: PauseEvent) => unknown;
  onResume?: (event: PauseEvent & { readonly ms: number }) => unknown;
  signal?: AbortSignal;
}

export interface FineTuneProgress {
  readonly phase: 'features' | FineTunePhase['name'];
  readonly done: number;
  readonly of: number;
  /** Of the epoch. */
  readonly metrics?: Readonly<Record<string, number>>;
  /** Of features, where there is a store of them. */
  readonly store?: FeatureOrigins;
}

export interface FineTunePhase {
  readonly name: 'head' | 'layers';
  /** Whether what is held out was predicted better after it; otherwise its weights were put back. */
  readonly improved: boolean;
  readonly history: History;
  readonly ms: number;
}

/** As `evaluate` gives them: of what is held out, and of the replay samples; absent where there are none. */
export interface FineTuneScores {
  readonly heldOut?: Readonly<Record<string, number>>;
  readonly replay?: Readonly<Record<string, number>>;
}

export interface FineTuneReport {
  /** Whether new weights were taken; if not, the session has the old ones. */
  readonly accepted: boolean;
  /**
   * How much of what was learned: 1, all; 0, nothing. Between, that share of the way from the old weights to the new,
   * which keeps more of what was known; `reason` says what all of it would have made worse.
   */
  readonly share: number;
  readonly reason?: string;
  readonly classes: readonly string[];
  readonly examples: { readonly trained: number; readonly heldOut: number };
  /** Before the first step; a new head answers by class means then (`initializeHead`). */
  readonly before: FineTuneScores;
  /** Of the weights that were taken; where none were, of those that were refused. */
  readonly after: FineTuneScores;
  /** Of the scores on what is held out; absent where nothing is. */
  readonly calibration?: Calibrated;
  readonly phases: readonly FineTunePhase[];
  /** Below a new head, for all of the call. */
  readonly features?: KeptFeatures;
  /**
   * Where there is a `checkpoint`: the version that has what was taken, or why that could not be saved, in which case
   * only the session has it.
   */
  readonly checkpoint?: { readonly version: number } | { readonly error: TrainletError };
  readonly ms: number;
}

export interface FineTuned {
  readonly session: TrainingSession;
  readonly report: FineTuneReport;
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

export interface ForgetReport extends FineTuneReport {
  readonly forgotten: {
    /** The ids of those that were in the store. */
    readonly samples: readonly string[];
    /** How many versions were removed. */
    readonly checkpoints: number;
    /** How many of the replay samples were one of them, and were left out. */
    readonly replay: number;
    /** Of how many of them features were removed, counted for each base; absent without a store of features. */
    readonly features?: number;
    /**
     * What was still found of them when all was done, a sentence each; empty: nothing. A sample that was imported again
     * meanwhile, another that has the same inputs, a version that another call has saved under that name, features of
     * the same inputs.
     */
    readonly left: readonly string[];
  };
}
export interface Forgotten extends FineTuned {
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

/** Token ids of a text: an array of whole numbers, or a typed one as tokenizers give it. */
export type TokenIds = readonly number[] | readonly bigint[] | Exclude<TypedArray, Float32Array | Float64Array>;

/** Meanings and defaults are those of transformers' `generate`. */
export interface GenerateOptions {
  /** The most new tokens (`max_new_tokens`); default 20. */
  maxTokens?: number;
  /**
   * What scores are divided by before one is drawn: below 1 the likely ones become likelier. Default 0: nothing is drawn,
   * the token of the highest score is taken each time, as with `do_sample=False`.
   */
  temperature?: number;
  /** With a temperature: only the so many best are drawn from, after the temperature; 0: all. Default 50. */
  topK?: number;
  /** With a temperature: of these, the likeliest that together have at least this share; default 1: all. */
  topP?: number;
  /**
   * By how much the score of a token that is there already (the prompt counts) is divided where it is positive, and
   * multiplied where it is negative, before all else. Default 1: not at all.
   */
  repetitionPenalty?: number;
  /**
   * With a temperature: a whole number of at least 0; the same one gives the same tokens again, as long as weights and
   * options are the same. Default: another each time.
   */
  seed?: number;
  /** Tokens, or sequences of tokens, after which no more are made; they are among the result. Default: none. */
  stop?: readonly (number | TokenIds)[];
  /** Told each new token; if it gives a promise, the next token waits for it. What it throws ends the call. */
  onToken?: (id: number) => unknown;
  /** Stops it, within a token too, as the signal of a run does: `aborted`. */
  signal?: AbortSignal;
  /**
   * Of a training session with adapters: another than the one in use, null, or a sum, for this text alone, as in
   * `predict`; a sum is computed once. Default: the one in use.
   */
  adapter?: AdapterChoice;
}

export interface Generated {
  /** The new tokens alone. */
  readonly ids: number[];
  readonly stopped: 'max-tokens' | 'stop';
}

/**
 * Text of a language model (decoder-only: token ids in, `logits` [batch, sequence, vocabulary] out) as it is in a
 * session now: what was learned answers at once.
 * ```js
 * const { ids } = await generate(session, tokenizer.encode('Once upon'), { maxTokens: 50, temperature: 0.8, topP: 0.95 });
 * console.log(tokenizer.decode(ids));
 * ```
 * The model is fed what it has of `input_ids` (or its only input of token ids), `attention_mask`, `position_ids`,
 * `num_logits_to_keep`, and `past_key_values.…`, whose new values it must give as `present.…`: they stay in the engine
 * from token to token. Without these all tokens are computed again for each. Steps and other runs of the session may
 * come between. `docs/generate.md` has more.
 * Errors: `invalid-argument` (options; no such model; a token that is none of the vocabulary, more tokens than the model
 * has positions), `aborted`, and those of `predict`.
 */
export function generate(
  session: TrainingSession | InferenceSession,
  ids: TokenIds,
  options?: GenerateOptions,
): Promise<Generated>;

/** A text as token ids; with a prompt, of which nothing is learned, and its answer. */
export type TextIds = TokenIds | { readonly prompt: TokenIds; readonly answer: TokenIds };

export interface PackOptions {
  /** Tokens of an example. */
  length: number;
  /**
   * Tokens from the beginning of an example to that of the next one; at most `length`, the default. What an example has
   * in common with the one before is context: each label counts once.
   */
  stride?: number;
  /** Fills the last example of a text up (`pad_token_id`). Default: what does not fill an example is left out. */
  padTokenId?: number;
  /** The label of what does not count, as the loss's `ignoreIndex`; default −100. */
  ignoreIndex?: number;
  /**
   * true (default): the label of a token is the one after it, as losses of `generateArtifacts` compare them. false: it is
   * the token itself, for models of transformers that take labels and have their own loss.
   */
  shift?: boolean;
  /**
   * `session.trainingInputs`: there will be `attention_mask`, `position_ids` and empty `past_key_values.…` too where the
   * model takes them. Default: `input_ids` alone.
   */
  inputs?: readonly ValueInfo[];
}

export interface PackedText {
  /** [examples, length], int64 where the model does not say otherwise. */
  readonly inputs: Record<string, Tensor>;
  readonly labels: Record<string, Tensor>;
}

/**
 * Token ids of texts as a data set of a language model. Each text is cut by itself; join them to have examples go over
 * their ends.
 * ```js
 * const data = await packText(tokenizer.encode(text), { length: 128, inputs: session.trainingInputs });
 * await session.fit(data, { epochs: 3 });
 * ```
 * Where labels are ignored (prompts, padding, a smaller `stride`), artifacts need the loss's `ignoreIndex: -100`.
 * Errors: `invalid-argument` (options, what is no token, no text that fills an example).
 */
export function packText(texts: TextIds | readonly TextIds[], options: PackOptions): Promise<PackedText>;

export interface ArtifactSources {
  /** From `generateArtifacts` or `saveCheckpoint`. */
  checkpointState: Source;
  /**
   * Of artifacts with `lora`, from `saveCheckpoint({ base: false })`: what adapters have, in the place of what
   * `checkpointState` has. `checkpoint-mismatch` where it was saved over another base. Default: there is none.
   */
  adapterState?: Source;
  trainModel: Source;
  evalModel?: Source;
  optimizerModel?: Source;
}

/** Artifacts in one file; another given beside it, such as a later checkpoint, takes the place of its own. */
export interface CompactSource extends Partial<ArtifactSources> {
  /** From `compactArtifacts`. */
  compact: Source;
}

export interface CompactOptions extends EngineOptions {
  /**
   * How float32 parameters of two or more dims are kept: `exact` (default), as they are; `float16`; or `int8`,
   * symmetric, with a scale for each channel of the first dim. They are float32 again in a session. A parameter with a
   * value that float16 or int8 cannot hold stays exact, and so do vectors, scalars and the optimizer's moments.
   */
  weights?: 'exact' | 'float16' | 'int8';
}
/**
 * One file of artifacts, Trainlet's or ONNX Runtime's: train and eval graph, optimizer and checkpoint. It is smaller,
 * and read without ONNX's reader; a session of it trains, saves and exports the same, to the bit where weights are
 * exact.
 * ```js
 * const compact = await compactArtifacts(artifacts, { weights: 'float16' });
 * const session = await TrainingSession.create({ compact });
 * ```
 * Errors: those of `TrainingSession.create`.
 */
export function compactArtifacts(
  artifacts: ArtifactSources | CompactSource,
  options?: CompactOptions,
): Promise<Uint8Array<ArrayBuffer>>;

export class TrainingSession {
  private constructor();
  static create(artifacts: ArtifactSources | CompactSource, options?: TrainingSessionOptions): Promise<TrainingSession>;

  // — as in onnxruntime-web/training —
  /** `runTrainStep<Tensor<'float32'>>(…)` and the like say what type the outputs have. */
  runTrainStep<V extends Tensor = Tensor>(
    feeds: Feeds,
    fetches?: Fetches | StepOptions,
    options?: StepOptions,
  ): Promise<Record<string, V>>;
  runTrainStep<const F extends FetchStructure>(feeds: Feeds, fetches: F, options?: StepOptions): Promise<Fetched<F>>;
  runEvalStep<V extends Tensor = Tensor>(
    feeds: Feeds,
    fetches?: Fetches | StepOptions,
    options?: StepOptions,
  ): Promise<Record<string, V>>;
  runEvalStep<const F extends FetchStructure>(feeds: Feeds, fetches: F, options?: StepOptions): Promise<Fetched<F>>;
  /**
   * A loss of one's own, for artifacts made with the loss `outside` (ONNX Runtime's ORTModule's way; its training
   * models with a `YieldOp` do as well): runs the training model up to its outputs, in training mode. What it computed
   * stays in the worker, each run in memory of its own, until its `backward` has run or it is dropped; several may be
   * open at once. Dropout draws once for both. `invalid-argument` where the loss is inside; `signal` as of any run.
   * ```js
   * const { outputs, backward } = await session.forward({ x });
   * const { x: towardsX } = await backward({ y: gradientOfMyLoss(outputs.y) }, { inputs: ['x'] });
   * await session.runOptimizerStep();
   * await session.lazyResetGrad();
   * ```
   */
  forward(feeds: Feeds, options?: RunOptions): Promise<Forward>;
  /**
   * Where the loss is outside, the outputs for which `backward` takes gradients and the inputs towards which it gives
   * them; `null` where it is inside.
   */
  readonly outside: { readonly outputs: readonly string[]; readonly inputs: readonly string[] } | null;
  /** An optimizer step is not stopped once it has begun. */
  runOptimizerStep(options?: RunOptions): Promise<void>;
  lazyResetGrad(): Promise<void>;
  /**
   * The number of elements: of the parameters that train (true, the default here and below), of all (false), or of
   * those that train and the running statistics (`'with-statistics'`).
   */
  getParametersSize(trainableOnly?: boolean | 'with-statistics'): Promise<number>;
  /**
   * All of them in one float32 tensor, in the order of the training graph's inputs. Running means and variances of
   * normalizations do not train: to average models, or to send one on, use `'with-statistics'`, which is everything
   * that training changes.
   */
  getContiguousParameters(trainableOnly?: boolean | 'with-statistics'): Promise<Tensor<'float32'>>;
  /** Takes the bytes of such a tensor, four for each element. */
  loadParametersBuffer(bytes: Uint8Array, trainableOnly?: boolean | 'with-statistics'): Promise<void>;
  readonly trainingInputNames: readonly string[];
  readonly trainingOutputNames: readonly string[];
  readonly evalInputNames: readonly string[];
  readonly evalOutputNames: readonly string[];
  /** The names of the classes of a `head`; null where there is none. */
  readonly classNames: readonly string[] | null;
  /**
   * The type of the optimizer model; `adamw-hf` and `adam-hf` add epsilon to the uncorrected root, as ONNX Runtime's
   * AdamW. null without an optimizer model.
   */
  readonly optimizer: OptimizerType | 'adamw-hf' | 'adam-hf' | null;
  /** What is worth knowing about the artifacts, one sentence each, as `warnings` of an `InferenceSession`. */
  readonly warnings: readonly string[];
  /**
   * Ends the worker. Runs and steps that are not done are stopped, and other calls have 0.3 s to be answered, or until
   * the signal fires: all that is not answered is rejected with `released`. Await what you need before. It may be
   * called twice.
   */
  release(options?: { signal?: AbortSignal }): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;

  // — beyond it —
  /**
   * Train, optimize and reset in one message to the worker. A loss that is not finite is an error and changes no
   * parameter.
   */
  step(feeds: Feeds, options?: RunOptions): Promise<{ loss: number }>;
  /**
   * Trains. The position in the data is kept in the session and in its checkpoints. A fit that was cut short (by a
   * kill, an error, the signal or `maxSteps`) is therefore continued to the bit by the next `fit` over whole arrays
   * with the same number of examples and the same batch size, in this session or in one made from a checkpoint of it:
   * `epochs` then includes those already done, and the remaining batches are taken in the same shuffled order. The
   * schedule, the means of the epoch and early stopping, with the parameters that `restoreBest` has found best, go on
   * from where they were: with the same options, everything is as if the fit had not been cut short. Where options
   * differ, those of the new call apply from then on; the best epoch so far counts as long as `monitor` is the same
   * and, with `restoreBest`, its parameters were kept. `resume: false` starts from the beginning. A fit that was
   * completed leaves no position behind. A `history` has the epochs that ended during its own call; so has that of an
   * `aborted` error, always.
   *
   * The `meta` of a fit's last save has `ended: true`. A program that may have been killed behind that save looks at it,
   * or calls `fit` with `resume: true`: in a session made of that save, the first such `fit` over the same data, with the
   * same `checkpoint.name`, `epochs` and `batchSize`, takes no step and gives `stopped` as it was. By default it trains
   * once more.
   */
  fit(data: Dataset, options?: FitOptions): Promise<History>;
  /**
   * Mean loss and metrics. Batches weigh by what their loss has counted, so the numbers do not depend on `batchSize`:
   * labels that are not ignored, each by the weight of its class; of the losses of numbers, elements. A loss of
   * `reduction: 'sum'` is told as that mean too. Of several `losses` it is the weighted sum of their means. A
   * model's own (`none`) weighs by examples, but one that ends in ONNX's SoftmaxCrossEntropyLoss or
   * NegativeLogLikelihoodLoss, or in ReduceMean or ReduceSum where an input is named `target`, as those above. A loss
   * that is not finite, or labels none of which counts, are `non-finite-loss`.
   */
  evaluate<const M extends Metric | ArrayMetric | CustomMetric = Metric>(
    data: Dataset,
    options?: EvaluateOptions<M>,
  ): Promise<Record<string, MetricValue<M>>>;
  /** Runs forward, without labels; gives the model's own outputs, or those named by `fetches`. */
  predict<V extends Tensor = Tensor>(
    feeds: Feeds,
    options: PredictOptions & { readonly labels: true },
  ): Promise<Record<string, V> & { readonly labels: Tensor<'string'> }>;
  predict<V extends Tensor = Tensor>(
    feeds: Feeds,
    fetches?: Fetches | PredictOptions,
    options?: PredictOptions,
  ): Promise<Record<string, V>>;
  predict<const F extends FetchStructure>(feeds: Feeds, fetches: F, options?: PredictOptions): Promise<Fetched<F>>;
  /**
   * Gives the head first weights by the means of its features over each class, so that it answers before any step:
   * the score of a class is larger the nearer its mean is (nearest class mean), scaled to what the examples say. The
   * layers below stay; a class without examples stands at the mean of all. Moments and gradients are left as they are.
   * Errors: `invalid-argument` (no head, labels that are no class, inputs of other lengths).
   */
  initializeHead(data: { inputs: Feeds; labels: Feeds }): Promise<void>;
  /**
   * Gives artifacts of this session with more classes in an output: what a trained head knows stays, and the new
   * classes are learned beside it. Weights, optimizer state and properties are those of now, the old classes' scores
   * the same to the bit (but of an output of one class, whose scores may differ by 1.3e-5: for more the additions have
   * another order); the new classes' optimizer state is zero, as if their weights had never had a gradient. The session
   * itself stays as it is, until it is released.
   * ```js
   * const artifacts = await session.extendOutput('scores', ['heart', 'star'], { examples });
   * const wider = await TrainingSession.create(artifacts);
   * await wider.fit(all); // examples of old classes too: what is not learned again is forgotten
   * ```
   * The output is that of a `head`, or of any last layer that is a Gemm, or a MatMul with or without an Add. To load
   * a checkpoint of the wider session later, keep the artifacts. A `fit` that was cut short does not go on in them, and
   * a calibration is dropped, which `warnings` says.
   * Errors: `invalid-argument` (another last layer or loss, a name that a class has already, a model without names of
   * its classes where `classes` does not give them), `non-finite-loss` as of `saveCheckpoint`.
   */
  extendOutput(name: string, newClasses: readonly string[], options?: ExtendOptions): Promise<Artifacts>;
  /**
   * The adapter of artifacts made with `lora`, as the folder that PEFT reads (`PeftModel.from_pretrained`): what trains,
   * and nothing of the base. Errors: `invalid-argument` (no adapter, a prefix that a name does not begin with).
   * ```js
   * for (const [name, bytes] of Object.entries(await session.exportAdapter())) await save(name, bytes);
   * ```
   * It is the one in use. Or, with `format: 'onnx'`, ONNX Runtime's file of it; `invalid-argument` too where something
   * trains whole.
   */
  exportAdapter(options: ExportAdapterOptions & { format: 'onnx' }): Promise<OnnxAdapterFiles>;
  exportAdapter(options?: ExportAdapterOptions): Promise<AdapterFiles>;
  /**
   * Gives the adapter in use the numbers of such a folder, or of an .onnx_adapter file: of exportAdapter, or of PEFT. A module is found by its name, or by
   * one that only has more, or less, before it. Moments of the optimizer are left as they are.
   * Errors: `source-unreadable` (a damaged file), `invalid-argument` (a tensor that is missing, too many or of another
   * shape, another rank or alpha); nothing has changed then.
   */
  loadAdapter(files: AdapterSources): Promise<void>;
  /** Which there are, and which is in use: it trains, and is saved and exported. */
  readonly adapters: Adapters;
  /**
   * Another adapter over the same base, with optimizer state of its own, of the ranks and alphas that the artifacts were
   * made with. It begins as theirs did, adding nothing to the base, or with the numbers of such files as `loadAdapter`
   * takes. Which is in use stays.
   * ```js
   * await session.addAdapter('work');
   * await session.useAdapter('work');
   * await session.fit(mails, { epochs: 2 });
   * await session.predict({ input_ids }, { adapter: 'default' });
   * ```
   * Errors: `invalid-argument` (no `lora`, a name that is there already or has more than 1,024 bytes), those of
   * `loadAdapter`, `out-of-memory`; then there is none more.
   */
  addAdapter(name: string, files?: AdapterSources): Promise<void>;
  /**
   * From here on this adapter trains, answers, and is saved and exported. Its moments and counts of steps are its own;
   * learning rate, parameter groups and the random numbers are the session's. A fit that was cut short, its best
   * parameters, the average that `ema` kept, and accumulated gradients are dropped.
   *
   * null takes the base alone: what trains whole is as in the `checkpointState` that the session was made with. Weights
   * by name, `{ me: 0.7, work: 0.3 }`, take a sum: to each weight W the sum of w · s · B A of the adapters is added, or,
   * where that has a higher rank than there is room for, the nearest of that rank (PEFT's add_weighted_adapter with
   * `svd`); what trains whole is moved by w times what each adapter has moved it. It is computed at the call, and adapters
   * that learn later do not change it. Neither trains: `invalid-argument`.
   *
   * Errors: `invalid-argument` (no such adapter, a weight that is not finite, a fit that is running).
   */
  useAdapter(adapter: AdapterChoice): Promise<void>;
  /** Forgets an adapter. `invalid-argument` for the one in use, and where there is none of that name. */
  deleteAdapter(name: string): Promise<void>;
  /**
   * Finds the temperature by which scores are to be divided so that their softmax tells how often they are right (Guo
   * et al. 2017), on examples that were not learned. It changes no label; `predict(feeds, { probabilities: true })`
   * applies it. Kept as the property 'trainlet.calibration', so in checkpoints, and in the metadata of exported models.
   * What trains on should be calibrated anew.
   * ```js
   * const { temperature, before, after } = await session.calibrate(heldOut, { unknown: true });
   * const { labels } = await session.predict({ x }, { labels: true, threshold: true });
   * ```
   * Errors: `invalid-argument` (labels that are no class, inputs of other lengths, scores that are no rows).
   */
  calibrate(data: { inputs: Feeds; labels: Feeds }, options?: CalibrateOptions): Promise<Calibrated>;
  /** Names, types and dims of what a step is fed. */
  readonly trainingInputs: readonly ValueInfo[];
  /** All parameters, and which of them train at present. */
  readonly parameters: readonly ParameterInfo[];
  /**
   * From here on, exactly those parameters train whose names match one of the patterns (`*` stands for any characters,
   * `?` for one); the others are frozen. No new artifacts are needed, and what was needed only for the gradients of
   * frozen parameters is not computed. Running statistics never train. A parameter that is not finite, or on which the
   * loss does not depend, is skipped when a pattern with `*` or `?` matches it, and refused when it is given by its own
   * name. A BatchNormalization whose scale and bias are both frozen uses its running statistics and leaves them as they
   * are, as in Keras, and Dropout is off where weights come before it of which none trains; exactly what trained when
   * the artifacts were made trains as they say. The optimizer's state stays with the parameter: once it trains again,
   * it continues with its moments and its own count of steps, as in PyTorch. Accumulated gradients are dropped, and so
   * are forward runs that are open and the best parameters of a fit that was cut short. `saveCheckpoint` saves which
   * parameters train and, in Trainlet's format, the state of frozen ones. Errors: `invalid-argument` (a pattern that
   * matches nothing that could train, nothing left to train, a fit that is running), `unsupported-op` (an operator on
   * the way without a gradient); then nothing has changed.
   */
  setTrainable(patterns: readonly string[]): Promise<void>;
  /**
   * From here on, parameters have the learning rate, weight decay and anchor of their group, as PyTorch's parameter
   * groups; of several patterns that match, the last counts, and what none matches is as it would be without groups.
   * `[]` forgets them. Saved in Trainlet's checkpoints.
   * ```js
   * await session.setParameterGroups([
   *   { params: '*', lrScale: 0.1 },
   *   { params: 'head.*' },
   *   { params: '*.bias', weightDecay: 0 },
   * ]);
   * ```
   * Errors: `invalid-argument` (a pattern that matches no float32 parameter, a number below 0); then nothing has
   * changed.
   */
  setParameterGroups(groups: readonly ParameterGroup[]): Promise<void>;
  /** Of the shapes run last. */
  getMemoryPlan(): Promise<MemoryPlan>;
  /** As in an InferenceSession; 'eval' is also the graph that `predict` runs. Default: 'train'. */
  getGraphText(graph?: 'train' | 'eval'): Promise<string>;
  startProfiling(): Promise<void>;
  endProfiling(graph?: 'train' | 'eval'): Promise<NodeTimes>;
  getParameter(name: string): Promise<Tensor>;
  setParameter(name: string, value: TensorLike): Promise<void>;
  /**
   * The gradient of a parameter, accumulated by `runTrainStep` or `backward` since the last `lazyResetGrad`, before
   * clipping: zeros right after that, and after `step`, which ends with a reset. `invalid-argument` for a parameter
   * that does not train.
   */
  getGradient(name: string): Promise<Tensor<'float32'>>;
  setLearningRate(lr: number): Promise<void>;
  getLearningRate(): Promise<number>;
  /** For dropout and other random operators, and for the shuffles of later fits. */
  setSeed(seed: number | bigint): Promise<void>;
  readonly properties: PropertyBag;
  /**
   * Bytes that `create` can read; if they are damaged, it finds out by a checksum (`checkpoint-corrupt`). If training
   * has made parameters, running statistics or moments infinite or NaN, nothing is saved (`non-finite-loss`). Values
   * that were not finite when they were loaded, such as a mask, are saved.
   */
  saveCheckpoint(options?: CheckpointOptions): Promise<Uint8Array<ArrayBuffer>>;
  /** A plain inference model with the parameters as they are now; `non-finite-loss` as with `saveCheckpoint`. */
  exportModel(options?: ExportOptions): Promise<Uint8Array<ArrayBuffer>>;
}

/** A forward run that waits for the gradients of its outputs. */
export interface Forward {
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
  [Symbol.asyncDispose](): Promise<void>;
}

export interface BackwardOptions extends RunOptions {
  /** Float32 inputs to give gradients towards; nothing is computed for others. Default: none. */
  readonly inputs?: readonly string[];
}

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
   * Of artifacts made with `lora`. `separate` (the default): adapters are nodes and initializers of their own, and the
   * base stays what it was. `merged`: they go into the weights, and the model is the base's in structure and size;
   * `unsupported-op` where a weight is no float32 constant, as one of 4 bits. `inputs`: their matrices are inputs of the
   * model by their names (`…q_proj.lora_A.weight`), so that one base serves many persons: stock onnxruntime-web feeds
   * them with each run. The last two: `invalid-argument` where there are none, or with `trainingInfo`.
   */
  adapters?: 'separate' | 'merged' | 'inputs';
  /**
   * As of a run (`RunOptions`): what waits for others is cancelled at once. One that is being written is not cut short
   * where memory is shared either.
   */
  signal?: AbortSignal;
}

export interface CheckpointOptions {
  /** Whether the optimizer's moments and step count are saved; default true. */
  optimizerState?: boolean;
  /**
   * false: of a session with `lora` the adapters alone, all of them, with their optimizer state: kilobytes, to be loaded
   * as `adapterState` beside the artifacts. Whatever trains is among it; of the parameters that are not there is a hash.
   * `invalid-argument` without `lora`, and with another format than `trainlet`. Default true.
   */
  base?: boolean;
  /**
   * Default `trainlet`, from which training continues to the bit. `ort` is ONNX Runtime's format: it cannot hold the
   * position of a fit, the state of the random numbers, bounds, groups, averages, the optimizer's state of frozen
   * parameters, separate step counts of parameters and adapters that are not in use, and it holds the learning rate only
   * with the optimizer's state.
   */
  format?: 'trainlet' | 'ort';
  /** The version of `ort`: 2 (default) is read by ONNX Runtime 1.18 and later, 1 by 1.16 and 1.17. */
  version?: 1 | 2;
  /**
   * As of a run (`RunOptions`): one that waits for others, or for the end of a step of `fit`, is cancelled at once. One
   * that is being written is not cut short where memory is shared either.
   */
  signal?: AbortSignal;
}

export type Property = bigint | number | string;
/** Small values that are saved with the checkpoint: a bigint is stored as int64, a number as float32. */
export interface PropertyBag {
  get(name: string): Property | undefined;
  /**
   * What could not be read back unchanged is refused at once (`invalid-argument`): a name that is empty or has more
   * than 1,024 bytes of UTF-8, a string of more than 16 MB, a zero character or a lone surrogate in either, a bigint of
   * more than 64 bits, a number that is not finite as a float32.
   */
  set(name: string, value: Property): void;
  delete(name: string): boolean;
  entries(): IterableIterator<[string, Property]>;
}

/** One number from 0 up for each example, or for each label where an example has several. */
export type SampleWeight = readonly number[] | Float32Array | Float64Array | TensorLike;

/**
 * Labels of a cross-entropy are class indices, of any integer type or whole floats, (N) or (N, 1), or one-hot rows.
 * Whole arrays (all with the same first dim; `inputs` and `labels` together are the feeds), or batches one after
 * another, of which only the one in flight and the next are held.
 *
 * `sampleWeight`, for artifacts made with `sampleWeights`: how much each example counts. A batch of its own may bring
 * them as the input `sample_weight`.
 */
export type Dataset =
  | { inputs: Feeds; labels?: Feeds; sampleWeight?: SampleWeight }
  | AsyncIterable<Feeds>
  | Iterable<Feeds>
  | (() => AsyncIterable<Feeds> | Iterable<Feeds>);

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
  readonly name: string;
  /** Whether a larger result is better; needed where `earlyStopping` or a 'plateau' schedule monitors the metric. */
  readonly higherIsBetter?: boolean;
  updateState(labels: Tensor, predictions: Tensor): void;
  result(): number;
  resetState(): void;
}
/** What a metric gives. */
export type MetricValue<M> = M extends 'confusion-matrix' ? number[][] : M extends ArrayMetric ? number[] : number;

/**
 * The learning rate of each optimizer step, counted from the start of the fit (a continued fit goes on counting). It
 * first rises linearly to `lr` over `warmup` steps. 'linear' then falls in a line and 'cosine' along half a wave, both
 * to `end` (default 0) at step `steps` (default: all steps of `epochs`, even those that `maxSteps` cuts off; for
 * batches that come one after another, whose number is not known, `maxSteps`). 'step' multiplies by `factor` every
 * `every` steps.
 *
 * 'one-cycle' is PyTorch's OneCycleLR: over the first `pctStart` (default 0.3) of so many `steps` it rises from
 * lr / `divFactor` (default 25) to `lr`, then it falls to lr / divFactor / `finalDivFactor` (default 1e4), along half a
 * wave ('cos', default) or in a line ('linear').
 *
 * 'plateau' is PyTorch's ReduceLROnPlateau: when `monitor`, a metric of the epoch (default `val_loss` with validation,
 * else
 * `loss`), has not got better by more than `minDelta` (absolute; default 1e-4) in more than `patience` (default 10)
 * epochs, the rate is multiplied by `factor` (default 0.1), down to `minLr` (default 0), and the next `cooldown`
 * (default 0) epochs do not count. A continued fit goes on with what was seen before.
 */
export type Schedule =
  | ((step: number) => number)
  | { type: 'constant'; lr: number; warmup?: number }
  | { type: 'linear' | 'cosine'; lr: number; warmup?: number; steps?: number; end?: number }
  | { type: 'step'; lr: number; every: number; factor: number; warmup?: number }
  | {
      type: 'one-cycle';
      lr: number;
      steps?: number;
      pctStart?: number;
      divFactor?: number;
      finalDivFactor?: number;
      annealStrategy?: 'cos' | 'linear';
    }
  | {
      type: 'plateau';
      lr: number;
      factor?: number;
      patience?: number;
      monitor?: string;
      minDelta?: number;
      cooldown?: number;
      minLr?: number;
      warmup?: number;
    };

export interface EvaluateOptions<M extends Metric | ArrayMetric | CustomMetric = Metric | ArrayMetric | CustomMetric> {
  /** Of whole arrays; default 32. */
  batchSize?: number;
  /** Besides the loss; default: accuracy where the labels are class indices. */
  metrics?: readonly M[];
  /** For `bits-per-byte`: how many bytes of UTF-8 the text of all labels that count has. */
  bytes?: number;
  /** Of the average that `fit` kept with `ema`, not the parameters as they are; `invalid-argument` if there is none. */
  ema?: boolean;
  /** Another adapter than the one in use, null, or a sum, as in `predict`; not with `ema`, which is of the one in use. */
  adapter?: AdapterChoice;
  /** Stops it, within a batch too, as the signal of a run does. */
  signal?: AbortSignal;
}

export interface FitOptions {
  /** Default 1. */
  epochs?: number;
  /**
   * Of whole arrays; default 32. The last batch of an epoch may be smaller and is trained too, unless it is a single
   * example that leaves BatchNormalization a single value for each channel: a warning says that it is left out.
   */
  batchSize?: number;
  /** Leaves out the last batch of an epoch if it is smaller than `batchSize`; default false. For whole arrays. */
  dropLast?: boolean;
  /** Whether whole arrays are shuffled anew for each epoch; default true. */
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
  /** How many batches make an optimizer step; their gradients are added up, as in ONNX Runtime. Default 1. */
  accumulate?: number;
  /** The most optimizer steps that this call takes. */
  maxSteps?: number;
  /** A data set, or the share of the arrays (0 … 1) that is held out: at their end, or as `splitBy` says. */
  validation?: Dataset | number | ValidationSplit;
  /**
   * Of the training batches too where the artifacts have the predictions as `additionalOutputs`. Default: accuracy
   * where the labels are class indices.
   */
  metrics?: readonly (Metric | CustomMetric)[];
  /**
   * How much the labels of each class count in training, on top of the data set's `sampleWeight`; validation is not
   * weighted. A number from 0 up for each class, or for some by their name (`classNames`) or index, the others being 1:
   * `{ 2: 5 }`. 'balanced', of whole arrays: n / (classes · labels of the class), as in scikit-learn, so that rare
   * classes count as much as others together. Default: all alike. `invalid-argument` where the artifacts were not made
   * with `sampleWeights`.
   */
  classWeight?: 'balanced' | readonly number[] | Readonly<Record<string, number>>;
  schedule?: Schedule;
  /**
   * Keeps an exponential moving average of what trains: a copy after the first step, then decay · average + (1 − decay)
   * · parameter after each, as PyTorch's `swa_utils.get_ema_multi_avg_fn`. `decay` is above 0 and below 1; default
   * 0.999.
   * `evaluate` and `exportModel` take it with `ema: true`; validation and early stopping are of the parameters
   * themselves. It is in Trainlet's checkpoints, a continued fit goes on with it, and it stays as it is after the fit,
   * until another fit with `ema` begins or `setTrainable` drops it.
   */
  ema?: { decay?: number };
  /**
   * Where the lower layers are frozen, what they compute of each example (its features) is kept, and later epochs run
   * the layers above alone, for held-out examples (`validation`) as well. true (default): whenever whole arrays are
   * trained for more than one epoch, up to 256 MB; more is computed anew in each epoch. It is left off by itself where
   * an example's features are not the same each time, as with `augment` or below a Dropout that is on, or depend on the
   * other examples of a batch. Losses are the same to the bit, but for the last bits where a batch has fewer than four
   * examples. `history.features` tells of it.
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
   *     await session.fit(data, { epochs: 20, augment: ['flip', { type: 'shift', x: 0.1, y: 0.1 }, { type: 'rotate', degrees: 10 }] });
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
  earlyStopping?: { patience: number; monitor?: string; minDelta?: number; restoreBest?: boolean };
  /**
   * Checkpoints are saved at these intervals (`everyEpochs`: 1 by default, Infinity for none by epochs), at the end,
   * when the fit is aborted, and as soon as the page is hidden or left (`visibilitychange`, `pagehide`). A page that is
   * closed may be gone before such a save is done: `everyMs` is what it loses at most. A save that fails (no room, or a
   * store that does not answer within a minute plus a second for each MB) does not end the fit: `onCheckpoint` is told,
   * and it is tried again after 1, 2, 4 … 60 seconds. Once the signal has come, a store has 3 seconds in place of the
   * minute, and nothing is tried again. If the final state could not be saved, fit is rejected with the store's code, a sentence that says what is not saved, `cause` and `history`. Parameters
   * that are not finite are never saved over good ones: fit is rejected with `non-finite-loss`.
   *
   * The `meta` of each save is `{ epoch, step }`, of the one at the end of the fit `{ epoch, step, ended: true }`. If
   * the mean loss of the epoch is above 1,000 times the smallest one of an epoch before, it has `diverged: true`, too:
   * the store then keeps the versions from before (`versions` lists them, `load(name, { version })` gives one).
   */
  checkpoint?: {
    store: CheckpointStore;
    name: string;
    everySteps?: number;
    everyMs?: number;
    everyEpochs?: number;
    /** As of `saveCheckpoint`: false saves the adapters alone. */
    base?: boolean;
  };
  /** What the fit may take of time, and of a battery. Default: no bounds, and no pauses. */
  budget?: Budget;
  /**
   * The answer to a loss or gradient that is not finite, or a step that would make parameters or running statistics
   * so; it changes none. Default `throw`.
   */
  onNaN?: 'throw' | 'stop' | 'skip';
  /** What listens is waited for if it gives a promise; its rejection, here and below, rejects the fit. */
  onBatch?: (event: BatchEvent) => unknown;
  onEpoch?: (event: EpochEvent) => unknown;
  onCheckpoint?: (event: CheckpointEvent) => unknown;
  /** While features are computed, before the first epoch. */
  onFeatures?: (event: FeatureEvent) => unknown;
  /** The `budget` has paused the fit, or lets it go on. */
  onPause?: (event: PauseEvent) => unknown;
  onResume?: (event: PauseEvent & { readonly ms: number }) => unknown;
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

/** What a training may take. */
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

export interface PauseEvent {
  /** As in a BatchEvent. */
  readonly step: number;
  readonly epoch: number;
  readonly reason: 'hidden' | 'battery';
}

export interface AugmentOptions {
  readonly steps: readonly Augmentation[];
  /**
   * Which input, float32 or uint8: of four dims pictures, of two or three, (N, samples) or (N, channels, samples),
   * signals. Default: the only one that is not among the data set's labels.
   */
  readonly input?: string;
  /** Of pictures. Default: NHWC where the model says that the last dim is 1 or 3 and the second is not, else NCHW. */
  readonly layout?: 'NCHW' | 'NHWC';
}

/**
 * One step, by its name with its defaults or with options; each example draws its own numbers, evenly from the ranges.
 * What lies beyond the edge of a picture is the edge's nearest pixel, beyond a signal 0.
 */
export type Augmentation =
  | 'flip'
  | 'shift'
  | 'rotate'
  | 'crop'
  | 'noise'
  | 'colour'
  | 'scale'
  /** Pictures are mirrored with probability `p`, 0.5; axis `horizontal` (default): left and right change places. */
  | { readonly type: 'flip'; readonly p?: number; readonly axis?: 'horizontal' | 'vertical' }
  /** By whole pixels or samples, up to this share of the width (0.1) and height (0.1), either way. */
  | { readonly type: 'shift'; readonly x?: number; readonly y?: number }
  /** Pictures, about their middle, up to so many degrees either way; 15. */
  | { readonly type: 'rotate'; readonly degrees?: number }
  /** A part of a picture, at least this share of its sides (0.8), is enlarged to all of it. */
  | { readonly type: 'crop'; readonly least?: number }
  /** Normal noise of this standard deviation, 0.05 in the input's numbers; of uint8 in 255ths. */
  | { readonly type: 'noise'; readonly std?: number }
  /**
   * Pictures: up to `brightness` (0.2, in the input's numbers) is added, the contrast is changed by up to that share
   * (0.2), and each channel by itself by up to `tint` (0.1).
   */
  | { readonly type: 'colour'; readonly brightness?: number; readonly contrast?: number; readonly tint?: number }
  /** Signals become louder or softer by up to this share; 0.2. */
  | { readonly type: 'scale'; readonly by?: number }
  /**
   * A module of your own, whose default export changes a batch: `export default ({ data, dims, random, epoch, batch,
   * options }) => { … }` writes into `data`; `random()` gives numbers from 0 up to 1, the same each time for the same
   * batch. In browsers a URL, in Node also a path.
   */
  | { readonly module: string | URL; readonly options?: unknown };

/** Which share of whole arrays is held out for validation. */
export interface ValidationSplit {
  /** Above 0 and below 1. */
  readonly share: number;
  /**
   * 'time' (default): the examples are in the order in which they came, and the last are held out. An array with the
   * group of each example, as its session or person: whole groups, those that begin last, are held out until they are
   * the share.
   */
  readonly splitBy?: 'time' | ArrayLike<string | number>;
}

export interface BatchEvent {
  /** Optimizer steps done since the start of the fit. */
  readonly step: number;
  /** Optimizer steps of the whole fit, where known. */
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
  /** Absent where the length of the data is not known. */
  readonly etaMs?: number;
  readonly metrics: Readonly<Record<string, number>>;
}

export interface EpochEvent {
  readonly step: number;
  readonly epoch: number;
  readonly epochs: number;
  /** The mean of the epoch, as `evaluate` takes it. */
  readonly loss: number;
  readonly lr: number;
  readonly samplesPerSecond: number;
  readonly etaMs?: number;
  /** `loss`, `accuracy` where known, and `val_…` of the validation data. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** A checkpoint was saved, or could not be saved where there is an `error`. */
export interface CheckpointEvent {
  /** As in a BatchEvent. */
  readonly step: number;
  readonly epoch: number;
  readonly error?: TrainletError;
  /** How long it will be at least until it is tried again; absent at the end of the fit. */
  readonly retryMs?: number;
}

export interface CacheFeatures {
  /** Of memory, in bytes. */
  maxBytes?: number;
  store?: FeatureStore;
}

/** Of how many examples the features were computed, and of how many they came from a store. */
export interface FeatureOrigins {
  readonly computed: number;
  /** The store had them in memory, from a call before. */
  readonly fromMemory: number;
  readonly fromStorage: number;
}

/** Features that are kept of examples. */
export interface FeatureEvent {
  /** The examples whose features have been computed, and how many there are. */
  readonly done: number;
  readonly examples: number;
  /** What the features of all examples that are trained on take. */
  readonly bytes: number;
  /** Where there is a store: of those that are done. */
  readonly store?: FeatureOrigins;
}

/**
 * Features that were computed once: the names of the values, what they take, and the time they took, those of held-out
 * examples with them.
 */
export interface KeptFeatures {
  readonly values: readonly string[];
  readonly bytes: number;
  readonly ms: number;
  /**
   * Where a store had them or was to have them; absent where it could not: the engine was shrunk and has no
   * `exportModel`, or features depend on the other examples of a batch in their last bits. `error`: why not all that
   * was computed is in the store's storage (`quota-exceeded`, `store-failed`), or what it has could not be read.
   */
  readonly store?: FeatureOrigins & { readonly error?: TrainletError };
}

export interface History {
  readonly features?: KeptFeatures;
  readonly epochs: readonly EpochEvent[];
  /** Optimizer steps done by this call. */
  readonly steps: number;
  /** Batches left out because of numbers that are not finite (`onNaN: 'skip'`). */
  readonly skipped: number;
  /** Milliseconds for which the `budget` paused it; absent without one. */
  readonly pausedMs?: number;
  readonly stopped: 'completed' | 'max-steps' | 'max-ms' | 'early-stopping' | 'non-finite-loss' | 'aborted' | 'failed';
}

/**
 * Checkpoints that survive a kill at any moment: in IndexedDB in browsers; in Node in a folder, where each version is
 * one file, `NAME.VERSION.trainlet` (a path to it is a `Source`), and no other file is touched. Two processes or tabs
 * may save under the same name: each save is a version of its own. A name is a string that is not empty and has no lone
 * surrogates; in a folder it may take at most 200 bytes of the file's name: one for each of a to z, digits, - and _,
 * three for every other byte of UTF-8. Errors: `invalid-argument`, `store-failed`, `quota-exceeded`,
 * `checkpoint-corrupt`.
 */
export class CheckpointStore {
  private constructor();
  /**
   * `database` (browsers) defaults to `trainlet`, `directory` (Node) to `checkpoints`; the last `keep` versions are
   * kept, default 2. A version whose meta has `diverged: true` drops none that has not; the last `keep` of these stay
   * beside, until a version without it is saved.
   */
  static open(options?: { database?: string; directory?: string; keep?: number }): Promise<CheckpointStore>;
  /**
   * Takes the bytes and meta as they are at the call; resolves with the version's number when they are durable. A
   * folder keeps `meta` as JSON. If a browser's storage does not answer for 15 s, plus one for each MB, the save fails
   * with `store-failed`; it may still be done later.
   */
  save(name: string, bytes: Uint8Array, meta?: Record<string, unknown>): Promise<number>;
  /**
   * The `version` asked for, or else the newest one that is intact by its checksum; newer ones that are not are listed
   * in `skipped`. `checkpoint-corrupt` if there are versions but none is intact.
   */
  load(name: string, options?: { version?: number }): Promise<StoredCheckpoint | undefined>;
  /** Oldest first. */
  versions(name: string): Promise<readonly CheckpointVersion[]>;
  list(): Promise<readonly { name: string; bytes: number; savedAt: Date }[]>;
  delete(name: string): Promise<void>;
  /**
   * Asks the browser not to delete the storage when the disk is nearly full; resolves with whether it agreed. In Node
   * true.
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

/** `bytes`: how many; `meta` is absent where the version is visibly damaged. */
export interface CheckpointVersion {
  readonly version: number;
  readonly bytes: number;
  readonly savedAt: Date;
  readonly meta?: Record<string, unknown>;
}

export interface SampleStoreOptions {
  /** Letters, digits, - and _; stores of different names are apart. Default `samples`. */
  name?: string;
  /** In Node, the folder that has a folder of the store's name. Default `samples`. */
  directory?: string;
  /** Default 10,000. */
  maxSamples?: number;
  /** Of the samples' tensors; in Node of their files. Default 268,435,456, 256 MB. */
  maxBytes?: number;
  /** A store from which `delete` removes the features of the sample as well. Default: none. */
  features?: FeatureStore;
}

/** An example of one person: its tensors by the names of the model's inputs, and what it is. */
export interface Sample {
  /** Numbers of any type, 1 in their first dim, as `Tensor.fromImage` and `Tensor.fromAudio` give them. Copied. */
  readonly inputs: Readonly<Record<string, TensorLike>>;
  /** The name of a class, up to 200 characters; null, the default, where it is not known yet. */
  readonly label?: string | null;
  /** Whatever else is to be known, up to 65,536 characters of JSON. */
  readonly meta?: Readonly<Record<string, unknown>>;
}

export interface SampleInfo {
  readonly id: string;
  readonly label: string | null;
  readonly meta: Record<string, unknown>;
  readonly addedAt: Date;
  readonly bytes: number;
}

export interface StoredSample extends SampleInfo {
  readonly inputs: Record<string, Tensor>;
}

/**
 * A person's samples, kept as checkpoints are: in IndexedDB in browsers, in Node in a folder. What `add`, `label` and
 * `delete` have acknowledged holds after a kill at any moment. It is bounded: what would go past `maxSamples` or
 * `maxBytes` is refused (`quota-exceeded`), and nothing is dropped for it.
 *
 *     const store = await SampleStore.open();
 *     await store.add({ inputs: { x: await Tensor.fromImage(picture, { size: 96 }) }, label: 'cat' });
 *     await session.fit(await store.dataset());
 *
 * Errors: `invalid-argument`, `quota-exceeded`, `store-failed`, `checkpoint-corrupt` (a sample or a file that is
 * damaged).
 */
export class SampleStore {
  private constructor();
  static open(options?: SampleStoreOptions): Promise<SampleStore>;
  /**
   * Resolves with the sample's id when it is durable. No id is given twice, not after a `delete` either. Writes go one
   * after the other; if a browser's storage does not answer one for 15 s, plus one for each MB, that fails with
   * `store-failed`; it may still be done later. (In a tab that the browser slows down it takes up to three minutes.)
   */
  add(sample: Sample): Promise<string>;
  /** Names its class, or another one; null takes the label away. `invalid-argument` where there is no such sample. */
  label(id: string, label: string | null): Promise<void>;
  /** Without their tensors, oldest first: all, those of a label, or with `label: null` those without. */
  list(options?: { label?: string | null }): Promise<SampleInfo[]>;
  get(id: string): Promise<StoredSample | undefined>;
  /** Resolves with whether there was one, when it is gone from the storage. */
  delete(id: string): Promise<boolean>;
  /** The labels in the order in which their oldest samples came: the index of each is what `dataset` makes of it. */
  classes(): Promise<string[]>;
  /**
   * The samples with a label as `fit` and `evaluate` take them, oldest first. `classes`: which index each label has
   * (default: as `classes()` tells; keep those of a trained head, for the order changes with what is deleted); a label
   * that is not among them is refused. `labels`: the model's label input, default `labels`.
   */
  dataset(options?: {
    classes?: readonly string[];
    labels?: string;
  }): Promise<{ inputs: Record<string, Tensor>; labels: Record<string, Tensor<'int64'>> }>;
  /** All samples in one file, with a checksum. */
  export(): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Adds the samples of such a file, with their ids; those that are there already stay as they are. Resolves with how
   * many were added. A file that is damaged or something else is refused whole.
   */
  import(bytes: Uint8Array): Promise<number>;
  /**
   * Asks the browser not to delete the storage when the disk is nearly full; resolves with whether it agreed. In Node
   * true.
   */
  persist(): Promise<boolean>;
}

export interface FeatureStoreOptions {
  /** Letters, digits, - and _; stores of different names are apart. Default `features`. */
  name?: string;
  /** In Node, the folder that has a folder of the store's name. Default `features`. */
  directory?: string;
  /** Of the storage; what was not used for longest is removed for what comes. Default 536,870,912, 512 MB. */
  maxBytes?: number;
  /** Of what was used last, which is in memory as well. Default 67,108,864, 64 MB. */
  maxMemoryBytes?: number;
}

/**
 * What frozen layers compute of examples, kept from call to call and from day to day: in IndexedDB in browsers, in Node
 * in a folder. It is found by a hash of an example's inputs and one of the frozen layers, their weights with them, and
 * has a checksum: what is damaged is computed again. Several tabs or processes may have the same store.
 *
 *     const features = await FeatureStore.open({ name: 'signs' });
 *     const { report } = await fineTune(model, await store.dataset(), { cacheFeatures: { store: features } });
 *     console.log(report.features.store); // { computed: 1, fromMemory: 0, fromStorage: 60 }
 *
 * Errors: `invalid-argument`, `store-failed`, `unsupported-browser` (a page that is not served by https or from
 * localhost).
 */
export class FeatureStore {
  private constructor();
  static open(options?: FeatureStoreOptions): Promise<FeatureStore>;
  /** Whether there is anything of one of these examples, a row each, by the names of the model's inputs. */
  has(inputs: Readonly<Record<string, TensorLike>>): Promise<boolean>;
  /**
   * Removes what there is of these examples, a row each, of whatever layers. Resolves with how many were removed, when
   * they are gone from the storage. Another tab that is open may have them in memory until its next call.
   */
  delete(inputs: Readonly<Record<string, TensorLike>>): Promise<number>;
  /** Of the storage: of how many examples it has features, and what they take. */
  total(): Promise<{ examples: number; bytes: number }>;
  /** Removes all of them. */
  clear(): Promise<void>;
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
  /**
   * The file is of a version of its format that this release does not read, as a newer one: checkpoints, compact files,
   * models (.onnx by IR version, .ort), `.onnx_adapter`, `.npy`, and what stores have kept. A newer ai.onnx opset is a
   * warning. The versions: `schema/VERSIONS.md`.
   */
  | 'unsupported-version'
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

/** Everything that is thrown is one of these. The message is one sentence; `code` is stable. */
export class TrainletError extends Error {
  constructor(code: ErrorCode, message: string, options?: { node?: string; cause?: unknown });
  readonly code: ErrorCode;
  /** The node of the model that the message is about. */
  readonly node?: string;
  /** What a fit had done when it was aborted or failed. */
  readonly history?: History;
}
