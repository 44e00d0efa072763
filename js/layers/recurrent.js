/**
 * Recurrent networks over (time, features). ONNX wants the time first, an axis of directions, and of LSTM the gates
 * input, output, forget, cell where Keras has input, forget, cell, output; GRU has update, reset, candidate in both.
 */

import { checkWhole, invalid, nameOf } from '../base/errors.js';
import { WEIGHTS } from './dense.js';
import { checkOneOf, layerOf } from './layer.js';

/** @import { Initializer, RecurrentActivation } from '../types/layers/index.js' */
/** @import { Part, Result, Scope, SymbolicTensor, Value } from './layer.js' */
/**
 * @typedef {object} Cell
 * @property {'LSTM' | 'GRU'} op
 * @property {number} units
 * @property {typeof LSTM & typeof GRU} options
 */

/** Keras' gate that stands at each of ONNX's places. */
const GATES = { LSTM: [0, 3, 1, 2], GRU: [0, 1, 2] };
const ACTIVATIONS = { tanh: 'Tanh', sigmoid: 'Sigmoid', relu: 'Relu', softsign: 'Softsign', softplus: 'Softplus' };
const COMMON = {
  ...WEIGHTS,
  activation: /** @type {RecurrentActivation} */ ('tanh'),
  recurrentActivation: /** @type {RecurrentActivation} */ ('sigmoid'),
  recurrentInitializer: /** @type {Initializer} */ ('orthogonal'),
  returnSequences: false,
  goBackwards: false,
};
const LSTM = { ...COMMON, unitForgetBias: true };
const GRU = { ...COMMON, resetAfter: true };

/** @type {typeof import('../types/layers/index.js').lstm} */
export const lstm = (units, options) => recurrent('LSTM', units, options, LSTM);
/** @type {typeof import('../types/layers/index.js').gru} */
export const gru = (units, options) => recurrent('GRU', units, options, GRU);

/** @param {Cell['op']} op @param {number} units @param {object | undefined} options @param {object} defaults */
function recurrent(op, units, options, defaults) {
  /** @type {any} */
  const cell = { op, units };
  const layer = layerOf(op, options, defaults, (all, title) => {
    cell.options = all;
    checkWhole(`${title}: units`, units, 1);
    for (const key of ['activation', 'recurrentActivation'])
      checkOneOf(`${title}: ${key}`, /** @type {any} */ (all)[key], Object.keys(ACTIVATIONS));
    return (scope, x) => run(scope, x, [cell], 'concat');
  });
  return Object.assign(layer, { cell });
}

/** @type {Record<string, string>} */
const MERGES = { concat: '', sum: 'ReduceSum', mul: 'ReduceProd', ave: 'ReduceMean' };

/** @type {typeof import('../types/layers/index.js').bidirectional} */
export const bidirectional = (layer, options) =>
  layerOf('Bidirectional', options, { mergeMode: 'concat', backwardLayer: layer }, (all, title) => {
    checkOneOf(`${title}: mergeMode`, all.mergeMode, Object.keys(MERGES));
    const cells = [layer, all.backwardLayer].map((one) => {
      const cell = /** @type {Cell | undefined} */ (one?.cell);
      return cell ?? refused(`${title}: wanted a layer lstm(…) or gru(…), not ${nameOf(one)}`);
    });
    if (cells[0].options.goBackwards) refused(`${title}: its layer runs forwards, without goBackwards`);
    if (cells[0].op !== cells[1].op || cells[0].units !== cells[1].units)
      refused(`${title}: backwardLayer must be of the same kind, and have as many units`);
    return (scope, x) => run(scope, x, cells, all.mergeMode);
  });

/** @param {string} why @returns {never} */
function refused(why) {
  throw invalid(why);
}

/**
 * @param {Scope} scope @param {SymbolicTensor} x
 * @param {Cell[]} cells one, or one for each direction @param {string} mergeMode
 * @returns {Result}
 */
function run(scope, x, cells, mergeMode) {
  scope.checkAxes(x, 'time', 'features');
  const [{ op, units, options }] = cells;
  const isAll = options.returnSequences;
  const attributes = {
    hidden_size: units,
    activations: cells.flatMap((cell) => activationsOf(cell)),
    ...(cells.length > 1 ? { direction: 'bidirectional' } : {}),
    ...(op === 'GRU' ? { linear_before_reset: Number(options.resetAfter) } : {}),
  };
  const isTurned = cells.length === 1 && options.goBackwards;
  const steps = isTurned ? { value: backwards(scope, x.value), shape: x.shape } : x;
  const inputs = [scope.transpose(steps, [1, 0, 2]).value, ...weightsOf(scope, cells, scope.size(x, 2, 'features'))];
  const out = scope.node(op, inputs, attributes, isAll ? 0 : 1);
  /* (time, directions, batch, units) or (directions, batch, units): the batch comes first, directions before units */
  const turned = scope.node('Transpose', [out], { perm: isAll ? [2, 0, 1, 3] : [1, 0, 2] });
  return {
    value: merged(scope, turned, isAll, mergeMode),
    shape: [x.shape[0], ...(isAll ? [x.shape[1]] : []), mergeMode === 'concat' ? units * cells.length : units],
  };
}

/** The steps in the other order, which Keras keeps in the output. @param {Scope} scope @param {Value} value */
const backwards = (scope, value) =>
  scope.node('Slice', [value, scope.ints(-1), scope.ints(-(2 ** 31)), scope.ints(1), scope.ints(-1)]);

/** Joins the directions. @param {Scope} scope @param {Value} value @param {boolean} isAll @param {string} mergeMode */
const merged = (scope, value, isAll, mergeMode) =>
  mergeMode === 'concat'
    ? scope.node('Reshape', [value, scope.ints(...(isAll ? [0, 0, -1] : [0, -1]))])
    : scope.node(MERGES[mergeMode], [value, scope.ints(isAll ? 2 : 1)], { keepdims: 0 });

/** @param {Cell} cell */
function activationsOf({ op, options }) {
  const [gate, inner] = [ACTIVATIONS[options.recurrentActivation], ACTIVATIONS[options.activation]];
  return op === 'LSTM' ? [gate, inner, inner] : [gate, inner];
}

/**
 * Kernels, recurrent kernels and biases of all directions.
 * @param {Scope} scope @param {Cell[]} cells @param {number} features
 */
function weightsOf(scope, cells, features) {
  const [{ op, units, options }] = cells;
  const gates = GATES[op];
  const wide = gates.length * units;
  /** @param {string} key @param {number[]} dims @param {(cell: Cell) => Part} part */
  const keep = (key, dims, part) => scope.keep(key, cells.map(part), [cells.length, ...dims]);
  /** @param {string} key @param {number} rows @param {'kernelInitializer' | 'recurrentInitializer'} option */
  const matrix = (key, rows, option) =>
    keep(key, [wide, rows], (cell) => ({
      ...{ shape: [rows, wide], initializer: cell.options[option] },
      ...{ axes: [1, 0], gates },
    }));
  const weights = [
    matrix('kernel', features, 'kernelInitializer'),
    matrix('recurrent_kernel', units, 'recurrentInitializer'),
  ];
  if (!options.useBias) return weights;
  /* ONNX has biases of both kernels; Keras has both for a GRU that resets after, else those of the first alone */
  const isDouble = op === 'GRU' && options.resetAfter;
  const shape = isDouble ? [2, wide] : [wide];
  const bias = keep('bias', [isDouble ? 2 * wide : wide], (cell) => ({
    ...{ shape, initializer: cell.options.biasInitializer },
    ...(op === 'LSTM' ? { gates, forget: cell.options.unitForgetBias ? units : 0 } : {}),
  }));
  return [...weights, isDouble ? bias : scope.node('Pad', [bias, scope.ints(0, 0, 0, wide)])];
}
