/** Layers that many networks have: dense, embedding, activations, shapes, dropout, several inputs. */

import type { Initializer, Layer, LayerOptions } from './network.js';

/** Keras' activations. Softmax runs along the last axis; in a convolution along the channels. */
export type ActivationName =
  | 'celu'
  | 'elu'
  | 'exponential'
  | 'gelu'
  | 'hard_shrink'
  | 'hard_sigmoid'
  | 'hard_silu'
  | 'hard_swish'
  | 'hard_tanh'
  | 'leaky_relu'
  | 'linear'
  | 'log_sigmoid'
  | 'log_softmax'
  | 'mish'
  | 'relu'
  | 'relu6'
  | 'selu'
  | 'sigmoid'
  | 'silu'
  | 'soft_shrink'
  | 'softmax'
  | 'softplus'
  | 'softsign'
  | 'swish'
  | 'tanh'
  | 'tanh_shrink';

/** The activation of a layer. */
export interface ActivationOption {
  /** The function of the output; default null, which is linear. */
  activation?: ActivationName | null;
}

/** The bias of a layer. */
export interface BiasOptions {
  /** Default true. */
  useBias?: boolean;
  /** Default zeros. */
  biasInitializer?: Initializer;
}

/** Options of `dense`. */
export interface DenseOptions extends LayerOptions, ActivationOption, BiasOptions {
  /** The initial weights, (features, units); default glorot_uniform. */
  kernelInitializer?: Initializer;
}

/** Options of `embedding`. */
export interface EmbeddingOptions extends LayerOptions {
  /** The initial table, (inputDim, outputDim); default uniform, from -0.05 to 0.05. */
  embeddingsInitializer?: Initializer;
}

/** Options of `relu`. */
export interface ReluOptions extends LayerOptions {
  /** The largest output; default null: none. */
  maxValue?: number | null;
  /** The slope below zero; default 0. */
  negativeSlope?: number;
  /** Smaller inputs become zero; default 0. Not together with a slope. */
  threshold?: number;
}

/** Options of `leakyRelu`. */
export interface LeakyReluOptions extends LayerOptions {
  /** Default 0.3. */
  negativeSlope?: number;
}

/** Options of `elu`. */
export interface EluOptions extends LayerOptions {
  /** Default 1. */
  alpha?: number;
}

/** Options of `prelu`. */
export interface PreluOptions extends LayerOptions {
  /** The initial slopes below zero; default zeros. */
  alphaInitializer?: Initializer;
  /** Axes along which the slopes are the same, as [2, 3] for one slope a channel of pictures; default none. */
  sharedAxes?: readonly number[];
}

/** The axis of a layer. */
export interface AxisOptions extends LayerOptions {
  /** The batch is axis 0; negative: from the end. Default -1. */
  axis?: number;
}

/** `units` sums of all features, weighted: of (features), or of the last dim of what has more. */
export function dense(units: number, options?: DenseOptions): Layer;

/**
 * A learned vector for each of `inputDim` numbers, 0 to inputDim - 1: (time) becomes (time, outputDim).
 *
 *     input([20], { dtype: 'int32' }) // 20 tokens
 */
export function embedding(inputDim: number, outputDim: number, options?: EmbeddingOptions): Layer;

/** An activation by its name. */
export function activation(name: ActivationName, options?: LayerOptions): Layer;

/** max(x, 0), with a limit, a slope or a threshold. */
export function relu(options?: ReluOptions): Layer;

/** x, or below zero negativeSlope · x. */
export function leakyRelu(options?: LeakyReluOptions): Layer;

/** x, or below zero alpha · (exp(x) - 1). */
export function elu(options?: EluOptions): Layer;

/** x, or below zero a learned slope · x. */
export function prelu(options?: PreluOptions): Layer;

/** Numbers that add up to 1 along the axis; for pictures (channels, height, width), channels are axis 1. */
export function softmax(options?: AxisOptions): Layer;

/** All of an example in one dim. */
export function flatten(options?: LayerOptions): Layer;

/** Another shape, without the batch; -1 is the dim that follows from the others. */
export function reshape(targetShape: readonly number[], options?: LayerOptions): Layer;

/**
 * The dims in another order, counted from 1 without the batch: `permute([2, 1])` turns (channels, length) into
 * (length, channels), which recurrent layers and attention take as (time, features).
 */
export function permute(dims: readonly number[], options?: LayerOptions): Layer;

/** In training, sets this share of the numbers to zero, and multiplies the others by 1 / (1 - rate). */
export function dropout(rate: number, options?: LayerOptions): Layer;

/** The sum of several tensors: `add()([a, b])`. */
export function add(options?: LayerOptions): Layer;

/** The product of several tensors, number by number: `multiply()([a, b])`. */
export function multiply(options?: LayerOptions): Layer;

/** Several tensors one after the other: `concatenate()([a, b])`. For pictures, channels are axis 1. */
export function concatenate(options?: AxisOptions): Layer;
