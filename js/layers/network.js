/** Networks: what layers noted becomes an ONNX file, by code that is loaded for it. */

import { checkWhole, invalid, nameOf } from '../base/errors.js';
import { onDemand } from '../base/lazy.js';
import { apply, optionsOf, SymbolicTensor, stateOf } from './layer.js';
import { INPUT, namesOf, TYPES } from './names.js';

/** @import { InputType } from '../types/layers/index.js' */
/** @import { Layer } from './layer.js' */

/** @type {typeof import('../types/layers/index.js').input} */
export function input(shape, options) {
  const { name, dtype } = optionsOf('input', options, { dtype: /** @type {InputType} */ ('float32') });
  if (!Array.isArray(shape))
    throw invalid(`input: its shape must be a list without the batch, as [13], not ${nameOf(shape)}`);
  for (const d of shape) if (d !== null) checkWhole('input: a dim', d, 1);
  if (!TYPES[dtype]) throw invalid(`input: dtype must be ${Object.keys(TYPES).join(', ')}, not ${nameOf(dtype)}`);
  const layer = stateOf(INPUT, name, [0, 0], (scope) => scope.refuse('nothing', { shape }));
  const call = { order: layer.order, layer, inputs: [] };
  return new SymbolicTensor(call, { order: layer.order, call }, [null, ...shape], dtype);
}

/** @type {typeof import('../types/layers/index.js').sequential} */
export async function sequential(layers, options) {
  const all = optionsOf('sequential', options, NETWORK);
  if (!Array.isArray(layers)) throw invalid(`sequential: wanted a list of layers, not ${nameOf(layers)}`);
  const [first, ...rest] = /** @type {[SymbolicTensor, ...Layer[]]} */ (/** @type {unknown} */ (layers));
  if (!(first instanceof SymbolicTensor))
    throw invalid('sequential: the first of its layers must be an input, as input([13])');
  const states = rest.flatMap((layer) => layer?.state ?? []);
  const names = namesOf([first.call.layer, ...states]);
  const output = rest.reduce((x, layer, i) => {
    const state = layer?.state;
    const y = state ? apply(state, [x], names.get(state)) : typeof layer === 'function' ? layer(x) : layer;
    if (y instanceof SymbolicTensor && y !== /** @type {unknown} */ (layer)) return y;
    throw invalid(`sequential: item ${i + 1} must be a layer as dense(1), or give a tensor, not ${nameOf(y)}`);
  }, first);
  return await written(states.length === rest.length, [first], [output], all);
}

/** @type {typeof import('../types/layers/index.js').model} */
export async function model(options) {
  const { inputs, outputs, ...rest } = optionsOf('model', options, { ...NETWORK, inputs: [], outputs: [] });
  const [from, to] = Object.entries({ inputs, outputs }).map(([key, one]) => {
    const all = /** @type {any[]} */ ([one].flat());
    if (all.length && all.every((x) => x instanceof SymbolicTensor)) return all;
    throw invalid(`model: ${key} must be a tensor or a list of them, not ${nameOf(one)}`);
  });
  return await written(false, from, to, rest);
}

/** @type {typeof import('../types/layers/index.js').summary} */
export const summary = async (network) => await onDemand(() => import('./summary.js'), 'summary', [network]);

const NETWORK = { seed: /** @type {number | undefined} */ (undefined) };

/**
 * @param {boolean} isSequential
 * @param {readonly SymbolicTensor[]} inputs @param {readonly SymbolicTensor[]} outputs
 * @param {{ name?: string, seed?: number }} options
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
const written = async (isSequential, inputs, outputs, options) => {
  if (options.seed !== undefined) checkWhole('seed', options.seed, 0);
  const network = { isSequential, inputs, outputs, tensors: reached(outputs) };
  return await onDemand(() => import('./file.js'), 'fileOf', [network, options]);
};

/** All tensors that some depend on, in the order in which they were made. @param {readonly SymbolicTensor[]} outputs */
function reached(outputs) {
  const found = new Set(outputs);
  for (const { call } of found) for (const x of call.inputs) found.add(x);
  return [...found].sort((a, b) => a.call.order - b.call.order);
}
