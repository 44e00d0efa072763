/**
 * Shared by the sessions: their files, creating one on an engine that has these, and timing its nodes.
 */

import { checkKeys, invalid, needObject } from '../base/errors.js';
import { withClient } from '../engine/client.js';
import { constantsOf } from '../engine/options.js';
import { readExternal, readSource } from '../sources/source.js';

/** @import { EngineOptions, Source, TrainingSessionOptions } from '../types.js' */
/** @import { Ask, GraphName, PartName, Protocol } from '../engine/protocol.js' */
/** @typedef {[name: string, which: PartName, source: Source]} PartSource */
/** @import { Client } from '../engine/client.js' */

/** Internals for other parts of the package: access to the engine, and its answers. */
export const INTERNALS = Symbol();
/** The files that a training session was made of, without checkpoints, for its `save`. */
export const MADE = Symbol();

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

/** The files of a training session as arguments. A compact one goes first: others take the place of its own. */
export const PART_NAMES = /** @type {const} */ ([
  'compact',
  'trainModel',
  'evalModel',
  'optimizerModel',
  'checkpointState',
  'adapterState',
]);

/**
 * @param {string} where
 * @param {Partial<Record<typeof PART_NAMES[number], Source>>} artifacts
 * @returns {PartSource[]} the engine's names of parts are the arguments' without their endings, but for adapters
 */
export function sourcesOf(where, artifacts) {
  needObject(`${where}: artifacts, as generateArtifacts makes them`, artifacts);
  checkKeys(where, artifacts, [...PART_NAMES, 'warnings']);
  for (const name of /** @type {const} */ (['trainModel', 'checkpointState']))
    if (!artifacts[name] && !artifacts.compact) throw invalid(`${where}: ${name} is needed`);
  return PART_NAMES.filter((name) => artifacts[name]).map((name) => [
    name,
    /** @type {PartName} */ (name.replace(/Model|State/, '')),
    /** @type {Source} */ (artifacts[name]),
  ]);
}

/** @param {PartSource[]} sources @param {EngineOptions} options */
export async function readParts(sources, options) {
  const parts = await Promise.all(
    sources.map(async ([name, which, source]) => ({ which, bytes: await readSource(name, source, options) })),
  );
  return { parts, external: await readExternal(options, parts) };
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
 * @param {PartSource[]} sources
 * @param {TrainingSessionOptions} options
 * @param {(client: Client, loaded: Protocol['load']['out']) => T | Promise<T>} make
 * @param {(files: Awaited<ReturnType<typeof readParts>>) => void} [look] before the engine has them
 */
export async function open(sources, options, make, look) {
  const { maxMemoryBytes = 0, maxWork, passes, bounds } = options;
  const constants = await constantsOf(options);
  const settings = { maxMemoryBytes, maxWork, passes: passes === 'none' ? [] : passes, bounds, constants };
  // while the worker starts, which is under way by then
  const reading = Promise.resolve().then(() => readParts(sources, options));
  reading.catch(() => {}); // told below, unless the engine's own trouble comes first
  return await withClient(options, async (client) => {
    const { parts, external } = await reading;
    look?.({ parts, external });
    const loaded = await client.ask(
      'load',
      { parts, external, ...settings },
      [...parts, ...external].map(({ bytes }) => bytes.buffer),
    );
    client.startHelpers();
    return await make(client, loaded);
  });
}

/**
 * A list of names that a file holds as JSON; null where it holds none.
 * @param {string} [json]
 * @returns {readonly string[] | null}
 */
export function namesIn(json = 'null') {
  try {
    const names = JSON.parse(json);
    return Array.isArray(names) && names.every((name) => typeof name === 'string') ? Object.freeze(names) : null;
  } catch {
    return null;
  }
}
