/** Normalizations, and the arithmetic with which a network prepares what it is fed. */

import { checkWhole, invalid, nameOf } from '../base/errors.js';
import { sizeOf } from '../base/tensor.js';
import { float } from './activations.js';
import { layerOf } from './layer.js';

/** @import { Initializer } from '../types/layers/index.js' */
/** @import { Result, Scope, SymbolicTensor, Value } from './layer.js' */

/** @typedef {{ betaInitializer: Initializer, gammaInitializer: Initializer }} Initial */
/** @type {Initial & { epsilon: number, center: boolean, scale: boolean }} */
const AFFINE = { epsilon: 1e-3, center: true, scale: true, betaInitializer: 'zeros', gammaInitializer: 'ones' };

/**
 * Scale and offset, which are constants where they are left out.
 * @param {Scope} scope @param {number[]} dims @param {typeof AFFINE} options
 */
function affine(scope, dims, { center, scale, betaInitializer, gammaInitializer }) {
  const fixed = (/** @type {number} */ value) => scope.floats(dims, new Float32Array(sizeOf(dims)).fill(value));
  return [
    scale ? scope.weight('gamma', dims, gammaInitializer) : fixed(1),
    center ? scope.weight('beta', dims, betaInitializer) : fixed(0),
  ];
}

/**
 * Builds with an axis at another place, and puts it back.
 * @param {Scope} scope @param {Result} x @param {number} from @param {number} to
 * @param {(value: Value) => Value} build
 * @returns {Result}
 */
function withAxisAt(scope, x, from, to, build) {
  if (from === to) return { value: build(x.value), shape: x.shape };
  const order = x.shape.map((_, i) => (i === from ? to : i === to ? from : i));
  const { value, shape } = scope.transpose(x, order);
  return scope.transpose({ value: build(value), shape }, order);
}

/** @type {typeof import('../types/layers/index.js').batchNormalization} */
export const batchNormalization = (options) =>
  layerOf(
    'BatchNormalization',
    options,
    {
      ...AFFINE,
      axis: 1,
      momentum: 0.99,
      movingMeanInitializer: /** @type {Initializer} */ ('zeros'),
      movingVarianceInitializer: /** @type {Initializer} */ ('ones'),
    },
    (all) => (scope, x) => {
      const axis = scope.axis(x, all.axis);
      const dims = [scope.size(x, axis, 'channels')];
      return withAxisAt(scope, x, axis, 1, (value) => {
        const learned = affine(scope, dims, all);
        const mean = scope.weight('moving_mean', dims, all.movingMeanInitializer, false);
        const variance = scope.weight('moving_variance', dims, all.movingVarianceInitializer, false);
        const attributes = { epsilon: float(all.epsilon), momentum: float(all.momentum) };
        return scope.node('BatchNormalization', [value, ...learned, mean, variance], attributes);
      });
    },
  );

/** @type {typeof import('../types/layers/index.js').layerNormalization} */
export const layerNormalization = (options) =>
  layerOf(
    'LayerNormalization',
    options,
    { ...AFFINE, axis: /** @type {number | readonly number[]} */ (-1) },
    (all, title) => (scope, x) => {
      const axes = [all.axis].flat().map((one) => scope.axis(x, one));
      axes.sort((a, b) => a - b);
      const last = x.shape.length - 1;
      const isTail = axes.every((one, i) => one === last - axes.length + 1 + i);
      if (!isTail && axes.length > 1) throw invalid(`${title}: axis must be one axis, or the last ones`);
      const dims = axes.map((one) => scope.size(x, one, 'features'));
      const attributes = { axis: isTail ? axes[0] : last, epsilon: float(all.epsilon) };
      return withAxisAt(scope, x, isTail ? last : axes[0], last, (value) =>
        scope.node('LayerNormalization', [value, ...affine(scope, dims, all)], attributes),
      );
    },
  );

/** @type {typeof import('../types/layers/index.js').groupNormalization} */
export const groupNormalization = (options) =>
  layerOf('GroupNormalization', options, { ...AFFINE, groups: 32, axis: 1 }, (all, title) => {
    if (all.groups !== -1) checkWhole(`${title}: groups`, all.groups, 1);
    return (scope, x) => {
      const axis = scope.axis(x, all.axis);
      const channels = scope.size(x, axis, 'channels');
      const groups = all.groups === -1 ? channels : all.groups;
      if (channels % groups) scope.refuse(`a number of channels that its ${groups} groups divide`, x);
      const attributes = { num_groups: groups, epsilon: float(all.epsilon) };
      return withAxisAt(scope, x, axis, 1, (value) =>
        scope.node('GroupNormalization', [value, ...affine(scope, [channels], all)], attributes),
      );
    };
  });

/**
 * Constants along an axis of x, or a single one.
 * @param {Scope} scope @param {SymbolicTensor} x @param {number | null} axis @param {ArrayLike<number>} numbers
 */
function along(scope, x, axis, numbers) {
  const own = axis === null ? 0 : scope.axis(x, axis);
  const { length } = numbers;
  if (length !== 1 && length !== x.shape[own]) scope.refuse(`${length} numbers along axis ${axis}`, x);
  return scope.floats(
    length === 1 ? [] : [length, ...Array(x.shape.length - own - 1).fill(1)],
    Float32Array.from(numbers),
  );
}

const FLOAT = 1;
/** @param {Scope} scope @param {SymbolicTensor} x */
const floatOf = (scope, x) => (x.dtype === 'float32' ? x.value : scope.node('Cast', [x.value], { to: FLOAT }));

/** @type {typeof import('../types/layers/index.js').rescaling} */
export const rescaling = (scale, options) =>
  layerOf(
    'Rescaling',
    options,
    { offset: /** @type {number | readonly number[]} */ (0), axis: 1 },
    ({ offset, axis }, title) => {
      const [factors, offsets] = [scale, offset].map((one) => [one].flat());
      for (const one of [...factors, ...offsets])
        if (typeof one !== 'number') throw invalid(`${title}: scale and offset are numbers, not ${nameOf(one)}`);
      return (scope, x) => {
        const scaled = scope.node('Mul', [floatOf(scope, x), along(scope, x, axis, factors)]);
        return { value: scope.node('Add', [scaled, along(scope, x, axis, offsets)]), shape: x.shape, dtype: 'float32' };
      };
    },
  );

/** @typedef {{ mean: ArrayLike<number>, variance: ArrayLike<number> }} Statistics */
/** @typedef {number | readonly number[] | undefined} Given */
const NORMALIZATION = {
  axis: /** @type {number | null} */ (1),
  mean: /** @type {Given} */ (undefined),
  variance: /** @type {Given} */ (undefined),
  invert: false,
};
/** The least deviation, as in Keras. */
const EPSILON = 1e-7;

/** @type {typeof import('../types/layers/index.js').normalization} */
export function normalization(options) {
  /** @type {Statistics | undefined} */
  let adapted;
  let axis = NORMALIZATION.axis;
  const layer = layerOf('Normalization', options, NORMALIZATION, (all, title) => {
    axis = all.axis;
    const given = statisticsIn(title, all);
    return (scope, x) => {
      const statistics = given ?? adapted;
      if (!statistics) throw invalid(`${title} has no mean and variance: give both, or call adapt(data) before`);
      scope.call.layer.constants = given ? 0 : 2 * statistics.mean.length + 1;
      return normalized(scope, x, statistics, all);
    };
  });
  /** @param {any} data */
  function adapt(data) {
    adapted = statisticsOf(data, axis);
    return whole;
  }
  const whole = Object.assign(layer, { adapt });
  return whole;
}

/**
 * @param {Scope} scope @param {SymbolicTensor} x
 * @param {Statistics} statistics @param {typeof NORMALIZATION} options
 * @returns {Result}
 */
function normalized(scope, x, { mean, variance }, { axis, invert }) {
  const deviation = Float32Array.from(variance, (one) => Math.max(Math.sqrt(one), EPSILON));
  const [means, deviations] = [mean, deviation].map((numbers) => along(scope, x, axis, numbers));
  const value = invert
    ? scope.node('Add', [scope.node('Mul', [floatOf(scope, x), deviations]), means])
    : scope.node('Div', [scope.node('Sub', [floatOf(scope, x), means]), deviations]);
  return { value, shape: x.shape, dtype: 'float32' };
}

/** @param {string} title @param {{ mean: Given, variance: Given }} options @returns {Statistics | undefined} */
function statisticsIn(title, { mean, variance }) {
  if (mean === undefined && variance === undefined) return undefined;
  const [means, variances] = [mean, variance].map((one) => /** @type {number[]} */ ([one].flat()));
  if ([...means, ...variances].every((one) => typeof one === 'number') && means.length === variances.length)
    return { mean: means, variance: variances };
  throw invalid(`${title}: mean and variance go together, as many numbers of one as of the other`);
}

/**
 * Mean and variance of data along an axis, over all others.
 * @param {{ dims: readonly number[], data: ArrayLike<number | bigint> }} data @param {number | null} axis
 */
function statisticsOf(data, axis) {
  const { dims, data: numbers } = data ?? {};
  if (!Array.isArray(dims) || !numbers?.length || sizeOf(dims) !== numbers.length)
    throw invalid(`normalization: adapt wants a tensor of examples, not ${nameOf(data)}`);
  const own = axis !== null && axis < 0 ? axis + dims.length : axis;
  if (own !== null && !(own > 0 && own < dims.length))
    throw invalid(`normalization: adapt was given (${dims.join(', ')}), which has no axis ${axis}`);
  const [length, step] = own === null ? [1, 1] : [dims[own], sizeOf(dims.slice(own + 1))];
  const [mean, variance] = [new Float64Array(length), new Float64Array(length)];
  const share = length / numbers.length;
  for (let i = 0; i < numbers.length; i++) mean[Math.floor(i / step) % length] += Number(numbers[i]) * share;
  for (let i = 0; i < numbers.length; i++) {
    const k = Math.floor(i / step) % length;
    variance[k] += (Number(numbers[i]) - mean[k]) ** 2 * share;
  }
  return { mean, variance };
}
