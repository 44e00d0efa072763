/** The memory that training will take: an engine plans a step without ever loading the weights. */

import { checkObject, invalid } from '../base/errors.js';
import { lazy } from '../base/lazy.js';
import { ARRAYS, pack, sizeOf } from '../base/tensor.js';
import { checkEngineOptions, engineOf } from '../engine/options.js';
import { open, sourcesOf } from '../session/open.js';

/** @import { PlanMemoryOptions, TypedArray } from '../types.js' */
/** @import { GraphInfo } from '../engine/protocol.js' */
/** @import { Taken } from '../base/tensor.js' */

/** @type {typeof import('../types.js').planMemory} */
export async function planMemory(model, options) {
  const { ARTIFACT_KEYS, generateWithoutWeights } = await lazy(() => import('../session/model.js'));
  checkEngineOptions('planMemory', options, ['model'], [...ARTIFACT_KEYS, 'dims']);
  const { dims, ...others } = options;
  const parts = await generateWithoutWeights(model, others);
  const { maxMemoryBytes, signal } = others;
  const engine = { ...engineOf(others), maxMemoryBytes, signal };
  return await open(sourcesOf('planMemory', parts), engine, async (client, { info }) => {
    const feeds = feedsOf(/** @type {GraphInfo} */ (info.train), dims);
    await client.ask('run', { graph: 'train', feeds }, [feeds.buffer]);
    const plan = await client.ask('memoryPlan', undefined);
    await client.release();
    return plan;
  });
}

/**
 * Zeros of the shapes that a step is fed.
 * @param {GraphInfo} train @param {PlanMemoryOptions['dims']} dims
 */
function feedsOf({ inputs }, dims) {
  checkObject('planMemory: dims', dims);
  const names = inputs.map(({ name }) => name);
  const odd = Object.keys(dims ?? {}).find((name) => !names.includes(name));
  if (odd !== undefined) throw invalid(`planMemory: dims: there is no input '${odd}', there are ${names.join(', ')}`);
  const zeros = inputs.map(({ name, type }) => {
    const shape = dims?.[name];
    const are = Array.isArray(shape) && shape.every((d) => Number.isSafeInteger(d) && d >= 0);
    if (!are) throw invalid(`planMemory: dims['${name}'] must be an array of whole numbers, as [1, 128]`);
    const Zeros = /** @type {any} */ (ARRAYS[/** @type {keyof typeof ARRAYS} */ (type)]);
    if (!Zeros) throw invalid(`planMemory: input '${name}' is of type ${type}, of which nothing can be planned`);
    const taken = { type, data: /** @type {TypedArray} */ (new Zeros(sizeOf(shape))), dims: shape };
    return /** @type {[string, Taken<TypedArray>]} */ ([name, taken]);
  });
  return pack(zeros);
}
