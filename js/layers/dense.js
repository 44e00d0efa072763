/** Products with a learned matrix: dense layers and embeddings. */

import { checkWhole } from '../base/errors.js';
import { activating } from './activations.js';
import { layerOf } from './layer.js';

/** @import { ActivationName, Initializer } from '../types/layers/index.js' */
/** @import { Scope } from './layer.js' */
/** @typedef {{ useBias: boolean, biasInitializer: Initializer }} Bias */

/** @type {Bias & { kernelInitializer: Initializer }} */
export const WEIGHTS = { useBias: true, kernelInitializer: 'glorot_uniform', biasInitializer: 'zeros' };
export const ACTIVATED = { activation: /** @type {ActivationName | null} */ (null) };

/** The bias as inputs of a node: one or none. @param {Scope} scope @param {Bias} options @param {number} count */
export const biasOf = (scope, { useBias, biasInitializer }, count) =>
  useBias ? [scope.weight('bias', [count], biasInitializer)] : [];

/** @type {typeof import('../types/layers/index.js').dense} */
export const dense = (units, options) =>
  layerOf('Dense', options, { ...ACTIVATED, ...WEIGHTS }, (all, title) => {
    checkWhole(`${title}: units`, units, 1);
    const act = activating(title, all.activation);
    return (scope, x) => {
      const { shape } = x;
      if (shape.length < 2) scope.refuse('an input of (features)', x);
      const kernel = scope.weight('kernel', [scope.size(x, -1, 'features'), units], all.kernelInitializer);
      const bias = biasOf(scope, all, units);
      const isFlat = shape.length === 2;
      const product = scope.node(isFlat ? 'Gemm' : 'MatMul', [x.value, kernel, ...(isFlat ? bias : [])]);
      const sum = isFlat || !bias.length ? product : scope.node('Add', [product, ...bias]);
      return { value: act(scope, sum, shape.length - 1), shape: [...shape.slice(0, -1), units] };
    };
  });

const INT64 = 7;
const EMBEDDING = { embeddingsInitializer: /** @type {Initializer} */ ('uniform') };

/** @type {typeof import('../types/layers/index.js').embedding} */
export const embedding = (inputDim, outputDim, options) =>
  layerOf('Embedding', options, EMBEDDING, ({ embeddingsInitializer }, title) => {
    checkWhole(`${title}: inputDim`, inputDim, 1);
    checkWhole(`${title}: outputDim`, outputDim, 1);
    return (scope, x) => {
      const table = scope.weight('embeddings', [inputDim, outputDim], embeddingsInitializer);
      const indices = /int[36]/.test(x.dtype) ? x.value : scope.node('Cast', [x.value], { to: INT64 });
      return { value: scope.node('Gather', [table, indices]), shape: [...x.shape, outputDim], dtype: 'float32' };
    };
  });
