/** Attention over (time, features), as in Keras. */

import type { BiasOptions } from './basic.js';
import type { Initializer, Layer, LayerOptions } from './network.js';

/** Options of `multiHeadAttention`. */
export interface MultiHeadAttentionOptions extends LayerOptions, BiasOptions {
  /** The size of each head of the values; default keyDim. */
  valueDim?: number;
  /** The share of the attention that training sets to zero; default 0. */
  dropout?: number;
  /** The number of features of the output; default: those of the query. */
  outputShape?: number;
  /** No step sees later ones; default false. In Keras, it is said at the call. */
  useCausalMask?: boolean;
  /** The initial weights of the four kernels; default glorot_uniform. */
  kernelInitializer?: Initializer;
}

/**
 * Attention of `numHeads` heads, whose queries and keys have `keyDim` numbers. Called with one tensor it is
 * self-attention; `multiHeadAttention(4, 16)(query, value, key)` takes up to three, where the key is the value by
 * default.
 */
export function multiHeadAttention(numHeads: number, keyDim: number, options?: MultiHeadAttentionOptions): Layer;
