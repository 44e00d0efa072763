/** Recurrent networks over (time, features), as in Keras. */

import type { BiasOptions } from './basic.js';
import type { Initializer, Layer, LayerOptions } from './network.js';

/** The activations of recurrent layers. */
export type RecurrentActivation = 'tanh' | 'sigmoid' | 'relu' | 'softsign' | 'softplus';

/** Options that all recurrent layers have. */
export interface RecurrentOptions extends LayerOptions, BiasOptions {
  /** The activation of the state; default tanh. */
  activation?: RecurrentActivation;
  /** The activation of the gates; default sigmoid. */
  recurrentActivation?: RecurrentActivation;
  /** The initial weights of the features, (features, gates · units); default glorot_uniform. */
  kernelInitializer?: Initializer;
  /** The initial weights of the state, (units, gates · units); default orthogonal. */
  recurrentInitializer?: Initializer;
  /** Gives the state after each step, (time, units); default false: after the last, (units). */
  returnSequences?: boolean;
  /** Begins with the last step, and gives the states of `returnSequences` in that order; default false. */
  goBackwards?: boolean;
}

/** Options of `lstm`. */
export interface LstmOptions extends RecurrentOptions {
  /** Begins with a bias of 1 for the forget gate, unless the biases are given as numbers; default true. */
  unitForgetBias?: boolean;
}

/** Options of `gru`. */
export interface GruOptions extends RecurrentOptions {
  /** Applies the reset gate after the product with the weights, not before; default true. */
  resetAfter?: boolean;
}

/** A layer of `lstm` or `gru`, which `bidirectional` takes. */
export interface RecurrentLayer extends Layer {
  /** For the package's own use. */
  readonly cell: object;
}

/** Options of `bidirectional`. */
export interface BidirectionalOptions extends LayerOptions {
  /** The way in which the two directions are joined; default concat. */
  mergeMode?: 'concat' | 'sum' | 'mul' | 'ave';
  /** The layer that runs backwards; default: one like the other, with weights of its own. */
  backwardLayer?: RecurrentLayer;
}

/** Long short-term memory. */
export function lstm(units: number, options?: LstmOptions): RecurrentLayer;

/** Gated recurrent units. */
export function gru(units: number, options?: GruOptions): RecurrentLayer;

/** A recurrent layer that runs forwards and one that runs backwards: `bidirectional(lstm(32))`. */
export function bidirectional(layer: RecurrentLayer, options?: BidirectionalOptions): Layer;
