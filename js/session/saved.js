/** A session in a store: its models, checkpoint and preprocessing as one version, and a session of them again. */

import { checkKeys, checkObject, invalid, nameOf, needObject, sentenceOf, TrainletError } from '../base/errors.js';
import { isKind } from '../base/kind.js';
import { concatBytes } from '../base/rows.js';
import { openBackend, Versions } from '../storage/versions.js';
import { sumsOf } from './made.js';
import { MADE, readParts, sourcesOf } from './open.js';

/** @import { ArtifactSources, CheckpointStore, LoadSessionOptions } from '../types.js' */
/** @import { SaveSessionOptions, TrainingSessionOptions } from '../types.js' */
/** @import { PartSource } from './open.js' */
/** @import { TrainingSession } from './training.js' */
/**
 * @typedef {{ format: number, parts: [name: string, bytes: number][], external: [location: string, bytes: number][],
 * preprocessing: string }} Meta the lengths of the files in their order, and JSON
 */

const FORMAT = 1;
const KEPT = 2;
/** The store that is opened where none is given. */
const USUAL = { database: 'trainlet-sessions', directory: 'sessions' };

/** @param {CheckpointStore} [store] @returns {Promise<Pick<CheckpointStore, 'save' | 'load' | 'list'>>} */
async function storeFor(store) {
  if (store === undefined) return new Versions(await openBackend({}, USUAL), KEPT);
  if (typeof store?.save === 'function' && typeof store.load === 'function') return store;
  throw invalid(`store is what CheckpointStore.open gives, not ${nameOf(store)}`);
}

/**
 * @param {TrainingSession} session @param {Promise<Uint8Array>} checkpoint of the call
 * @param {string} name @param {SaveSessionOptions} options
 * @returns {Promise<number>} the version
 */
export async function save(session, checkpoint, name, options) {
  checkKeys('save', options, ['store', 'preprocessing', 'signal']);
  const { store, preprocessing = session.preprocessing, signal } = options;
  const text = jsonOf(preprocessing);
  const { sources, externalData, sums } = session[MADE];
  if (!sources.length)
    throw invalid('save: compact was bytes, which a session does not keep: give create its URL or a Blob');
  sources.forEach(needReadable);
  const { parts, external } = await readParts(sources, { externalData, signal });
  const changed = changedOf({ parts, external }, sums);
  if (changed) throw isAnother(changed, sources);
  const bytes = [...parts.map((part) => part.bytes), ...external.map((file) => file.bytes), await checkpoint];
  /** @type {Meta} */
  const meta = {
    format: FORMAT,
    parts: sources.map(([which], i) => [which, parts[i].bytes.length]),
    external: external.map(({ location, bytes: { length } }) => [location, length]),
    preprocessing: text,
  };
  const version = await (await storeFor(store)).save(name, concatBytes(bytes), { session: meta });
  session.preprocessing = JSON.parse(text);
  return version;
}

/**
 * The first of the files, read anew, that is another than at `create`.
 * @param {import('./made.js').Files} files @param {import('./made.js').Sums} [sums] @returns {string | undefined}
 */
function changedOf(files, sums) {
  const known = new Map(sums);
  return sumsOf(files).find(([file, sum]) => sum !== (known.get(file) ?? sum))?.[0];
}

/** Refuses what can be read once only. @param {PartSource} part */
function needReadable([name, , source]) {
  if (isKind(source, 'Response'))
    throw invalid(`save: ${name} was a Response, which can be read once: give create its URL or a Blob`);
}

/** @param {string} file the engine's name of a part, or a location of external data @param {PartSource[]} sources */
function isAnother(file, sources) {
  const [name, , source] = sources.find(([, which]) => which === file) ?? [`externalData['${file}']`];
  const from = typeof source === 'string' || isKind(source, 'URL') ? ` at ${source}` : '';
  return new TrainletError(
    'integrity-mismatch',
    `save: ${name}${from} is another file than the one that the session was made of, so nothing is saved: ` +
      'its checkpoint does not belong to it',
  );
}

/** @param {object} preprocessing */
function jsonOf(preprocessing) {
  needObject('save: preprocessing', preprocessing);
  try {
    return JSON.stringify(preprocessing);
  } catch (error) {
    throw invalid(`save: preprocessing is what JSON can hold: ${sentenceOf(error)}`);
  }
}

/**
 * @param {string} name @param {LoadSessionOptions | undefined} options
 * @param {(artifacts: ArtifactSources, options: TrainingSessionOptions) => Promise<TrainingSession>} create
 * @returns {Promise<TrainingSession>}
 */
export async function load(name, options, create) {
  checkObject('TrainingSession.load', options);
  const { store, version, externalData: given, ...rest } = options ?? {};
  const { artifacts, external, preprocessing } = await find(name, store, version);
  const externalData = { ...external, ...given };
  const session = await create(artifacts, { ...rest, externalData });
  const sources = sourcesOf('TrainingSession.load', artifacts);
  session[MADE].sources = sources.filter(([part]) => !part.endsWith('State'));
  session[MADE].externalData = externalData;
  session.preprocessing = /** @type {any} */ (preprocessing);
  return session;
}

/**
 * @param {string} name @param {CheckpointStore} [given] @param {number} [version]
 * @returns {Promise<{ artifacts: any, external: Record<string, Uint8Array>, preprocessing: object }>}
 */
async function find(name, given, version) {
  const store = await storeFor(given);
  const found = await store.load(name, { version });
  if (!found) {
    const names = (await store.list()).map((one) => `'${one.name}'`).join(', ');
    const what = version === undefined ? `'${name}'` : `version ${version} of '${name}'`;
    throw new TrainletError('source-unreadable', `there is no session ${what}; saved are ${names || 'none'}`);
  }
  const meta = /** @type {Meta | undefined} */ (found.meta.session);
  if (typeof meta?.format !== 'number')
    throw invalid(`'${name}' is a checkpoint alone, not a session: TrainingSession.create takes it with its artifacts`);
  if (meta.format !== FORMAT)
    throw new TrainletError('unsupported-version', `session '${name}' is of version ${meta.format}, we read ${FORMAT}`);
  try {
    needFiles(found.bytes, meta);
    return { ...filesIn(found.bytes, meta), preprocessing: JSON.parse(meta.preprocessing) };
  } catch (error) {
    throw new TrainletError('checkpoint-corrupt', `session '${name}' is damaged: ${sentenceOf(error)}`);
  }
}

/** Refuses a list of files that `save` has not written for these bytes. @param {Uint8Array} bytes @param {Meta} meta */
function needFiles(bytes, { parts, external }) {
  if (!Array.isArray(parts) || !Array.isArray(external)) throw new Error('it has no lists of its files');
  let left = bytes.length;
  for (const file of [...parts, ...external]) {
    const [name, length = -1] = Array.isArray(file) ? file : [];
    if (typeof name !== 'string' || !(Number.isSafeInteger(length) && length >= 0 && length <= left))
      throw new Error('its files are not those of its bytes');
    left -= length;
  }
}

/** @param {Uint8Array} bytes @param {Meta} meta */
function filesIn(bytes, { parts, external }) {
  let at = 0;
  const next = (/** @type {[string, number]} */ [name, length]) => {
    at += length;
    return /** @type {const} */ ([name, bytes.slice(at - length, at)]);
  };
  const models = Object.fromEntries(parts.map(next));
  const beside = Object.fromEntries(external.map(next));
  return { artifacts: { ...models, checkpointState: bytes.slice(at) }, external: beside };
}
