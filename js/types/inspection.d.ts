/** A session looked into: its inputs, parameters, memory and times. */

import type { DataType } from './tensor.js';

/** An input or output of a model: name, type and dims. */
export interface ValueInfo {
  /** The name by which it is fed or fetched. */
  readonly name: string;
  /** The type of its elements, as `float32`. */
  readonly type: string;
  /** A number, or a name where the dim is free. */
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
  readonly labels?: {
    /** The number of classes; null where only a run tells. */
    readonly classes: number | null;
    /** The axis of the classes in the scores, -1 being the last. */
    readonly axis: 1 | -1;
    /** The label that does not count. Absent: all count. */
    readonly ignoreIndex?: number;
  };
  /** It is how much each example counts; `fit` and `evaluate` feed 1 where the data set does not say. */
  readonly sampleWeight?: true;
}

/** A parameter of a model: name, type, dims, and whether it trains. */
export interface ParameterInfo {
  /** The name in the model. */
  readonly name: string;
  /** The type of its elements. */
  readonly type: DataType;
  /** The size of each dim. */
  readonly dims: readonly number[];
  /** True if it trains at present. */
  readonly trainable: boolean;
}

/** The time of each node, in the order in which they run. */
export interface NodeTimes {
  /** The number of runs that were timed: those on the shapes that were fed last. */
  readonly runs: number;
  /** Multiply-adds per ms that this machine's threads together do in registers alone: no operator can be faster. */
  readonly peak: number;
  /**
   * `ms`: per run, on average; `work`: its multiply-adds, 0 for operators that move elements or compute each one by
   * itself.
   */
  readonly nodes: readonly {
    /** The name of the node. */
    readonly name: string;
    /** Its operator. */
    readonly op: string;
    /** Milliseconds a run, on average. */
    readonly ms: number;
    /** Multiply-adds a run; 0 for operators that move elements or compute each one by itself. */
    readonly work: number;
  }[];
}

/** The bytes that a step needs. */
export interface MemoryPlan {
  /** Parameters, gradients and optimizer state. */
  readonly stateBytes: number;
  /** The memory that a step works in. */
  readonly arenaBytes: number;
  /** The most bytes of state and arena together. */
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
