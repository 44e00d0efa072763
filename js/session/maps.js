/**
 * Maps as inputs and outputs of a model that infers, as scikit-learn's exporter writes them. In the engine a map is two
 * tensors, its keys and its values; a sequence of maps is the keys of all and a row of values for each.
 */

import { nameOf, TrainletError } from '../base/errors.js';
import { isKind } from '../base/kind.js';
import { Tensor } from '../base/tensor.js';
import { runGraph, tensorsOf } from './run.js';

/** @import { ValueInfo } from '../types.js' */

/** @param {string} message */
const bad = (message) => new TrainletError('invalid-feed', message);

/** @param {ValueInfo} input @param {unknown} value its keys and values as tensors */
function opened({ name, type, map }, value) {
  if (value === null || value === undefined) return value;
  if (!isKind(value, 'Map')) throw bad(`input '${name}' is a map: it must be a Map, not ${nameOf(value)}`);
  const tensor = (/** @type {string} */ what, /** @type {string} */ as, /** @type {unknown[]} */ values) => {
    const wanted = as === 'string' ? 'string' : as === 'int64' ? 'bigint' : 'number';
    const odd = values.find((one) => typeof one !== wanted);
    if (odd !== undefined)
      throw bad(`input '${name}': the ${what} of the map must each be a ${wanted} (${as}), one is a ${typeof odd}`);
    return new Tensor(/** @type {'string'} */ (as), /** @type {string[]} */ (values), [values.length]);
  };
  return [tensor('keys', /** @type {string} */ (map), [...value.keys()]), tensor('values', type, [...value.values()])];
}

/** @param {[Tensor<any>, Tensor<any>]} sequence @returns {any} a map for each row of values */
function closed([{ data: keys }, { data: values, dims }]) {
  return Array.from(
    { length: dims[0] },
    (_, row) => new Map(Array.from(keys, (key, i) => [key, values[row * keys.length + i]])),
  );
}

/** Runs a graph of which inputs or outputs are maps. @type {typeof runGraph} */
export const runWithMaps = async (ask, graph, info, feeds, fetches, options, runOptions) => {
  const inputs = info.inputs.map((input) => (input.map ? { ...input, sequence: /** @type {const} */ (true) } : input));
  const isMap = (/** @type {string} */ name) => info.outputs.some((output) => output.name === name && output.map);
  /** @type {typeof tensorsOf} */
  const unpack = (outputs) =>
    Object.fromEntries(
      Object.entries(tensorsOf(outputs)).map(([name, value]) => [
        name,
        isMap(name) && Array.isArray(value) ? closed(/** @type {[Tensor, Tensor]} */ (value)) : value,
      ]),
    );
  const fed = { ...feeds };
  for (const input of info.inputs)
    if (input.map && Object.hasOwn(fed, input.name))
      fed[input.name] = /** @type {any} */ (opened(input, fed[input.name]));
  return await runGraph(ask, graph, { ...info, inputs }, fed, fetches, options, { ...runOptions, unpack });
};
