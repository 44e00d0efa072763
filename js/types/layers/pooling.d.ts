/** Pooling, channels first. */

import type { FormatOption, Sizes1d, Sizes2d } from './convolution.js';
import type { Layer, LayerOptions } from './network.js';

/** Options of pooling. */
export interface PoolingOptions<Sizes> extends LayerOptions, FormatOption {
  /** The steps by which the window moves; default null: its size. */
  strides?: Sizes | null;
  /** valid: only where the window fits; same: the last windows may reach over the end. Default valid. */
  padding?: 'valid' | 'same';
}

/** Options of global pooling. */
export interface GlobalPoolingOptions extends LayerOptions, FormatOption {
  /** Keeps the dims that are pooled, as 1; default false. */
  keepdims?: boolean;
}

/** The largest number of each window of signals; poolSize is 2 by default. */
export function maxPooling1d(poolSize?: Sizes1d, options?: PoolingOptions<Sizes1d>): Layer;
/** The largest number of each window of pictures; poolSize is 2 by default. */
export function maxPooling2d(poolSize?: Sizes2d, options?: PoolingOptions<Sizes2d>): Layer;
/** The mean of each window of signals; poolSize is 2 by default. */
export function averagePooling1d(poolSize?: Sizes1d, options?: PoolingOptions<Sizes1d>): Layer;
/** The mean of each window of pictures; poolSize is 2 by default. */
export function averagePooling2d(poolSize?: Sizes2d, options?: PoolingOptions<Sizes2d>): Layer;
/** The largest number of each channel of signals; for (time, features) with `dataFormat: 'channels_last'`. */
export function globalMaxPooling1d(options?: GlobalPoolingOptions): Layer;
/** The largest number of each channel of pictures. */
export function globalMaxPooling2d(options?: GlobalPoolingOptions): Layer;
/** The mean of each channel of signals; for (time, features) with `dataFormat: 'channels_last'`. */
export function globalAveragePooling1d(options?: GlobalPoolingOptions): Layer;
/** The mean of each channel of pictures. */
export function globalAveragePooling2d(options?: GlobalPoolingOptions): Layer;
