/** Runs a graph: feeds by name in, and the outputs wanted back, asked for in either form that ONNX Runtime has. */

import { checkKeys, TrainletError } from './errors.js';
import { bind, check, bytesOf, pack, Tensor } from './tensor.js';

/** @import { Feeds, Fetches, RunOptions, TensorLike } from './types.js' */
/** @import { Ask, GraphInfo, GraphName, Outputs } from './protocol.js' */

/** What ONNX Runtime's runs may be told; nothing of it has a meaning here. */
const RUN_OPTIONS = ['logSeverityLevel', 'logVerbosityLevel', 'terminate', 'tag', 'extra'];

/** @param {string} message */
const invalid = (message) => new TrainletError('invalid-argument', message);

/**
 * @param {Ask} ask
 * @param {GraphName} graph
 * @param {GraphInfo} info
 * @param {Feeds} feeds
 * @param {Fetches | RunOptions} [fetches] ONNX Runtime lets the options stand here too
 * @param {RunOptions} [options]
 */
export async function runGraph(ask, graph, info, feeds, fetches, options) {
  const alone = isRunOptions(fetches);
  checkKeys('the options of a run', alone ? fetches : options, RUN_OPTIONS);
  const wanted = alone ? undefined : wantedOf(fetches);
  const packed = pack(bind(feeds, info.inputs));
  const outputs = await ask('run', { graph, feeds: packed, fetches: wanted && [...wanted.keys()] }, [packed.buffer]);
  return deliver(outputs, wanted);
}

/** @param {unknown} value @returns {value is RunOptions} */
const isRunOptions = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
  && Object.keys(value).every((key) => RUN_OPTIONS.includes(key));

/**
 * The names of the outputs, each with the user's own tensor to be filled, if one was given.
 * @param {Fetches | undefined} fetches
 * @returns {Map<string, TensorLike | null> | undefined} all outputs
 */
function wantedOf(fetches) {
  if (fetches === undefined) return undefined;
  if (Array.isArray(fetches) && fetches.length && fetches.every((name) => typeof name === 'string')) {
    return new Map(fetches.map((name) => [name, null]));
  }
  if (typeof fetches !== 'object' || fetches === null || Array.isArray(fetches)) {
    throw invalid('fetches must be an array of at least one output name, or an object of tensors to be filled (or null) by output name');
  }
  return new Map(Object.entries(fetches).map(([name, given]) => [name, given && check(`output '${name}'`, given)]));
}

/** @param {Outputs} outputs @param {Map<string, TensorLike | null>} [wanted] @returns {Record<string, Tensor>} */
function deliver(outputs, wanted) {
  return Object.fromEntries(Object.entries(outputs).map(([name, { type, data, dims }]) => {
    const tensor = new Tensor(type, data, dims);
    return [name, fill(name, wanted?.get(name), tensor)];
  }));
}

/** @param {string} name @param {TensorLike | null | undefined} given @param {Tensor} tensor */
function fill(name, given, tensor) {
  if (!given) return tensor;
  const own = /** @type {Tensor} */ (given);
  if (own.type !== tensor.type || String(own.dims) !== String(tensor.dims)) {
    throw invalid(`output '${name}' is ${tensor.type} [${tensor.dims}]; the tensor given for it is ${own.type} [${own.dims}]`);
  }
  bytesOf(own.data).set(bytesOf(tensor.data));
  return own;
}
