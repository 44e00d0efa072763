/** Reads bytes from wherever a user has them: a URL, a path, memory, a blob, a response or the checkpoint store. */

import { checkSignal, nameOf, sentenceOf, TrainletError } from '../base/errors.js';
import { isKind } from '../base/kind.js';
import { lazy } from '../base/lazy.js';
import { isNode, locate } from '../base/platform.js';
import { checkLength } from './length.js';

/** @import { EngineOptions, Source } from '../types.js' */
/** @import { ExternalFile } from '../engine/protocol.js' */

/**
 * The bytes, in a buffer of their own that can be transferred.
 * @param {string} name the argument, for messages, progress and integrity
 * @param {Source} source
 * @param {EngineOptions} options
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function readSource(name, source, { signal, onProgress, integrity = {} }) {
  checkSignal(signal);
  /** @param {number} loadedBytes @param {number} [totalBytes] */
  const progress = (loadedBytes, totalBytes) => onProgress?.({ source: name, loadedBytes, totalBytes });
  try {
    const bytes = await read(source, progress, signal);
    if (!bytes) throw new Error(`expected a URL, a path, bytes, a Blob or a Response, not ${nameOf(source)}`);
    const hash = integrity[name];
    if (hash !== undefined) await (await lazy(() => import('./integrity.js'))).checkIntegrity(name, bytes, hash);
    return bytes;
  } catch (error) {
    checkSignal(signal);
    if (error instanceof TrainletError) throw error;
    throw await lazy(() => import('./unreadable.js')).then(
      ({ unreadable }) => unreadable(name, source, error),
      () =>
        new TrainletError('source-unreadable', `${name} could not be loaded: ${sentenceOf(error)}`, { cause: error }),
    );
  }
}

/**
 * Sources of external data: the files that Node found beside the models (file.js), and those of the caller.
 * @param {EngineOptions} options
 * @param {{ bytes: object }[]} models
 * @returns {NonNullable<EngineOptions['externalData']>}
 */
export const externalOf = ({ externalData }, models) =>
  Object.assign({}, ...models.map(({ bytes }) => /** @type {any} */ (bytes).beside), externalData);

/**
 * The files of external data in buffers that can be transferred: the one copy that is made of them on this side.
 * @param {EngineOptions} options
 * @param {{ bytes: object }[]} [models]
 * @returns {Promise<ExternalFile[]>}
 */
export async function readExternal(options, models = []) {
  return await Promise.all(
    Object.entries(externalOf(options, models)).map(async ([location, source]) => ({
      location,
      bytes: await readSource(`externalData['${location}']`, source, { ...options, integrity: {} }),
    })),
  );
}

/**
 * @param {Source} source
 * @param {(loaded: number, total?: number) => void} progress
 * @param {AbortSignal | undefined} signal
 */
async function read(source, progress, signal) {
  if (isKind(source, 'Uint8Array'))
    return Object.assign(new Uint8Array(source), 'beside' in source && { beside: source.beside });
  if (isKind(source, 'ArrayBuffer')) return new Uint8Array(source.slice(0));
  if (isKind(source, 'Blob')) return new Uint8Array(await source.arrayBuffer());
  if (isKind(source, 'Response')) return await readResponse(source, progress);
  if (typeof source === 'string' && source.startsWith('indexeddb:'))
    return await (await lazy(() => import('../storage/stored-source.js'))).readStored(source);
  if (typeof source !== 'string' && !isKind(source, 'URL')) return undefined;
  const url = await locate(source);
  if (isNode && url.protocol === 'file:') return await (await lazy(() => import('./file.js'))).fileOf(url, signal);
  return await readResponse(await fetch(url, { signal }), progress);
}

/**
 * @param {Response} response
 * @param {(loaded: number, total?: number) => void} progress
 */
async function readResponse(response, progress) {
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  const length = response.headers.has('content-encoding') ? null : response.headers.get('content-length');
  const reader = response.body?.getReader();
  /** @type {Uint8Array[]} */
  const chunks = [];
  let loaded = 0;
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
    chunks.push(next.value);
    loaded += next.value.length;
    checkLength(loaded, reader);
    progress(loaded, length ? Number(length) : undefined);
  }
  const bytes = new Uint8Array(loaded);
  for (const chunk of chunks.reverse()) {
    loaded -= chunk.length;
    bytes.set(chunk, loaded);
  }
  return bytes;
}
