/** The engine: sources of bytes, workers, threads, limits of memory and work. */

import type { AbortSignal, Blob, Response, URL } from './internal/platform.js';
import type { TensorLike } from './tensor.js';

/**
 * A source of bytes, always less than 4 GB. A string is a URL (in Node also the path of a regular file, not of a
 * pipe or device); `indexeddb:NAME` reads from the browser's checkpoint store, and
 * `indexeddb:NAME?database=DATABASE&version=VERSION`, either or both, from another database or an earlier version: NAME
 * and DATABASE are percent-encoded there (`encodeURIComponent`), while a name alone is taken as it is.
 */
export type Source = string | URL | Uint8Array | ArrayBuffer | Blob | Response;

/** The bytes that have come of the file of one argument. */
export interface LoadProgress {
  /** The argument that is being loaded: `model`, `trainModel`, `checkpointState`, … */
  readonly source: string;
  /** The bytes that have come so far. */
  readonly loadedBytes: number;
  /** Absent where the server does not tell. */
  readonly totalBytes?: number;
}

/** Options of the engine: threads, worker, and the places of its files. */
export interface EngineOptions {
  /**
   * Default true, where there are workers: each session runs in one of its own (a Web Worker; `worker_threads` in
   * Node). false, and by default in a service worker and in a shared worker of Chromium, which can start none: in the
   * calling thread, which has a turn at other things every 4 ms, or after a step that takes longer. When a worker dies,
   * every call is rejected with `worker-died`. Where the browser does not report the death, as when the worker was
   * ended from outside, it is noticed once the engine has been loaded: by Web Locks in secure contexts, elsewhere
   * within about 15 s, while a call is open, by a worker that the worker starts. A `signal` works everywhere.
   */
  worker?: boolean;
  /**
   * The number of threads that compute, at most 16. Default 'auto': as many as there are cores, at most 8. More than
   * one thread needs memory that can be shared, which is there in Node and in a page that is `crossOriginIsolated`;
   * elsewhere one thread computes. Every count gives the same bits.
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
  /**
   * The worker's script, a module. Default: the package's `worker.js`. It may lie on another origin. Where `configure`
   * sets it, the script of `augment`, `worker-augment.js`, is taken from the same folder if it is there.
   */
  workerUrl?: string | URL;
  /** The bytes of the engine's file, in place of `wasmUrl`. Default: it is fetched. */
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
   * file of an ONNX Runtime checkpoint (of 1.8 GB or more) is `checkpoint.data`. Bytes are copied, never transferred.
   * `generateArtifacts` and `parametersOf` never have a URL, a path or a Blob in memory as a whole: they read one
   * tensor after the other (of a server by ranges; one that gives none is asked for the whole, as a Blob).
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
  /** Called while sources are loaded, with the bytes of each so far. */
  onProgress?: (progress: LoadProgress) => void;
}

/** The options that `configure` takes. */
export type EngineDefaults = Pick<
  EngineOptions,
  'worker' | 'threads' | 'reproducible' | 'wasmUrl' | 'workerUrl' | 'wasmBinary'
>;

/**
 * Sets options once for all engines that are made afterwards: those of sessions, `generateArtifacts` and all else. A
 * call's own option goes first. Called again, it changes what it names; `undefined` takes an option back.
 *
 * ```js
 * configure({ wasmUrl: '/engine/trainlet.wasm', workerUrl: '/engine/worker.js', threads: 1 });
 * ```
 */
export function configure(options: EngineDefaults): void;

/**
 * The engine's options, and those that tell ONNX Runtime how to compute: these are accepted and have no effect. A
 * session takes any number for a free dim; `generateArtifacts` heeds `freeDimensionOverrides`.
 */
export interface SessionOptions extends EngineOptions {
  /** ONNX Runtime's; no effect. */
  executionProviders?: readonly unknown[];
  /** ONNX Runtime's; no effect: `threads` sets the number of threads. */
  intraOpNumThreads?: number;
  /** ONNX Runtime's; no effect. */
  interOpNumThreads?: number;
  /** ONNX Runtime's; no effect. */
  executionMode?: 'sequential' | 'parallel';
  /** ONNX Runtime's; no effect. */
  graphOptimizationLevel?: 'disabled' | 'basic' | 'extended' | 'all';
  /** Sizes of free dims by their names; no effect in a session, which takes any size. */
  freeDimensionOverrides?: Readonly<Record<string, number>>;
  /** ONNX Runtime's; no effect. */
  enableCpuMemArena?: boolean;
  /** ONNX Runtime's; no effect. */
  enableMemPattern?: boolean;
  /** ONNX Runtime's; no effect: `startProfiling` times the nodes. */
  enableProfiling?: boolean;
  /** ONNX Runtime's; no effect. */
  profileFilePrefix?: string;
  /** ONNX Runtime's; no effect. */
  logId?: string;
  /** ONNX Runtime's; no effect. */
  logSeverityLevel?: number;
  /** ONNX Runtime's; no effect. */
  logVerbosityLevel?: number;
  /** ONNX Runtime's; no effect. */
  extra?: unknown;
}
