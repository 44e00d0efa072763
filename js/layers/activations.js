/** Activations by Keras' names, and as layers. */

import { invalid } from '../base/errors.js';
import { checkOneOf, layerOf } from './layer.js';

/** @import { Initializer } from '../types/layers/index.js' */
/** @import { Attribute } from './onnx.js' */
/** @import { Scope, Value } from './layer.js' */
/** @typedef {(scope: Scope, x: Value, axis: number) => Value} Activate */

/** An attribute that is not whole. @param {number} x */
export const float = (x) => Float32Array.of(x);

/** @param {string} op @param {Record<string, Attribute>} [attributes] @returns {Activate} */
const one =
  (op, attributes = {}) =>
  (scope, x) =>
    scope.node(op, [x], attributes);

/** @param {string} op @returns {Activate} */
const along = (op) => (scope, x, axis) => scope.node(op, [x], { axis });

/** @param {number} [low] @param {number} [high] @returns {Activate} */
const clip = (low, high) => (scope, x) =>
  scope.node('Clip', [x, ...[low, high].map((bound) => (bound === undefined ? bound : scope.floats([], [bound])))]);

/** @type {Activate} */
const silu = (scope, x) => scope.node('Mul', [x, scope.node('Sigmoid', [x])]);
const hardSilu = one('HardSwish');

/** @type {Record<string, Activate>} */
const ACTIVATIONS = {
  linear: (_, x) => x,
  celu: one('Celu'),
  elu: one('Elu'),
  exponential: one('Exp'),
  gelu: one('Gelu'),
  hard_shrink: one('Shrink'),
  hard_sigmoid: one('HardSigmoid', { alpha: float(1 / 6) }),
  hard_silu: hardSilu,
  hard_swish: hardSilu,
  hard_tanh: clip(-1, 1),
  leaky_relu: one('LeakyRelu', { alpha: float(0.2) }),
  log_sigmoid: (scope, x) => scope.node('Neg', [scope.node('Softplus', [scope.node('Neg', [x])])]),
  log_softmax: along('LogSoftmax'),
  mish: one('Mish'),
  relu: one('Relu'),
  relu6: clip(0, 6),
  selu: one('Selu'),
  sigmoid: one('Sigmoid'),
  silu,
  soft_shrink: one('Shrink', { bias: float(0.5) }),
  softmax: along('Softmax'),
  softplus: one('Softplus'),
  softsign: one('Softsign'),
  swish: silu,
  tanh: one('Tanh'),
  tanh_shrink: (scope, x) => scope.node('Sub', [x, scope.node('Tanh', [x])]),
};

/** The function of an activation; null is linear. @param {string} title of the layer @param {string | null} name */
export function activating(title, name) {
  checkOneOf(`${title}: activation`, name ?? 'linear', Object.keys(ACTIVATIONS));
  return ACTIVATIONS[name ?? 'linear'];
}

/**
 * A layer that keeps the shape.
 * @template {object} T
 * @param {string} type @param {object | undefined} options @param {T} defaults
 * @param {(options: T, title: string) => Activate} make
 */
const like = (type, options, defaults, make) =>
  layerOf(type, options, defaults, (all, title) => {
    const act = make(all, title);
    return (scope, { value, shape }) => ({ value: act(scope, value, shape.length - 1), shape });
  });

/** @type {typeof import('../types/layers/index.js').activation} */
export const activation = (name, options) => like('Activation', options, {}, (_, title) => activating(title, name));

/** @type {typeof import('../types/layers/index.js').relu} */
export const relu = (options) =>
  like(
    'ReLU',
    options,
    { maxValue: /** @type {number | null} */ (null), negativeSlope: 0, threshold: 0 },
    ({ maxValue, negativeSlope, threshold }, title) => {
      if (negativeSlope && threshold) throw invalid(`${title}: a negativeSlope and a threshold do not go together`);
      const [op, alpha] = threshold ? ['ThresholdedRelu', threshold] : ['LeakyRelu', negativeSlope];
      const act = alpha ? one(op, { alpha: float(alpha) }) : one('Relu');
      return maxValue === null ? act : (scope, x, axis) => clip(undefined, maxValue)(scope, act(scope, x, axis), axis);
    },
  );

/** @type {typeof import('../types/layers/index.js').leakyRelu} */
export const leakyRelu = (options) =>
  like('LeakyReLU', options, { negativeSlope: 0.3 }, (all) => one('LeakyRelu', { alpha: float(all.negativeSlope) }));

/** @type {typeof import('../types/layers/index.js').elu} */
export const elu = (options) => like('ELU', options, { alpha: 1 }, ({ alpha }) => one('Elu', { alpha: float(alpha) }));

/** @type {typeof import('../types/layers/index.js').softmax} */
export const softmax = (options) =>
  layerOf('Softmax', options, { axis: -1 }, ({ axis }) => (scope, x) => ({
    value: scope.node('Softmax', [x.value], { axis: scope.axis(x, axis) }),
    shape: x.shape,
  }));

/** @type {{ alphaInitializer: Initializer, sharedAxes: readonly number[] }} */
const PRELU = { alphaInitializer: 'zeros', sharedAxes: [] };

/** @type {typeof import('../types/layers/index.js').prelu} */
export const prelu = (options) =>
  layerOf('PReLU', options, PRELU, ({ alphaInitializer, sharedAxes }) => (scope, x) => {
    const shared = sharedAxes.map((axis) => scope.axis(x, axis));
    const dims = x.shape.slice(1).map((_, i) => (shared.includes(i + 1) ? 1 : scope.size(x, i + 1, 'elements')));
    return { value: scope.node('PRelu', [x.value, scope.weight('alpha', dims, alphaInitializer)]), shape: x.shape };
  });
