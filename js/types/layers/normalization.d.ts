/** Normalizations, and layers that prepare what is fed: they travel in the model. */

import type { Initializer, Layer, LayerOptions } from './network.js';

/** Scale and offset of a normalization. */
export interface AffineOptions extends LayerOptions {
  /** Added to the variance; default 0.001. */
  epsilon?: number;
  /** Learns an offset; default true. */
  center?: boolean;
  /** Learns a factor; default true. */
  scale?: boolean;
  /** The initial offset; default zeros. */
  betaInitializer?: Initializer;
  /** The initial factor; default ones. */
  gammaInitializer?: Initializer;
}

/** Options of `batchNormalization`. */
export interface BatchNormalizationOptions extends AffineOptions {
  /** The channels' axis; default 1, channels first. -1 for (time, features). */
  axis?: number;
  /** The share of the running statistics that each step of training keeps; default 0.99. */
  momentum?: number;
  /** Default zeros. */
  movingMeanInitializer?: Initializer;
  /** Default ones. */
  movingVarianceInitializer?: Initializer;
}

/** Options of `layerNormalization`. */
export interface LayerNormalizationOptions extends AffineOptions {
  /** One axis, or the last ones, as [-2, -1]; default -1. */
  axis?: number | readonly number[];
}

/** Options of `groupNormalization`. */
export interface GroupNormalizationOptions extends AffineOptions {
  /** The number of groups of channels; default 32; -1: each channel by itself. */
  groups?: number;
  /** The channels' axis; default 1, channels first. -1 for (time, features). */
  axis?: number;
}

/** Options of `rescaling`. */
export interface RescalingOptions extends LayerOptions {
  /** Added after the product: a number, or one for each channel; default 0. */
  offset?: number | readonly number[];
  /** The channels' axis of a list; default 1, channels first. */
  axis?: number;
}

/** Options of `normalization`. */
export interface NormalizationOptions extends LayerOptions {
  /** The features' axis; default 1; -1 for (time, features), null: one mean for all. */
  axis?: number | null;
  /** A mean for each feature, or one for all; together with `variance`, instead of `adapt`. */
  mean?: number | readonly number[];
  /** A variance for each feature, or one for all; together with `mean`, instead of `adapt`. */
  variance?: number | readonly number[];
  /** Turns normalized numbers back: x · √variance + mean; default false. */
  invert?: boolean;
}

/** The layer of `normalization`, which can learn means and variances from data. */
export interface NormalizationLayer extends Layer {
  /**
   * Sets mean and variance to those of the examples, a tensor whose first dim is the batch. Gives the layer.
   *
   *     sequential([input([13]), normalization().adapt(inputs), dense(1)])
   */
  adapt(data: {
    /** The size of each dim, the batch first. */
    readonly dims: readonly number[];
    /** The elements in C order. */
    readonly data: ArrayLike<number | bigint>;
  }): NormalizationLayer;
}

/**
 * Normalizes each channel by mean and variance: in training those of the batch, which the running statistics follow; in
 * use the running ones.
 */
export function batchNormalization(options?: BatchNormalizationOptions): Layer;

/** Normalizes each example along its last axis, as (time, features) along the features. */
export function layerNormalization(options?: LayerNormalizationOptions): Layer;

/** Normalizes groups of channels of each example. */
export function groupNormalization(options?: GroupNormalizationOptions): Layer;

/** x · scale + offset, as `rescaling(1 / 255)` of pictures; scale is a number, or one for each channel. */
export function rescaling(scale: number | readonly number[], options?: RescalingOptions): Layer;

/**
 * (x - mean) / √variance of each feature. Mean and variance are given, or computed from data by `adapt`; they are
 * constants of the model, so whoever uses it feeds plain numbers.
 */
export function normalization(options?: NormalizationOptions): NormalizationLayer;
