/**
 * Runs a graph: feeds by name in, and the outputs wanted back, asked for in either form that ONNX Runtime has or in a
 * structure.
 */

import { checkKeys, checkSignal, invalid } from '../base/errors.js';
import { lazy } from '../base/lazy.js';
import { looksLikeTensor, mapNames } from '../base/nested.js';
import { bind } from '../base/feeds.js';
import { check, pack, Tensor } from '../base/tensor.js';

/** @import { Feeds, Fetches, FetchStructure, NumberType, OutputValue, RunOptions } from '../types.js' */
/** @import { PredictOptions, StepOptions, TensorLike } from '../types.js' */
/** @import { Ask, GraphInfo, GraphName, Outputs, PlainTensor } from '../engine/protocol.js' */

/** Options of a run; of ONNX Runtime's options only `terminate` has a meaning here. */
export const RUN_OPTIONS = /** @type {const} */ ([
  'signal',
  'terminate',
  'logSeverityLevel',
  'logVerbosityLevel',
  'tag',
  'extra',
]);
/** Options of a run that may go in batches. */
export const INFERENCE_OPTIONS = /** @type {const} */ ([...RUN_OPTIONS, 'batchSize', 'onProgress']);
/** Options of a run with a loss. */
export const STEP_OPTIONS = /** @type {const} */ ([...RUN_OPTIONS, 'inputGradients']);
export const PREDICT_OPTIONS = /** @type {const} */ ([
  ...INFERENCE_OPTIONS,
  'labels',
  'probabilities',
  'threshold',
  'adapter',
]);
const LOOK_MS = 50;

/**
 * @param {Ask} ask
 * @param {GraphName} graph
 * @param {GraphInfo} info
 * @param {Feeds} feeds
 * @param {Fetches | FetchStructure | StepOptions} [fetches] ONNX Runtime lets the options stand here too
 * @param {StepOptions & PredictOptions} [options]
 * @param {{ own?: string[], keys?: readonly string[], unpack?: typeof tensorsOf, halves?: boolean }} [how] the
 * outputs where none are asked for, undefined: the graph's; the options there are; what makes tensors of the answer;
 * true if examples that do not fit into memory run in batches
 * @returns {Promise<any>} tensors by output name, or in the structure of `fetches`
 */
export async function runGraph(
  ask,
  graph,
  info,
  feeds,
  fetches,
  options,
  { own, keys = RUN_OPTIONS, unpack = tensorsOf, halves = false } = {},
) {
  const alone = isRunOptions(fetches, keys);
  const given = alone ? fetches : options;
  const act = async (/** @type {AbortSignal | undefined} */ signal) => {
    const { names, arrange } = alone || fetches === undefined ? { ...ALL, names: own } : wantedOf(fetches);
    const gradients = gradientsOf(given);
    const all = gradients.length ? withGradients(names ?? info.outputs.map(({ name }) => name), gradients) : names;
    const run = async (/** @type {ReturnType<typeof bind>} */ bound) => {
      const packed = ask.take?.(graph, bound) ?? pack(bound);
      const args = { graph, feeds: packed, fetches: all, inputGradients: gradients };
      return await ask('run', args, [packed.buffer], signal);
    };
    return await arrange(unpack(await inBatches(run, bind(feeds, info.inputs), info, { ...given, signal }, halves)));
  };
  return await withSignal(given, act, keys);
}

/**
 * Runs all examples at once, or in batches where they are asked for or all do not fit.
 * @param {(bound: ReturnType<typeof bind>) => Promise<Outputs>} run @param {ReturnType<typeof bind>} bound
 * @param {GraphInfo} info @param {PredictOptions} options @param {boolean} halves
 */
async function inBatches(run, bound, info, options, halves) {
  const load = () => lazy(() => import('./batches.js'));
  if (options.batchSize !== undefined || options.onProgress)
    return (await load()).runInBatches(run, bound, info, options);
  return await run(bound).catch(async (error) => {
    if (!halves || error?.code !== 'out-of-memory') throw error;
    return (await load()).runInHalves(run, bound, info, options, error);
  });
}

/** @param {StepOptions} [options] */
function gradientsOf({ inputGradients = [] } = {}) {
  if (Array.isArray(inputGradients) && inputGradients.every((name) => typeof name === 'string' && name))
    return /** @type {string[]} */ ([...inputGradients]);
  throw invalid("inputGradients must be an array of names of inputs, as ['x']");
}

/** @param {readonly string[]} names @param {readonly string[]} inputs */
const withGradients = (names, inputs) => [...new Set([...names, ...inputs.map((name) => `${name}_grad`)])];

/**
 * Does what a run's options may stop. ONNX Runtime's `terminate` has no event: it is looked at now and then.
 * @template T
 * @param {RunOptions | undefined} options
 * @param {(signal?: AbortSignal) => Promise<T>} act
 * @param {readonly string[]} [keys] the options there are
 */
export async function withSignal(options = {}, act, keys = RUN_OPTIONS) {
  checkKeys('the options of a run', options, keys);
  checkSignal(options.signal);
  if (!('terminate' in options)) return await act(options.signal);
  const stop = new AbortController();
  const look = () => {
    if (options.terminate || options.signal?.aborted) stop.abort(options.signal?.reason);
  };
  look();
  const looking = setInterval(look, LOOK_MS);
  try {
    return await act(stop.signal);
  } finally {
    clearInterval(looking);
  }
}

/** True for an AbortSignal, false for an output of that name. @param {any} value */
const isSignal = (value) => value === undefined || typeof value?.aborted === 'boolean';

/** @param {unknown} value @param {readonly string[]} keys @returns {value is StepOptions} */
const isRunOptions = (value, keys) =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.entries(value).every(
    ([key, option]) =>
      keys.includes(key) &&
      (key === 'signal' ? isSignal(option) : (option !== null || key === 'adapter') && !looksLikeTensor(option)),
  );

/**
 * @typedef {Record<string, OutputValue>} Tensors
 * @typedef {{ names?: string[], arrange: (tensors: Tensors) => unknown }} Wanted the outputs to compute, and how they
 * are given back
 */
/** @type {Wanted} */
const ALL = { arrange: (tensors) => tensors };

/** @param {Fetches | FetchStructure} fetches @returns {Wanted} */
function wantedOf(fetches) {
  if (typeof fetches !== 'object' || fetches === null) throw invalid(FORMS);
  const values = Object.values(fetches);
  if (Array.isArray(fetches))
    return values.length && values.every((name) => typeof name === 'string')
      ? { ...ALL, names: values }
      : structured(fetches);
  const areOwn = values.every((value) => value === null || looksLikeTensor(value));
  return areOwn ? filled(/** @type {Record<string, TensorLike | null>} */ (fetches)) : structured(fetches);
}

const FORMS =
  'fetches must be an array of at least one output name, an object of tensors to be filled (or null), ' +
  'or a structure of output names';

/** @param {object} structure @returns {Wanted} */
function structured(structure) {
  /** @type {Set<string>} */
  const names = new Set();
  mapNames(structure, (name) => names.add(name));
  if (!names.size) throw invalid(FORMS);
  return { names: [...names], arrange: (tensors) => mapNames(structure, (name) => tensors[name]) };
}

/**
 * The user's own tensors, where they are given.
 * @param {Readonly<Record<string, TensorLike | null>>} own
 * @returns {Wanted}
 */
function filled(own) {
  const wanted = new Map(
    Object.entries(own).map(([name, given]) => [name, given && { given, room: check(`output '${name}'`, given) }]),
  );
  const arrange = async (/** @type {Tensors} */ tensors) =>
    (await lazy(() => import('./own-tensors.js'))).fillAll(tensors, wanted);
  return { names: [...wanted.keys()], arrange };
}

/** @param {PlainTensor} plain */
const tensorOf = ({ type, data, dims }) => new Tensor(/** @type {NumberType} or string */ (type), data, dims);

/** @param {Outputs} outputs @returns {Tensors} */
export const tensorsOf = (outputs) =>
  Object.fromEntries(
    Object.entries(outputs).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map(tensorOf) : value && tensorOf(value),
    ]),
  );
