/** What the sessions share: how one is made, of an engine that was given its files, and how its nodes are timed. */

import { withClient } from './client.js';
import { packConstants } from './engine-options.js';
import { invalid } from './errors.js';
import { copyExternal, readSource } from './source.js';

/** @import { SessionOptions, Source, TrainingSessionOptions } from './types.js' */
/** @import { Ask, GraphName, PartName, Protocol } from './protocol.js' */
/** @import { Client } from './client.js' */

/** Options of ONNX Runtime's sessions that say how it is to compute; nothing of it has a meaning here. */
export const ORT_OPTIONS = /** @type {const} */ ([
  'executionProviders',
  'intraOpNumThreads',
  'interOpNumThreads',
  'executionMode',
  'graphOptimizationLevel',
  'freeDimensionOverrides',
  'enableCpuMemArena',
  'enableMemPattern',
  'enableProfiling',
  'profileFilePrefix',
  'logId',
  'logSeverityLevel',
  'logVerbosityLevel',
  'extra',
]);

/** @param {Client | undefined} client @param {string} maker */
export function needClient(client, maker) {
  if (!client) throw invalid(`a session is made by await ${maker}, not by new`);
}

/** @param {Ask} ask @param {GraphName} graph */
export async function endProfiling(ask, graph) {
  try {
    return await ask('nodeTimes', graph);
  } finally {
    await ask('timeNodes', false);
  }
}

/** @param {readonly { name: string }[]} [values] */
export const names = (values = []) => Object.freeze(values.map(({ name }) => name));

/**
 * Makes a session of a client whose engine was given the parts.
 * @template T
 * @param {[string, PartName, Source][]} sources
 * @param {TrainingSessionOptions} options
 * @param {(client: Client, loaded: Protocol['load']['out']) => T | Promise<T>} make
 */
export async function open(sources, options, make) {
  const { maxMemoryBytes = 0, maxWork, passes, bounds } = options;
  const constants = packConstants(options);
  const settings = { maxMemoryBytes, maxWork, passes: passes === 'none' ? [] : passes, bounds, constants };
  // while the worker starts, which is under way by then
  const reading = Promise.resolve().then(() => readParts(sources, options));
  reading.catch(() => {}); // told below, unless the engine's own trouble comes first
  return await withClient(options, async (client) => {
    const parts = await reading;
    const external = copyExternal(options);
    const loaded = await client.ask(
      'load',
      { parts, external, ...settings },
      [...parts, ...external].map(({ bytes }) => bytes.buffer),
    );
    client.startHelpers();
    return await make(client, loaded);
  });
}

/** @param {[string, PartName, Source][]} sources @param {SessionOptions} options */
async function readParts(sources, options) {
  return await Promise.all(
    sources.map(async ([name, which, source]) => ({ which, bytes: await readSource(name, source, options) })),
  );
}
