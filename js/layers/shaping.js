/** Layers without weights: shapes, dropout, sums and the like of several inputs. */

import { checkWhole, invalid } from '../base/errors.js';
import { sizeOf } from '../base/tensor.js';
import { checkRate, layerOf, shapeText } from './layer.js';

/** @import { Dims, Scope, SymbolicTensor, Value } from './layer.js' */

/** @param {Dims} dims @returns {number | null} null where one is free */
const productOf = (dims) => (dims.includes(null) ? null : sizeOf(/** @type {number[]} */ (dims)));

/** @type {typeof import('../types/layers/index.js').flatten} */
export const flatten = (options) =>
  layerOf('Flatten', options, {}, () => (scope, x) => ({
    value: scope.node('Flatten', [x.value]),
    shape: [x.shape[0], productOf(x.shape.slice(1))],
  }));

/** @type {typeof import('../types/layers/index.js').reshape} */
export const reshape = (targetShape, options) =>
  layerOf('Reshape', options, {}, (_, title) => {
    const known = targetShape.filter((d) => d !== -1);
    for (const d of known) checkWhole(`${title}: a dim`, d, 1);
    if (known.length < targetShape.length - 1) throw invalid(`${title}: only one dim may be -1`);
    return (scope, x) => {
      const [all, others] = [productOf(x.shape.slice(1)), sizeOf(known)];
      if (all && (known.length < targetShape.length ? all % others : all !== others))
        scope.refuse(`as many elements as (${targetShape.join(', ')}) has`, x);
      const shape = targetShape.map((d) => (d === -1 ? all && all / others : d));
      return { value: scope.node('Reshape', [x.value, scope.ints(0, ...targetShape)]), shape: [x.shape[0], ...shape] };
    };
  });

/** @type {typeof import('../types/layers/index.js').permute} */
export const permute = (dims, options) =>
  layerOf('Permute', options, {}, (_, title) => {
    if (![...dims].sort((a, b) => a - b).every((d, i) => d === i + 1))
      throw invalid(`${title}: dims must be each of 1 to ${dims.length} once, not (${dims.join(', ')})`);
    return (scope, x) => {
      if (x.shape.length !== dims.length + 1) scope.refuse(`an input of ${dims.length} dims`, x);
      return scope.transpose(x, [0, ...dims]);
    };
  });

/** @type {typeof import('../types/layers/index.js').dropout} */
export const dropout = (rate, options) =>
  layerOf('Dropout', options, {}, (_, title) => {
    checkRate(`${title}: rate`, rate);
    return (scope, { value, shape }) => ({ value: dropped(scope, value, rate), shape });
  });

/** A Dropout node, which training switches on. @param {Scope} scope @param {Value} value @param {number} rate */
export const dropped = (scope, value, rate) => scope.node('Dropout', [value, scope.floats([], [rate])]);

const SEVERAL = [2, Infinity];

/**
 * The shape of several inputs together.
 * @param {Scope} scope @param {readonly SymbolicTensor[]} inputs
 * @param {(a: number | null, b: number | null, axis: number) => number | null | undefined} join undefined: refused
 * @param {string} wanted
 */
const together = (scope, inputs, join, wanted) =>
  inputs
    .map(({ shape }) => shape)
    .reduce((a, b) => {
      const shape = a.map((d, i) => (a.length === b.length ? join(d, b[i], i) : undefined));
      if (shape.includes(undefined)) scope.refuse(`${wanted}, and after ${shapeText({ shape: a })}`, { shape: b });
      return /** @type {Dims} */ (shape);
    });

/** @param {number | null} a @param {number | null} b */
const broadcast = (a, b) => (a === b || b === 1 ? a : a === 1 || a === null ? b : b === null ? a : undefined);

/** @param {string} type @param {string} op @param {object | undefined} options */
const merging = (type, op, options) =>
  layerOf(
    type,
    options,
    {},
    () =>
      (scope, ...inputs) => ({
        value: inputs.map(({ value }) => value).reduce((sum, value) => scope.node(op, [sum, value])),
        shape: together(scope, inputs, broadcast, 'inputs of one shape'),
      }),
    SEVERAL,
  );

/** @type {typeof import('../types/layers/index.js').add} */
export const add = (options) => merging('Add', 'Add', options);
/** @type {typeof import('../types/layers/index.js').multiply} */
export const multiply = (options) => merging('Multiply', 'Mul', options);

/** @type {typeof import('../types/layers/index.js').concatenate} */
export const concatenate = (options) =>
  layerOf(
    'Concatenate',
    options,
    { axis: -1 },
    (all) =>
      (scope, ...inputs) => {
        const axis = scope.axis(inputs[0], all.axis);
        const join = (/** @type {number | null} */ a, /** @type {number | null} */ b, /** @type {number} */ i) => {
          if (i === axis) return a && b && a + b;
          return a === b || b === null ? a : (a ?? b);
        };
        const wanted = `inputs that differ along axis ${axis} alone`;
        const fits = (/** @type {any} */ a, /** @type {any} */ b, /** @type {number} */ i) =>
          i === axis || a === b || a === null || b === null ? join(a, b, i) : undefined;
        const shape = together(scope, inputs, fits, wanted);
        return {
          value: scope.node(
            'Concat',
            inputs.map(({ value }) => value),
            { axis },
          ),
          shape,
        };
      },
    SEVERAL,
  );
