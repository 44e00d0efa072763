/** Convolutions, channels first. Kernels: (…kernel, inputs, outputs) in Keras, (outputs, inputs, …kernel) in ONNX. */

import { checkWhole, invalid } from '../base/errors.js';
import { activating } from './activations.js';
import { ACTIVATED, biasOf, WEIGHTS } from './dense.js';
import { checkOneOf, layerOf, perAxis } from './layer.js';

/** @import { Initializer } from '../types/layers/index.js' */
/** @import { Attribute } from './onnx.js' */
/** @import { Result, Scope, SymbolicTensor, Value } from './layer.js' */
/**
 * @typedef {object} Window
 * @property {number[]} kernel
 * @property {number[]} strides
 * @property {number[]} dilations
 * @property {string} padding
 */
/** @typedef {number | readonly number[]} Sizes */

const AXES = [[], ['length'], ['height', 'width']];
const FORMATS = ['channels_first', 'channels_last'];
export const DATA_FORMAT = { dataFormat: FORMATS[0] };

/**
 * Builds for channels first, whichever way the input has them.
 * @param {Scope} scope @param {SymbolicTensor} x @param {number} rank how many axes besides batch and channels
 * @param {string} format
 * @param {(x: Result) => Result} build
 * @returns {Result}
 */
export function channelsFirst(scope, x, rank, format, build) {
  const isLast = format === FORMATS[1];
  const names = ['channels', ...AXES[rank]];
  scope.checkAxes(x, ...(isLast ? [...AXES[rank], names[0]] : names));
  if (!isLast) return build(x);
  const space = AXES[rank].map((_, i) => i + 1);
  const made = build(scope.transpose(x, [0, rank + 1, ...space]));
  return made.shape.length < rank + 2 ? made : scope.transpose(made, [0, ...space.map((axis) => axis + 1), 1]);
}

const PADDINGS = ['valid', 'same'];

/**
 * The window of a convolution or pooling, checked.
 * @param {string} title @param {number} rank @param {Sizes} kernel
 * @param {{ strides: Sizes, dilationRate?: Sizes, padding: string, dataFormat: string }} options
 * @param {string} [more] a padding besides the usual ones
 * @returns {Window}
 */
export function windowOf(title, rank, kernel, { strides, dilationRate = 1, padding, dataFormat }, more) {
  checkOneOf(`${title}: dataFormat`, dataFormat, FORMATS);
  checkOneOf(`${title}: padding`, padding, more ? [...PADDINGS, more] : PADDINGS);
  const window = {
    kernel: perAxis(`${title}: the size of the window`, kernel, rank),
    strides: perAxis(`${title}: strides`, strides, rank),
    dilations: perAxis(`${title}: dilationRate`, dilationRate, rank),
    padding,
  };
  if ([window.strides, window.dilations].every((sizes) => sizes.some((size) => size > 1)))
    throw invalid(`${title}: strides and a dilationRate do not go together, as in Keras`);
  return window;
}

/** The reach of a window along each axis. @param {Window} window */
const reachOf = ({ kernel, dilations }) => kernel.map((size, i) => (size - 1) * dilations[i] + 1);

/**
 * Pads are numbers where they do not depend on the input's size.
 * @param {Window} window @returns {Record<string, Attribute>}
 */
export function attributesOf(window) {
  const { kernel: kernel_shape, strides, dilations, padding } = window;
  const attributes = { kernel_shape, strides, dilations };
  if (padding === 'valid') return attributes;
  if (padding === 'same' && strides.some((stride) => stride > 1)) return { ...attributes, auto_pad: 'SAME_UPPER' };
  const first = reachOf(window).map((reach) => (padding === 'same' ? Math.floor((reach - 1) / 2) : reach - 1));
  return { ...attributes, pads: [...first, ...reachOf(window).map((reach, i) => reach - 1 - first[i])] };
}

/**
 * The dims that windows leave of those besides batch and channels.
 * @param {Scope} scope @param {Result} x @param {Window} window
 */
export const slid = (scope, x, window) =>
  x.shape.slice(2).map((d, i) => {
    const [reach, stride] = [reachOf(window)[i], window.strides[i]];
    if (d === null) return null;
    if (window.padding !== 'valid') return Math.ceil(d / stride);
    const hint = i ? ' (the channels come first: (1, 28, 28))' : '';
    if (d < reach)
      scope.refuse(`a ${AXES[window.kernel.length][i]} of at least ${reach}, that of its window${hint}`, x);
    return Math.floor((d - reach) / stride) + 1;
  });

const SLIDING = { strides: /** @type {Sizes} */ (1), padding: 'valid', ...DATA_FORMAT };
const { kernelInitializer, ...BIAS } = WEIGHTS;
const COMMON = { ...SLIDING, dilationRate: /** @type {Sizes} */ (1), ...ACTIVATED, ...BIAS };
const DEPTHWISE = { ...COMMON, depthMultiplier: 1, depthwiseInitializer: kernelInitializer };

/**
 * A layer of convolutions: what is the same for all of them.
 * @template {typeof COMMON} T
 * @param {string} type @param {number} rank @param {Sizes} kernelSize
 * @param {object | undefined} options @param {T} defaults
 * @param {(all: T, window: Window, title: string) => (scope: Scope, x: Result) => Result} make
 * @param {string} [padding] besides the usual ones
 */
const layer = (type, rank, kernelSize, options, defaults, make, padding) =>
  layerOf(type, options, defaults, (all, title) => {
    const act = activating(title, all.activation);
    const build = make(all, windowOf(title, rank, kernelSize, all, padding), title);
    return (scope, x) =>
      channelsFirst(scope, x, rank, all.dataFormat, (first) => {
        const { value, shape } = build(scope, first);
        return { value: act(scope, value, 1), shape };
      });
  });

/** @param {number} rank */
const causalOf = (rank) => (rank === 1 ? 'causal' : undefined);
/** ONNX's axes of a kernel in Keras' @param {number} rank @param {number} [first] */
const axesOf = (rank, first = rank + 1) => [first, 2 * rank + 1 - first, ...AXES[rank].map((_, i) => i)];

/**
 * @param {Scope} scope @param {Result} x @param {Window} window @param {number} group
 * @param {Value} kernel of `outputs` channels @param {number} outputs @param {readonly Value[]} [bias]
 * @returns {Result}
 */
const convolve = (scope, x, window, group, kernel, outputs, bias = []) => ({
  value: scope.node('Conv', [x.value, kernel, ...bias], { ...attributesOf(window), group }),
  shape: [x.shape[0], outputs, ...slid(scope, x, window)],
});

/** @param {1 | 2} rank @param {number} filters @param {Sizes} kernelSize @param {object} [options] */
const conv = (rank, filters, kernelSize, options) =>
  layer(
    `Conv${rank}D`,
    rank,
    kernelSize,
    options,
    { ...COMMON, groups: 1, kernelInitializer },
    (all, window, title) => {
      checkWhole(`${title}: filters`, filters, 1);
      checkWhole(`${title}: groups`, all.groups, 1);
      return (scope, x) => {
        const channels = scope.size(x, 1, 'channels');
        if (channels % all.groups || filters % all.groups)
          scope.refuse(`channels and filters (${filters}) that its ${all.groups} groups divide`, x);
        const shape = [...window.kernel, channels / all.groups, filters];
        const kernel = scope.keep('kernel', [{ shape, initializer: all.kernelInitializer, axes: axesOf(rank) }]);
        return convolve(scope, x, window, all.groups, kernel, filters, biasOf(scope, all, filters));
      };
    },
    causalOf(rank),
  );

/**
 * The kernel of each channel: groups, weight and how many channels it makes.
 * @param {Scope} scope @param {Result} x @param {Window} window @param {string} key
 * @param {{ depthMultiplier: number, depthwiseInitializer: Initializer }} options
 * @returns {[number, Value, number]}
 */
function depthwiseKernel(scope, x, { kernel }, key, { depthMultiplier, depthwiseInitializer }) {
  checkWhole(`${scope.title}: depthMultiplier`, depthMultiplier, 1);
  const channels = scope.size(x, 1, 'channels');
  const shape = [...kernel, channels, depthMultiplier];
  const part = { shape, initializer: depthwiseInitializer, axes: axesOf(kernel.length, kernel.length) };
  const outputs = channels * depthMultiplier;
  return [channels, scope.keep(key, [part], [outputs, 1, ...kernel]), outputs];
}

/** @param {1 | 2} rank @param {Sizes} kernelSize @param {object} [options] */
const depthwise = (rank, kernelSize, options) =>
  layer(`DepthwiseConv${rank}D`, rank, kernelSize, options, DEPTHWISE, (all, window) => (scope, x) => {
    const kernel = depthwiseKernel(scope, x, window, 'kernel', all);
    return convolve(scope, x, window, ...kernel, biasOf(scope, all, kernel[2]));
  });

/** @param {1 | 2} rank @param {number} filters @param {Sizes} kernelSize @param {object} [options] */
const separable = (rank, filters, kernelSize, options) =>
  layer(
    `SeparableConv${rank}D`,
    rank,
    kernelSize,
    options,
    { ...DEPTHWISE, pointwiseInitializer: kernelInitializer },
    (all, window, title) => {
      checkWhole(`${title}: filters`, filters, 1);
      const point = windowOf(title, rank, 1, SLIDING);
      return (scope, x) => {
        const deep = depthwiseKernel(scope, x, window, 'depthwise_kernel', all);
        const between = convolve(scope, x, window, ...deep);
        const shape = [...point.kernel, deep[2], filters];
        const part = { shape, initializer: all.pointwiseInitializer, axes: axesOf(rank) };
        const pointwise = scope.keep('pointwise_kernel', [part]);
        return convolve(scope, between, point, 1, pointwise, filters, biasOf(scope, all, filters));
      };
    },
    causalOf(rank),
  );

/**
 * The elements that a transposed convolution cuts off at both ends of each axis, or adds at the end, as in Keras.
 * @param {Window} window @param {number[] | null} extra outputPadding
 */
function transposedPads(window, extra) {
  const { strides, padding } = window;
  const reaches = reachOf(window);
  const cuts = reaches.map((reach, i) => {
    if (padding === 'valid') return [0, -(extra?.[i] ?? Math.max(strides[i] - reach, 0))];
    const all = extra ? reach + (reach % 2) - 2 + extra[i] : strides[i] + reach - 2;
    const first = Math.min(Math.ceil(all / 2), reach - 1);
    return [reach - 1 - first, reach - 1 - (all - first)];
  });
  const grown = (/** @type {number | null} */ d, /** @type {number} */ i) =>
    d && (d - 1) * strides[i] + reaches[i] - cuts[i][0] - cuts[i][1];
  const pads = [0, 1].flatMap((end) => cuts.map((both) => Math.max(both[end], 0)));
  return { pads, output_padding: cuts.map(([, end]) => Math.max(-end, 0)), grown };
}

/** @param {1 | 2} rank @param {number} filters @param {Sizes} kernelSize @param {object} [options] */
const convTranspose = (rank, filters, kernelSize, options) =>
  layer(
    `Conv${rank}DTranspose`,
    rank,
    kernelSize,
    options,
    { ...COMMON, kernelInitializer, outputPadding: /** @type {Sizes | null} */ (null) },
    (all, window, title) => {
      checkWhole(`${title}: filters`, filters, 1);
      const { outputPadding: extra } = all;
      const { grown, ...pads } = transposedPads(
        window,
        extra === null ? extra : perAxis(`${title}: outputPadding`, extra, rank, 0),
      );
      const attributes = { ...attributesOf({ ...window, padding: 'valid' }), ...pads };
      return (scope, x) => {
        const shape = [...window.kernel, filters, scope.size(x, 1, 'channels')];
        const kernel = scope.keep('kernel', [{ shape, initializer: all.kernelInitializer, axes: axesOf(rank) }]);
        return {
          value: scope.node('ConvTranspose', [x.value, kernel, ...biasOf(scope, all, filters)], attributes),
          shape: [x.shape[0], filters, ...x.shape.slice(2).map(grown)],
        };
      };
    },
  );

/** @type {typeof import('../types/layers/index.js').conv1d} */
export const conv1d = (filters, kernelSize, options) => conv(1, filters, kernelSize, options);
/** @type {typeof import('../types/layers/index.js').conv2d} */
export const conv2d = (filters, kernelSize, options) => conv(2, filters, kernelSize, options);
/** @type {typeof import('../types/layers/index.js').depthwiseConv1d} */
export const depthwiseConv1d = (kernelSize, options) => depthwise(1, kernelSize, options);
/** @type {typeof import('../types/layers/index.js').depthwiseConv2d} */
export const depthwiseConv2d = (kernelSize, options) => depthwise(2, kernelSize, options);
/** @type {typeof import('../types/layers/index.js').separableConv1d} */
export const separableConv1d = (filters, kernelSize, options) => separable(1, filters, kernelSize, options);
/** @type {typeof import('../types/layers/index.js').separableConv2d} */
export const separableConv2d = (filters, kernelSize, options) => separable(2, filters, kernelSize, options);
/** @type {typeof import('../types/layers/index.js').conv1dTranspose} */
export const conv1dTranspose = (filters, kernelSize, options) => convTranspose(1, filters, kernelSize, options);
/** @type {typeof import('../types/layers/index.js').conv2dTranspose} */
export const conv2dTranspose = (filters, kernelSize, options) => convTranspose(2, filters, kernelSize, options);
