/** The messages between page and worker: each method with its arguments and its result. */

import type { Taken } from '../base/tensor.js';
import type {
  DataType,
  ErrorCode,
  MemoryPlan,
  ModelParameter,
  NodeTimes,
  ParameterInfo,
  TypedArray,
  ValueInfo,
} from '../types.js';

/**
 * Tensors in one buffer, each at an offset that is a multiple of 8; those of a sequence have its name, in order.
 * Strings are text with a zero byte after each.
 */
export interface PackedFeeds {
  tensors: { name: string; type: DataType; dims: number[]; offset: number; bytes: number }[];
  sequences: { name: string; count: number }[];
  buffer: ArrayBuffer;
}

export interface PlainTensor<D = TypedArray | string[]> {
  type: DataType;
  data: D;
  dims: number[];
}
/** A sequence is an array, an optional without an element null. */
export type Outputs = Record<string, PlainTensor | PlainTensor[] | null>;
/** Inputs of a graph that trains. */
export type NumberOutputs = Record<string, PlainTensor<TypedArray>>;

/** A checkpoint's contents, read without a model. */
export interface CheckpointContents {
  /** Owner of its format: Trainlet or ONNX Runtime. */
  writer: string;
  parameters: { name: string; type: DataType; dims: number[]; trainable: boolean }[];
  /** Its type is '' where the file does not name it. */
  optimizer: {
    type: string;
    learningRate: number;
    initialLearningRate: number;
    steps: number;
    moments: number;
  } | null;
  properties: PropertyEntry[];
  nominal: boolean;
  position: Position;
}

export interface GraphInfo {
  inputs: ValueInfo[];
  outputs: ValueInfo[];
  /** Its first output is the loss of scores against class labels. */
  crossEntropy: boolean;
  /** true: its loss is of the difference of scores and a target of numbers, as in mse, l1 and huber. */
  difference?: true;
  /** From which its loss is computed: an output, or a value within. */
  scores?: string;
  /** Losses whose weighted sum is its first output, outputs too; empty for one loss. */
  losses: { name: string; weight: number }[];
  /** JSON from the file of a model with a Trainlet head: its classes; its features, its weight and its bias. */
  classes?: string;
  head?: string;
  calibration?: string;
  /** A JSON object (js/adapters/adapter.js). */
  lora?: string;
}
/**
 * Three numbers for each loss, in the order of GraphInfo: it, what it has counted (labels or elements, -1 where the
 * model does not say), and 1 where it is their sum.
 */
export type Counted = readonly number[];
export interface SessionInfo {
  train: GraphInfo | null;
  eval: GraphInfo | null;
  model: GraphInfo | null;
  parameters: ParameterInfo[];
  optimizer: { type: string } | null;
  predict: string[];
  /** The number of outputs of `predict` before the first of floats, as the labels of scikit-learn's models. */
  predictedLabels: number;
  /** Adapters of a model with LoRA, and the indices of the parameters that have values for each adapter. */
  adapters?: { names: string[]; active: string | null };
  adapted?: number[];
  /** With an external loss: the outputs that take a gradient, and the inputs that get one. */
  outside: { outputs: string[]; inputs: string[] } | null;
  warnings: string[];
}

/** The values that frozen layers compute for an example, the same in each step; the inputs of a step fed with them. */
export interface Features {
  features: string[];
  inputs: string[];
  evaluates: boolean;
}
/** The layer behind an output: names, and the axis of the weight along which its classes are. */
export interface OutputLayer {
  features: string;
  weight: string;
  bias?: string;
  classes: number;
  axis: 0 | 1;
}

/** Epoch, batches done in it, the shuffle's seed, examples in the data set, batch size. */
export type Position = readonly [number, number, number, number, number];
export type PropertyEntry =
  | { name: string; type: 'int'; value: string }
  | { name: string; type: 'float'; value: number | null }
  | { name: string; type: 'string'; value: string };

/** The most bytes of UTF-8 in a property's name and in a value that is a string. */
export interface PropertyLimits {
  propertyName: number;
  propertyText: number;
}

export type GraphName = 'train' | 'eval' | 'model';
/** Ingredients of artifacts. */
export interface NewArtifacts {
  model: Uint8Array<ArrayBuffer>;
  external: ExternalFile[];
  constants?: PackedFeeds;
  settings: [string, string][];
}
export type PartName = GraphName | 'optimizer' | 'checkpoint' | 'compact' | 'adapter';
/** `ort1` is read by ONNX Runtime 1.16 and 1.17, `ort2` by later ones; `adapters`: Trainlet's, without the base. */
export type CheckpointFormat = 'trainlet' | 'ort1' | 'ort2' | 'adapters';
/** A compact file's encoding of parameters of two or more dims. */
export type Weights = 'exact' | 'float16' | 'int8';
/** Parameters: all, those that train, or these and the running statistics. */
export type Which = 'all' | 'trainable' | 'with-statistics';
export interface Part {
  which: PartName;
  bytes: Uint8Array;
}
/** A file in which a model keeps data, and how the model calls it. */
export interface ExternalFile {
  location: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Ingredients of a session. */
export interface SessionFiles {
  parts: Part[];
  external: ExternalFile[];
  maxMemoryBytes: number;
  constants?: PackedFeeds;
}

/** A pool of `threads`, the engine's own among them, and the memory they share; none where there is one thread. */
export interface Pool {
  memory: WebAssembly.Memory;
  threads: number;
}

export interface Protocol {
  /**
   * `stop`: one number, which the page makes 1 when a run is to stop. `lock`: a name of a lock that the worker holds as
   * long as it lives.
   */
  open: {
    in: { module: WebAssembly.Module; threads: number; stop?: Int32Array; lock?: string };
    out: Pool | undefined;
  };
  /** Makes a worker the pool's helper number `thread`. */
  help: { in: { module: WebAssembly.Module; memory: WebAssembly.Memory; thread: number; lock?: string }; out: void };
  /** It helps: answered if it ever stops, with an error. */
  work: { in: void; out: void };
  /** Has a worker of this worker's answer whatever comes at the port: never answered itself. */
  beat: { in: MessagePort; out: void };
  /** Lists the pieces of external data that a model needs (`inPieces` among the settings). */
  pieces: { in: NewArtifacts; out: { location: string; name: string; offset: number; bytes: number; late: boolean }[] };
  /** Bytes of the `index`-th, `from` one of them on: all of one after the other, first those that are not late. */
  piece: { in: { index: number; from: number; bytes: Uint8Array }; out: void };
  /** Then, with `otherWeights` among the settings: the model's parameters; and values that one is to have. */
  weights: { in: void; out: ModelParameter[] };
  weight: { in: { name: string; bytes: Uint8Array }; out: void };
  artifacts: {
    /** null: those whose pieces have come. */
    in: NewArtifacts | null;
    out: {
      trainModel: Uint8Array<ArrayBuffer>;
      evalModel: Uint8Array<ArrayBuffer>;
      optimizerModel: Uint8Array<ArrayBuffer>;
      checkpointState: Uint8Array<ArrayBuffer>;
      warnings: string[];
    };
  };
  parametersOf: { in: Protocol['artifacts']['in']; out: ModelParameter[] };
  /** Names of those that may be adapted. */
  modulesOf: { in: Protocol['artifacts']['in']; out: string[] };
  /** The parts as one file. */
  compact: { in: SessionFiles & { weights: Weights }; out: Uint8Array<ArrayBuffer> };
  load: {
    in: SessionFiles & {
      maxWork?: number;
      passes?: readonly string[];
      /** Chosen by patterns; none: those of the checkpoint. */
      bounds?: Readonly<Record<string, readonly [number, number]>>;
    };
    out: { info: SessionInfo; properties: PropertyEntry[]; limits: PropertyLimits; fit: string };
  };
  /**
   * `inputGradients`: names of inputs whose gradients, `<name>_grad`, are among the fetches. `call` and `more`: it is a
   * run for a language model's next token, and what abi_session_decode is given after the fetches.
   */
  run: {
    in: {
      graph: GraphName;
      feeds: PackedFeeds;
      fetches?: readonly string[];
      inputGradients?: readonly string[];
      call?: 'run' | 'decode';
      more?: readonly (number | string)[];
    };
    out: Outputs;
  };
  runFeatures: { in: PackedFeeds; out: NumberOutputs };
  /** One batch and a step of the optimizer, for its loss alone. */
  learn: { in: PackedFeeds; out: number };
  /** One batch: with `optimize` the parameters change and `position` is kept, without it the gradients are added up. */
  step: {
    in: { feeds: PackedFeeds; fetches?: readonly string[]; optimize: boolean; lr?: number; position?: Position };
    out: { loss: number; counted: Counted; outputs: NumberOutputs; gradientNorm?: number };
  };
  /** A run of the eval model for its loss, the first of the fetches; with `ema`, here and below, of the averages. */
  measure: {
    in: { feeds: PackedFeeds; fetches: readonly string[]; ema?: boolean };
    out: { loss: number; counted: Counted; outputs: NumberOutputs };
  };
  /** Up to the YieldOp; `run` is what the engine knows it by until its backward. */
  forward: { in: { feeds: PackedFeeds }; out: { run: number; outputs: NumberOutputs } };
  backward: { in: { run: number; gradients: PackedFeeds; inputs: readonly string[] }; out: NumberOutputs };
  dropForward: { in: number; out: void };
  optimize: { in: void; out: void };
  /**
   * Gives up the batches whose gradients are added up already: the random state and running statistics are as before
   * them.
   */
  dropGrad: { in: void; out: void };
  resetGrad: { in: void; out: void };
  /** A call of abi_session_…, whose result is only an error. */
  tell: {
    in: readonly [
      name: 'set_groups' | 'set_ema' | `${'add' | 'use' | 'lend' | 'return' | 'delete'}_adapter`,
      ...args: (number | string)[],
    ];
    out: void;
  };
  /** A call of abi_session_… that gives JSON. */
  describe: {
    in: readonly [name: 'features'] | readonly [name: 'output_layer', output: string];
    out: Features | OutputLayer;
  };
  getLearningRate: { in: void; out: number };
  setLearningRate: { in: number; out: void };
  steps: { in: void; out: number };
  setSeed: { in: bigint; out: void };
  /** Its low 32 bits. */
  getSeed: { in: void; out: number };
  getParameter: { in: number; out: PlainTensor };
  setParameter: { in: { index: number; value: PackedFeeds }; out: void };
  /** Patterns of names. */
  setTrainable: { in: readonly string[]; out: SessionInfo };
  getGradient: { in: number; out: PlainTensor };
  elementCount: { in: Which; out: number };
  copyOut: { in: Which; out: Float32Array<ArrayBuffer> };
  copyIn: { in: { which: Which; bytes: Uint8Array }; out: void };
  getPosition: { in: void; out: Position };
  setPosition: { in: Position; out: void };
  /** A copy of what training changes, in the engine and its checkpoints. */
  best: { in: 'forget' | 'keep' | 'restore'; out: void };
  /** The next `save` reports a failed one as well, since nobody waits for this answer. */
  setProperty: { in: PropertyEntry; out: void };
  deleteProperty: { in: string; out: void };
  /** `fit`: the position of a fit that was cut short (fit/position.js), '' for none. */
  save: { in: { optimizerState: boolean; format: CheckpointFormat; fit: string }; out: Uint8Array<ArrayBuffer> };
  export: {
    in: { outputs?: readonly string[]; trainingInfo: boolean; types: boolean; ema?: boolean; adapters?: number };
    out: Uint8Array<ArrayBuffer>;
  };
  /** The file of a session whose output has `count` classes more. */
  extend: {
    in: readonly [
      which: 'train' | 'eval' | 'optimizer' | 'checkpoint',
      output: string,
      /** JSON: of all classes. */
      names: string,
      count: number,
      weights: Float32Array,
      biases: Float32Array,
    ];
    out: Uint8Array<ArrayBuffer>;
  };
  memoryPlan: { in: void; out: MemoryPlan };
  graphText: { in: GraphName; out: string };
  /** Switches the timing of nodes in later runs. */
  timeNodes: { in: boolean; out: void };
  nodeTimes: { in: GraphName; out: NodeTimes };
}
export type Method = keyof Protocol;
export type Methods = {
  [M in Exclude<Method, 'help' | 'work' | 'beat'>]: (
    args: Protocol[M]['in'],
  ) => Protocol[M]['out'] | Promise<Protocol[M]['out']>;
};
/** Rejected with `aborted` once the signal comes, unless it was done before that could stop it. */
export interface Ask {
  <M extends Method>(
    method: M,
    args: Protocol[M]['in'],
    transfer?: ArrayBuffer[],
    signal?: AbortSignal,
  ): Promise<Protocol[M]['out']>;
  take?: Take;
}
/**
 * In this thread, where nothing else is being asked: feeds the run that is asked next, and gives what to ask it with.
 * Otherwise undefined: the feeds go with the question.
 */
export type Take = (graph: GraphName, feeds: readonly [string, Taken | Taken[]][]) => PackedFeeds | undefined;

export interface Question {
  id: number;
  method: Method;
  args: unknown;
}
export type Answer =
  | { id: number; out: unknown }
  | { id: number; error: { code: ErrorCode; message: string; node?: string } };

/** The end of a line: a worker's `self`, `parentPort` or a MessagePort. */
export interface Port {
  postMessage(message: Answer, transfer: ArrayBuffer[]): void;
  onmessage: ((event: { data: Question }) => void) | null;
}
