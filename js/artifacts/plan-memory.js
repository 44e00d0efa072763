/** What a training will take in memory, told by an engine that plans a step and never has the weights. */

/** @import { Artifacts, EngineOptions, MemoryPlan, PlanMemoryOptions, TypedArray } from '../types.js' */
/** @import { GraphInfo } from '../engine/protocol.js' */
/** @import { Taken } from '../base/tensor.js' */
/**
 * @typedef {Pick<typeof import('../base/errors.js'), 'checkObject' | 'invalid'> &
 *   Pick<typeof import('../session/open.js'), 'open' | 'sourcesOf'> &
 *   Pick<typeof import('../base/tensor.js'), 'ARRAYS' | 'pack' | 'sizeOf'>} Tools handed over, so that bundlers leave these
 * files where they are
 */

/**
 * @param {Artifacts} parts without weights
 * @param {PlanMemoryOptions['dims']} dims
 * @param {EngineOptions} options
 * @param {Tools} tools
 * @returns {Promise<MemoryPlan>}
 */
export async function planMemory(parts, dims, options, tools) {
  const { maxMemoryBytes, threads, worker, workerUrl, wasmUrl, wasmBinary, reproducible, signal } = options;
  const engine = { maxMemoryBytes, threads, worker, workerUrl, wasmUrl, wasmBinary, reproducible, signal };
  return await tools.open(tools.sourcesOf('planMemory', parts), engine, async (client, { info }) => {
    const feeds = feedsOf(/** @type {GraphInfo} */ (info.train), dims, tools);
    await client.ask('run', { graph: 'train', feeds }, [feeds.buffer]);
    const plan = await client.ask('memoryPlan', undefined);
    await client.release();
    return plan;
  });
}

/**
 * Zeros of the shapes that a step is fed.
 * @param {GraphInfo} train @param {PlanMemoryOptions['dims']} dims @param {Tools} tools
 */
function feedsOf({ inputs }, dims, { ARRAYS, checkObject, invalid, pack, sizeOf }) {
  checkObject('planMemory: dims', dims);
  const names = inputs.map(({ name }) => name);
  const odd = Object.keys(dims ?? {}).find((name) => !names.includes(name));
  if (odd !== undefined) throw invalid(`planMemory: dims: there is no input '${odd}', there are ${names.join(', ')}`);
  const zeros = inputs.map(({ name, type }) => {
    const own = dims?.[name];
    const are = Array.isArray(own) && own.every((d) => Number.isSafeInteger(d) && d >= 0);
    if (!are) throw invalid(`planMemory: dims['${name}'] must be an array of whole numbers, as [1, 128]`);
    const Zeros = /** @type {any} */ (ARRAYS[/** @type {keyof typeof ARRAYS} */ (type)]);
    if (!Zeros) throw invalid(`planMemory: input '${name}' is of type ${type}, of which nothing can be planned`);
    const taken = { type, data: /** @type {TypedArray} */ (new Zeros(sizeOf(own))), dims: own };
    return /** @type {[string, Taken<TypedArray>]} */ ([name, taken]);
  });
  return pack(zeros);
}
