/** Networks: their inputs, how layers are joined, and the file that they become. */

import type { Bytes } from '../internal/platform.js';

/** A tensor whose numbers are not known yet: the output of `input` or of a layer. */
export interface SymbolicTensor {
  /** The shape, the batch first; null: free. */
  readonly shape: readonly (number | null)[];
  /** The type of its elements, as `float32`. */
  readonly dtype: InputType;
}

/**
 * A layer is a function: called with the tensors before it, it gives its output. A layer that is called again has the
 * same weights.
 *
 *     const x = input([13]);
 *     const y = dense(1)(dense(64, { activation: 'relu' })(x));
 */
export interface Layer {
  (...inputs: (SymbolicTensor | readonly SymbolicTensor[])[]): SymbolicTensor;
  /** For the package's own use. */
  readonly state: object;
}

/** A part of a network: a function from tensor to tensor, which calls layers. */
export type Block = (x: SymbolicTensor) => SymbolicTensor;

/** The type of what is fed. Layers compute in float32. */
export type InputType = 'float32' | 'int32' | 'int64' | 'uint8';

/** Options that all layers have. */
export interface LayerOptions {
  /**
   * The name: of its nodes and weights in the file, as `stem/kernel`, and of its output. Default: Keras' automatic one,
   * `dense`, then `dense_1`. Two layers of a network cannot have the same name.
   */
  name?: string;
}

/** Options of `input`. */
export interface InputOptions extends LayerOptions {
  /** The type of what is fed; default float32. `embedding` takes each of them. */
  dtype?: InputType;
}

/** Options of `sequential`. */
export interface NetworkOptions {
  /** With the same seed, a network has the same bytes everywhere. Default: other weights each time. */
  seed?: number;
  /** The name of the graph; default `sequential` or `functional`. */
  name?: string;
}

/** Options of `model`. */
export interface ModelOptions extends NetworkOptions {
  /** Tensors of `input`: one, or a list. */
  inputs: SymbolicTensor | readonly SymbolicTensor[];
  /** Tensors of layers: one, or a list. Each output has the name of its layer. */
  outputs: SymbolicTensor | readonly SymbolicTensor[];
}

/**
 * The input of a network. Its shape is given without the batch, which is free: `input([13])` for 13 numbers,
 * `input([3, 64, 64])` for pictures (channels, height, width), `input([6, 100])` for signals (channels, length),
 * `input([20, 8])` for sequences (time, features). null stands for a free dim: `input([null, 8])`.
 */
export function input(shape: readonly (number | null)[], options?: InputOptions): SymbolicTensor;

/**
 * A network of layers in a row, as ONNX bytes. A function that calls layers stands for a part of it, as a model in a
 * model of Keras does.
 *
 *     const network = await sequential([input([13]), dense(64, { activation: 'relu' }), dense(1)], { seed: 7 });
 *     const artifacts = await generateArtifacts(network, { loss: 'mse' });
 */
export function sequential(
  layers: readonly (SymbolicTensor | Layer | Block)[],
  options?: NetworkOptions,
): Promise<Bytes>;

/**
 * A network of any shape, as ONNX bytes: several inputs, branches, layers that are called twice, several outputs.
 *
 *     const [table, picture] = [input([5]), input([3, 32, 32])];
 *     const seen = globalAveragePooling2d()(conv2d(16, 3, { activation: 'relu' })(picture));
 *     const price = dense(1, { name: 'price' })(concatenate()([table, seen]));
 *     const network = await model({ inputs: [table, picture], outputs: price });
 */
export function model(options: ModelOptions): Promise<Bytes>;

/**
 * The table of layers, output shapes and numbers of parameters that Keras' `model.summary()` prints.
 *
 *     console.log(await summary(network));
 */
export function summary(network: Uint8Array): Promise<string>;

/**
 * Initial weights: a name, an object with the initializer's options, or the weights themselves, as many numbers as
 * Keras' shape has. Kernels of dense layers have the shape (inputs, outputs), of convolutions
 * (…kernel, inputs, outputs), of recurrent layers (inputs, gates · units), with Keras' order of the gates.
 */
export type Initializer =
  | InitializerName
  | {
      /** The name of the initializer. */
      type: 'constant';
      /** The value of all weights. */
      value: number;
    }
  | {
      /** The name of the initializer. */
      type: 'uniform' | 'random_uniform';
      /** The least. Default -0.05. */
      minval?: number;
      /** The most. Default 0.05. */
      maxval?: number;
    }
  | {
      /** The name of the initializer. */
      type: 'normal' | 'random_normal' | 'truncated_normal';
      /** The mean. Default 0. */
      mean?: number;
      /** The standard deviation. Default 0.05. */
      stddev?: number;
    }
  | {
      /** The name of the initializer. */
      type: 'orthogonal';
      /** The factor of the orthogonal matrix. Default 1. */
      gain?: number;
    }
  | {
      /** The name of the initializer. */
      type: 'variance_scaling';
      /** The factor of the variance. Default 1. */
      scale?: number;
      /** The number by which the variance is divided: inputs (default), outputs, or their mean. */
      mode?: 'fan_in' | 'fan_out' | 'fan_avg';
      /** The distribution. Default truncated_normal. */
      distribution?: 'truncated_normal' | 'untruncated_normal' | 'uniform';
    }
  | ArrayLike<number>;

/**
 * Keras' names. Uniform: from -0.05 to 0.05; normal: a deviation of 0.05. Glorot, He and LeCun: by the numbers of
 * inputs and outputs.
 */
export type InitializerName =
  | 'zeros'
  | 'ones'
  | 'uniform'
  | 'random_uniform'
  | 'normal'
  | 'random_normal'
  | 'truncated_normal'
  | 'variance_scaling'
  | 'glorot_uniform'
  | 'glorot_normal'
  | 'he_uniform'
  | 'he_normal'
  | 'lecun_uniform'
  | 'lecun_normal'
  | 'orthogonal';
