/** Attention of several heads, over (time, features). */

import { checkWhole } from '../base/errors.js';
import { sizeOf } from '../base/tensor.js';
import { WEIGHTS } from './dense.js';
import { checkRate, layerOf } from './layer.js';
import { dropped } from './shaping.js';

/** @import { Scope, SymbolicTensor, Value } from './layer.js' */

/** Keras' score of what is masked. */
const MASKED = -3.4028234663852886e37;
const BOOL = 9;

/** @type {typeof import('../types/layers/index.js').multiHeadAttention} */
export const multiHeadAttention = (numHeads, keyDim, options) =>
  layerOf(
    'MultiHeadAttention',
    options,
    {
      ...WEIGHTS,
      valueDim: /** @type {number | undefined} */ (undefined),
      dropout: 0,
      outputShape: /** @type {number | undefined} */ (undefined),
      useCausalMask: false,
    },
    (all, title) => {
      const { valueDim = keyDim, dropout, useCausalMask, outputShape } = all;
      for (const [what, count] of Object.entries({ numHeads, keyDim, valueDim }))
        checkWhole(`${title}: ${what}`, count, 1);
      checkRate(`${title}: dropout`, dropout);
      return (scope, query, source = query, key = source) => {
        /** @param {string} name @param {SymbolicTensor} x @param {number} dim @param {number[]} perm */
        const heads = (name, x, dim, perm) => {
          scope.checkAxes(x, 'time', 'features');
          const kernel = [scope.size(x, 2, 'features'), numHeads, dim];
          const apart = [projected(scope, name, x.value, kernel, 1, all), scope.ints(0, 0, numHeads, -1)];
          return scope.node('Transpose', [scope.node('Reshape', apart)], { perm });
        };
        const q = heads('query', query, keyDim, [0, 2, 1, 3]);
        const k = heads('key', key, keyDim, [0, 2, 3, 1]);
        const v = heads('value', source, valueDim, [0, 2, 1, 3]);
        const scaled = scope.node('Mul', [q, scope.floats([], [1 / Math.sqrt(keyDim)])]);
        const scores = scope.node('MatMul', [scaled, k]);
        const shares = scope.node('Softmax', [useCausalMask ? causal(scope, scores) : scores], { axis: 3 });
        const mixed = scope.node('MatMul', [dropout ? dropped(scope, shares, dropout) : shares, v]);
        const turned = scope.node('Transpose', [mixed], { perm: [0, 2, 1, 3] });
        const joined = scope.node('Reshape', [turned, scope.ints(0, 0, -1)]);
        const outputs = outputShape ?? scope.size(query, 2, 'features');
        return {
          value: projected(scope, 'attention_output', joined, [numHeads, valueDim, outputs], 2, all),
          shape: [...query.shape.slice(0, 2), outputs],
        };
      };
    },
    [1, 3],
  );

/**
 * x · kernel + bias, for weights of Keras' shapes.
 * @param {Scope} scope @param {string} name @param {Value} x @param {number[]} shape of the kernel
 * @param {number} outer how many of its axes are inputs
 * @param {typeof WEIGHTS} options
 */
function projected(scope, name, x, shape, outer, { useBias, kernelInitializer, biasInitializer }) {
  const [inputs, outputs] = [shape.slice(0, outer), shape.slice(outer)];
  const dims = [sizeOf(inputs), sizeOf(outputs)];
  const kernel = scope.keep(`${name}/kernel`, [{ shape, initializer: kernelInitializer }], dims);
  const product = scope.node('MatMul', [x, kernel]);
  if (!useBias) return product;
  const part = { shape: outputs, initializer: biasInitializer };
  return scope.node('Add', [product, scope.keep(`${name}/bias`, [part], [dims[1]])]);
}

/** Hides what comes later. @param {Scope} scope @param {Value} scores */
function causal(scope, scores) {
  const size = scope.node('Shape', [scores], { start: 2 });
  const ones = scope.node('ConstantOfShape', [size], { value: { dims: [1], data: Float32Array.of(1) } });
  const seen = scope.node('Cast', [scope.node('Trilu', [ones], { upper: 0 })], { to: BOOL });
  return scope.node('Where', [seen, scores, scope.floats([], [MASKED])]);
}
