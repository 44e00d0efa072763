/** Convolutions, channels first: (channels, length) and (channels, height, width). */

import type { ActivationOption, BiasOptions } from './basic.js';
import type { Initializer, Layer, LayerOptions } from './network.js';

/** The order of the dims of a picture. */
export interface FormatOption {
  /**
   * Channels first, (channels, height, width), is the default as in ONNX; in Keras it is channels last. `channels_last`
   * takes and gives (height, width, channels), or (length, channels).
   */
  dataFormat?: 'channels_first' | 'channels_last';
}

/** One number for all axes, or one for each. */
export type Sizes1d = number | readonly [number];
/** Sizes in two dimensions; one number stands for both. */
export type Sizes2d = number | readonly [number, number];

/** Options that all convolutions have. */
export interface ConvolutionOptions<Sizes> extends LayerOptions, ActivationOption, BiasOptions, FormatOption {
  /** The steps by which the window moves; default 1. */
  strides?: Sizes;
  /** valid: only where the window fits; same: zeros around, so that a stride of 1 keeps the size. Default valid. */
  padding?: 'valid' | 'same';
  /** The distance between the points of the window; default 1. */
  dilationRate?: Sizes;
}

/** Causal pads before the signal alone: no output depends on what comes later. */
export interface Causal {
  /** The padding: none (default), so much that the output is as long as the input, or before it alone. */
  padding?: 'valid' | 'same' | 'causal';
}

/** Options of a convolution. */
export interface ConvOptions<Sizes> extends ConvolutionOptions<Sizes> {
  /** Channels are divided into so many groups, which are apart; default 1. */
  groups?: number;
  /** The initial weights, (…kernel, channels / groups, filters); default glorot_uniform. */
  kernelInitializer?: Initializer;
}
/** Options of `conv1d`. */
export type Conv1dOptions = Omit<ConvOptions<Sizes1d>, 'padding'> & Causal;
/** Options of `conv2d`. */
export type Conv2dOptions = ConvOptions<Sizes2d>;

/** Options of a depthwise convolution. */
export interface DepthwiseOptions<Sizes> extends ConvolutionOptions<Sizes> {
  /** Outputs of each channel; default 1. */
  depthMultiplier?: number;
  /** The initial weights, (…kernel, channels, depthMultiplier); default glorot_uniform. */
  depthwiseInitializer?: Initializer;
}

/** Options of a separable convolution. */
export interface SeparableOptions<Sizes> extends DepthwiseOptions<Sizes> {
  /** The initial weights that join the channels, (…1, channels · depthMultiplier, filters); default glorot_uniform. */
  pointwiseInitializer?: Initializer;
}
/** Options of `separableConv1d`. */
export type Separable1dOptions = Omit<SeparableOptions<Sizes1d>, 'padding'> & Causal;

/** Options of a transposed convolution. */
export interface ConvTransposeOptions<Sizes> extends ConvolutionOptions<Sizes> {
  /** The initial weights, (…kernel, filters, channels); default glorot_uniform. */
  kernelInitializer?: Initializer;
  /** Added at one end of the output; default null: as much as Keras adds. */
  outputPadding?: Sizes | null;
}

/** A convolution of signals, (channels, length). */
export function conv1d(filters: number, kernelSize: Sizes1d, options?: Conv1dOptions): Layer;

/** A convolution of pictures, (channels, height, width). */
export function conv2d(filters: number, kernelSize: Sizes2d, options?: Conv2dOptions): Layer;

/** A convolution of each channel of signals by itself. */
export function depthwiseConv1d(kernelSize: Sizes1d, options?: DepthwiseOptions<Sizes1d>): Layer;

/** A convolution of each channel of pictures by itself. */
export function depthwiseConv2d(kernelSize: Sizes2d, options?: DepthwiseOptions<Sizes2d>): Layer;

/** A convolution of each channel of signals, then one of size 1 that joins the channels. */
export function separableConv1d(filters: number, kernelSize: Sizes1d, options?: Separable1dOptions): Layer;

/** A convolution of each channel of pictures, then one of size 1 that joins the channels. */
export function separableConv2d(filters: number, kernelSize: Sizes2d, options?: SeparableOptions<Sizes2d>): Layer;

/** The convolution of signals backwards: with strides, the output is longer than the input. */
export function conv1dTranspose(filters: number, kernelSize: Sizes1d, options?: ConvTransposeOptions<Sizes1d>): Layer;

/** The convolution of pictures backwards: with strides, the output is larger than the input. */
export function conv2dTranspose(filters: number, kernelSize: Sizes2d, options?: ConvTransposeOptions<Sizes2d>): Layer;
