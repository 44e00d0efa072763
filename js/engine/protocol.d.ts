/** What page and worker say to each other: each method with what goes in and what comes out. */

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
/** Those of a graph that trains. */
export type NumberOutputs = Record<string, PlainTensor<TypedArray>>;

/** What a checkpoint says by itself. */
export interface CheckpointContents {
  /** Whose format it has: Trainlet or ONNX Runtime. */
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
  /** From which its loss is computed: an output, or a value within. */
  scores?: string;
  /** Those whose weighted sum its first output is, outputs too; none where that is one loss. */
  losses: { name: string; weight: number }[];
  /** Of a model with a head of ours, JSON from its file: its classes; its features, its weight and its bias. */
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
  /** Of a model with LoRA: its adapters, and the indices of the parameters of which each has values of its own. */
  adapters?: { names: string[]; active: string | null };
  adapted?: number[];
  /** Where the loss is outside: the outputs that take a gradient, and the inputs that gradients are given towards. */
  outside: { outputs: string[]; inputs: string[] } | null;
  warnings: string[];
}

/**
 * What the frozen layers compute of an example, the same in each step, and the inputs of a step that is fed with it.
 */
export interface Features {
  features: string[];
  inputs: string[];
  evaluates: boolean;
}
/** What gives an output: names, and the axis of the weight along which its classes are. */
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
/** What artifacts are made of. */
export interface NewArtifacts {
  model: Uint8Array<ArrayBuffer>;
  external: ExternalFile[];
  constants?: PackedFeeds;
  settings: [string, string][];
}
export type PartName = GraphName | 'optimizer' | 'checkpoint' | 'compact' | 'adapter';
/** `ort1` is read by ONNX Runtime 1.16 and 1.17, `ort2` by later ones; `adapters`: Trainlet's, without the base. */
export type CheckpointFormat = 'trainlet' | 'ort1' | 'ort2' | 'adapters';
/** How a compact file has the parameters of two or more dims. */
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

/** What a session is made of. */
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
  /** Of a model whose external data comes in pieces (`inPieces` among the settings): which these are. */
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
      /** By pattern; those of the checkpoint where there are none. */
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
  /** A call of abi_session_…, of which only an error is told. */
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
  /** One that fails is told by the next `save` as well, since nobody waits for this answer. */
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
  /** Whether the nodes of the runs that follow are timed. */
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
