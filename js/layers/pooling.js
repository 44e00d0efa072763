/** Pooling over windows and over all of a picture or signal, channels first. */

import { attributesOf, channelsFirst, DATA_FORMAT, slid, windowOf } from './convolution.js';
import { layerOf } from './layer.js';

/** @import { Sizes } from './convolution.js' */

/**
 * @param {'Max' | 'Average'} kind @param {1 | 2} rank
 * @param {Sizes | undefined} poolSize @param {object | undefined} options
 */
const pooling = (kind, rank, poolSize = 2, options) =>
  layerOf(
    `${kind}Pooling${rank}D`,
    options,
    { strides: /** @type {Sizes | null} */ (null), padding: 'valid', ...DATA_FORMAT },
    (all, title) => {
      const window = windowOf(title, rank, poolSize, { ...all, strides: all.strides ?? poolSize });
      return (scope, x) =>
        channelsFirst(scope, x, rank, all.dataFormat, (first) => ({
          value: scope.node(`${kind}Pool`, [first.value], attributesOf(window)),
          shape: [...first.shape.slice(0, 2), ...slid(scope, first, window)],
        }));
    },
  );

/** @param {'Max' | 'Average'} kind @param {1 | 2} rank @param {object} [options] */
const globalPooling = (kind, rank, options) =>
  layerOf(`Global${kind}Pooling${rank}D`, options, { ...DATA_FORMAT, keepdims: false }, (all, title) => {
    windowOf(title, rank, 1, { ...all, strides: 1, padding: 'valid' });
    return (scope, x) =>
      channelsFirst(scope, x, rank, all.dataFormat, ({ value, shape }) => {
        const pooled = scope.node(`Global${kind}Pool`, [value]);
        const flat = shape.slice(0, 2);
        if (all.keepdims) return { value: pooled, shape: [...flat, ...shape.slice(2).fill(1)] };
        return { value: scope.node('Flatten', [pooled]), shape: flat };
      });
  });

/** @type {typeof import('../types/layers/index.js').maxPooling1d} */
export const maxPooling1d = (poolSize, options) => pooling('Max', 1, poolSize, options);
/** @type {typeof import('../types/layers/index.js').maxPooling2d} */
export const maxPooling2d = (poolSize, options) => pooling('Max', 2, poolSize, options);
/** @type {typeof import('../types/layers/index.js').averagePooling1d} */
export const averagePooling1d = (poolSize, options) => pooling('Average', 1, poolSize, options);
/** @type {typeof import('../types/layers/index.js').averagePooling2d} */
export const averagePooling2d = (poolSize, options) => pooling('Average', 2, poolSize, options);
/** @type {typeof import('../types/layers/index.js').globalMaxPooling1d} */
export const globalMaxPooling1d = (options) => globalPooling('Max', 1, options);
/** @type {typeof import('../types/layers/index.js').globalMaxPooling2d} */
export const globalMaxPooling2d = (options) => globalPooling('Max', 2, options);
/** @type {typeof import('../types/layers/index.js').globalAveragePooling1d} */
export const globalAveragePooling1d = (options) => globalPooling('Average', 1, options);
/** @type {typeof import('../types/layers/index.js').globalAveragePooling2d} */
export const globalAveragePooling2d = (options) => globalPooling('Average', 2, options);
