/**
 * Asks an engine about an inference model: for the artifacts that train it, for its parameters. Options become the
 * engine's settings; the next session may take over the worker.
 */

import { checkObject, invalid, nameOf } from '../base/errors.js';
import { isKind } from '../base/kind.js';
import { lazy } from '../base/lazy.js';
import { clients, withClient } from '../engine/client.js';
import { checkEngineOptions, constantsOf, engineOf } from '../engine/options.js';
import { externalOf, readExternal, readSource } from '../sources/source.js';

/** @import { ArtifactOptions, EngineDefaults, EngineOptions, Source } from '../types.js' */
/** @import { Client } from '../engine/client.js' */

const LISTS = /** @type {const} */ (['requiresGrad', 'frozen', 'lossInputs', 'additionalOutputs']);
/** A name each. */
const NAMES = /** @type {const} */ (['batch', 'batchNorm', 'quantizeFrozen']);
const FLAGS = /** @type {const} */ (['nominal', 'initialize', 'untie', 'ortFormat']);
export const ARTIFACT_KEYS = /** @type {const} */ ([
  'loss',
  'losses',
  'optimizer',
  'head',
  'lora',
  'weights',
  'freeDimensionOverrides',
  ...NAMES,
  ...FLAGS,
  ...LISTS,
]);

/**
 * @param {Source} model
 * @param {ArtifactOptions} [options]
 */
export async function generateArtifacts(model, options = {}) {
  checkEngineOptions('generateArtifacts', options, ['model'], ARTIFACT_KEYS);
  if (options.weights !== undefined && options.loss === undefined && !options.losses)
    throw invalid('generateArtifacts: weights go with a loss of its own: say which by loss');
  const { source, lora } = await withModules(model, options);
  const made = await askOnce('artifacts', source, options, settingsOf(options, lora)).catch(async (error) => {
    if (error?.code !== 'invalid-argument') throw error;
    const { explain } = await lazy(() => import('./artifact-errors.js'));
    throw await explain(error, source, options, () => askOnce('parametersOf', source, options, limitOf(options)));
  });
  return options.ortFormat ? (await lazy(() => import('../formats/ort-model.js'))).artifactsOf(made) : made;
}

/**
 * The artifacts without weights, which is all that planning needs.
 * @param {Source} model @param {ArtifactOptions} options
 */
export async function generateWithoutWeights(model, options) {
  const { source, lora } = await withModules(model, options);
  return await askOnce('artifacts', source, options, [WITHOUT_WEIGHTS, ...settingsOf(options, lora)], true);
}

/**
 * @param {Source} model
 * @param {EngineOptions & Pick<ArtifactOptions, 'freeDimensionOverrides'>} [options]
 */
export async function parametersOf(model, options = {}) {
  checkEngineOptions('parametersOf', options, ['model'], ['freeDimensionOverrides']);
  return await askOnce('parametersOf', model, options, limitOf(options));
}

/** An idle engine is kept for this time, if its model is not larger than the limit: its memory never shrinks. */
const IDLE_MS = 1000;
const IDLE_BYTES = 2 ** 23;
/** Idle clients, keyed by the kind of their engine. @type {Map<string, { client: Client }>} */
const idle = new Map();

/**
 * A question about a model, to a worker that is not kept for long.
 * @template {'artifacts' | 'parametersOf' | 'modulesOf'} M
 * @param {M} method
 * @param {Source} model
 * @param {EngineOptions & Pick<ArtifactOptions, 'weights' | 'freeDimensionOverrides'>} options
 * @param {[string, string][]} settings the engine's keys and values
 * @param {boolean} [withoutWeights]
 */
async function askOnce(method, model, options, settings, withoutWeights = false) {
  const constants = await constantsOf(options);
  const engine = engineOf(options);
  return await withClient(options, async (client) => {
    const bytes = await readModel(model, options);
    const quantized = method === 'artifacts' ? await quantizedWarning(bytes, options) : '';
    const { whole, inPieces } = inTwo(externalOf(options, [{ bytes }]));
    const external = await readExternal({ ...options, externalData: whole });
    const buffers = [bytes, ...external.map((file) => file.bytes)].map(({ buffer }) => buffer);
    const comes = inPieces || withoutWeights || options.weights !== undefined;
    const isSmall = !comes && buffers.reduce((sum, { byteLength }) => sum + byteLength, 0) <= IDLE_BYTES;
    const asked = { model: bytes, external, constants, settings };
    /** @type {string[]} */
    let warnings = [];
    if (comes) {
      const { hand } = await lazy(() => import('../sources/external-data.js'));
      warnings = await hand(client, asked, inPieces ?? {}, withoutWeights, options);
    }
    const answer = await (comes ? client.ask(method, null) : client.ask(method, asked, buffers));
    if ('warnings' in answer) answer.warnings.push(...warnings, ...(quantized ? [quantized] : []));
    if (isSmall && !engine.wasmBinary) leave(client, kindOf(engine));
    else await client.release();
    return answer;
  });
}

/**
 * Warns of layers that do not train because they are quantized, unless the caller has said what trains.
 * @param {Uint8Array} bytes @param {ArtifactOptions} options
 */
async function quantizedWarning(bytes, { head, lora, requiresGrad, frozen }) {
  if (head || lora || requiresGrad || frozen) return '';
  return (await lazy(() => import('./quantized-weights.js'))).warningOf(bytes);
}

/** @param {Source} model @param {Parameters<typeof parametersOf>[1] & {}} options */
async function readModel(model, options) {
  const { freeDimensionOverrides: numbers } = options;
  checkObject('freeDimensionOverrides', numbers);
  const bytes = await readSource('model', model, options);
  return numbers ? (await lazy(() => import('../formats/free-dimensions.js'))).withDimensions(bytes, numbers) : bytes;
}

/** Separates files that are in memory, which are passed whole, from those that the engine gets tensor by tensor. */
function inTwo(/** @type {Record<string, Source>} */ externalData) {
  const isWhole = (/** @type {Source} */ source) => isKind(source, 'Uint8Array') || isKind(source, 'ArrayBuffer');
  const all = Object.entries(externalData);
  const [whole, others] = [true, false].map((whole) => all.filter(([, source]) => isWhole(source) === whole));
  return { whole: Object.fromEntries(whole), inPieces: others.length ? Object.fromEntries(others) : undefined };
}

/** A value as the engine or a message has it. @param {unknown} value */
function textOf(value) {
  try {
    return String(value);
  } catch {
    return 'an object without a text';
  }
}

/** A key that interchangeable engines share. @param {EngineDefaults} engine */
const kindOf = ({ worker = true, workerUrl, wasmUrl, threads, reproducible }) =>
  [worker, workerUrl, wasmUrl, threads, reproducible].map(textOf).join('\n');

/**
 * The session is mostly made at once: it gets this worker, and memory that is there already.
 * @param {Client} client @param {string} kind
 */
function leave(client, kind) {
  const left = { client };
  idle.get(kind)?.client.release();
  idle.set(kind, left);
  clients.idle = takeIdle;
  const end = () => idle.get(kind) === left && idle.delete(kind) && client.release();
  const timer = setTimeout(end, IDLE_MS);
  /** @type {any} */ (timer).unref?.(); // must not keep Node running
}

/** @param {EngineDefaults} engine */
function takeIdle(engine) {
  const kind = kindOf(engine);
  const client = engine.wasmBinary ? undefined : idle.get(kind)?.client;
  if (client) idle.delete(kind);
  return client?.hasEnded ? undefined : client;
}

/** @param {EngineOptions} options @returns {[string, string][]} */
const limitOf = ({ maxMemoryBytes = 0 }) => [['maxMemoryBytes', String(maxMemoryBytes)]];

/** @type {[string, string]} */
const WITHOUT_WEIGHTS = ['withoutWeights', '1'];
/** @type {[string, string]} */
const OTHER_WEIGHTS = ['otherWeights', '1'];

/**
 * LoRA's settings, and the model, read already where a regular expression chooses among its modules.
 * @param {Source} model @param {ArtifactOptions} options
 */
async function withModules(model, options) {
  if (!options.lora) return { source: model, lora: [] };
  const { loraSettings } = await lazy(() => import('../adapters/options.js'));
  const { settings, choose } = loraSettings(options.lora);
  if (!choose) return { source: model, lora: settings };
  const source = await readSource('model', model, options);
  const asked = [...limitOf(options), ...settings, WITHOUT_WEIGHTS];
  return { source, lora: [...settings, ...choose(await askOnce('modulesOf', source, options, asked, true))] };
}

/**
 * The engine's keys and values.
 * @param {ArtifactOptions} options @param {[string, string][]} lora @returns {[string, string][]}
 */
function settingsOf(options, lora) {
  const { optimizer = {} } = options;
  /** @type {[string, string][]} */
  const lists = LISTS.flatMap((key) =>
    listOf(key, options[key]).map((entry) => /** @type {[string, string]} */ ([key, entry])),
  );
  const flags = FLAGS.flatMap((key) => flag(key, options[key]));
  const { passes } = options;
  /** @type {[string, string][]} */
  const chosen = passes === undefined ? [] : [['passes', passes === 'none' ? '' : passes.join(',')]];
  /** @type {[string, string][]} */
  const names = NAMES.flatMap((key) => (options[key] === undefined ? [] : [[key, textOf(options[key])]]));
  return [
    ...limitOf(options),
    ...lossSettings(options),
    ...typed('optimizer', optimizer),
    ...headSettings(options.head),
    ...lora,
    ...lists,
    ...flags,
    ...names,
    ...(options.weights === undefined ? [] : [OTHER_WEIGHTS]),
    ...chosen,
  ];
}

/** @param {ArtifactOptions['head']} head @returns {[string, string][]} */
function headSettings(head) {
  if (head === undefined) return [];
  checkObject('generateArtifacts: head', head);
  const { classes, ...rest } = head;
  const areNames = Array.isArray(classes) && classes.length && classes.every((name) => typeof name === 'string');
  if (!areNames) throw invalid('generateArtifacts: head.classes must be an array of names, one for each class');
  return [
    ...classes.map((name) => /** @type {[string, string]} */ (['head.classes', name])),
    ...Object.entries(rest)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => /** @type {[string, string]} */ ([`head.${key}`, textOf(value)])),
  ];
}

/** @param {ArtifactOptions} options @returns {[string, string][]} */
function lossSettings({ loss, losses }) {
  if (losses === undefined) return typed('loss', loss === undefined ? 'training-info' : loss);
  if (loss !== undefined) throw invalid('generateArtifacts: there can be one loss or several losses, not both');
  const areLosses = Array.isArray(losses) && losses.length && losses.every((part) => typeof part?.type === 'string');
  if (!areLosses) throw invalid('generateArtifacts: losses must be an array of objects, each with the type of a loss');
  return losses.flatMap((part, i) => typed(`losses.${i}`, part));
}

/** @param {string} key @param {readonly string[] | undefined} entries */
function listOf(key, entries = []) {
  if (Array.isArray(entries) && entries.every((entry) => typeof entry === 'string')) return entries;
  throw invalid(`generateArtifacts: ${key} must be an array of strings`);
}

/** @param {string} key @param {boolean} [value] @returns {[string, string][]} */
function flag(key, value) {
  if (value === undefined) return [];
  if ((typeof value === 'object' && value !== null) || typeof value === 'symbol')
    throw invalid(`generateArtifacts: ${key} must be true or false, not ${nameOf(value)}`);
  return [[key, String(Number(value))]];
}

/**
 * Settings of an option that may be just a type; the type goes first, because it sets the defaults of the others.
 * @param {string} prefix @param {string | { type?: string }} options @returns {[string, string][]}
 */
function typed(prefix, options) {
  if (typeof options !== 'string') checkObject(`generateArtifacts: ${prefix}, where it is no name`, options);
  const { type, ...rest } = typeof options === 'string' ? { type: options } : options;
  return Object.entries({ type, ...rest })
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [`${prefix}.${key}`, typeof value === 'boolean' ? String(Number(value)) : textOf(value)]);
}
