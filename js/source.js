/** Reads bytes from wherever a user has them: a URL, a path, memory, a blob, a response or the checkpoint store. */

import { checkSignal, nameOf, sentenceOf, TrainletError } from './errors.js';
import { isNode, locate, nodeModule } from './platform.js';
import { CheckpointStore } from './store.js';

/** @import { EngineOptions, Source } from './types.js' */
/** @import { ExternalFile } from './protocol.js' */

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
    await checkIntegrity(name, bytes, integrity[name]);
    return bytes;
  } catch (error) {
    checkSignal(signal);
    if (error instanceof TrainletError) throw error;
    const from = typeof source === 'string' || source instanceof URL ? ` from ${source}` : '';
    throw new TrainletError('source-unreadable', `${name} could not be loaded${from}: ${sentenceOf(error)}`, {
      cause: error,
    });
  }
}

/**
 * The files of external data in buffers that can be transferred: the one copy that is made of them on this side.
 * @param {EngineOptions} options
 * @returns {ExternalFile[]}
 */
export function copyExternal({ externalData = {} }) {
  return Object.entries(externalData).map(([location, bytes]) => {
    if (bytes instanceof Uint8Array) return { location, bytes: new Uint8Array(bytes) };
    throw new TrainletError('invalid-argument', `externalData['${location}'] is no Uint8Array any more`);
  });
}

/**
 * @param {Source} source
 * @param {(loaded: number, total?: number) => void} progress
 * @param {AbortSignal | undefined} signal
 */
async function read(source, progress, signal) {
  if (source instanceof Uint8Array) return new Uint8Array(source);
  if (source instanceof ArrayBuffer) return new Uint8Array(source.slice(0));
  if (source instanceof Blob) return new Uint8Array(await source.arrayBuffer());
  if (source instanceof Response) return await readResponse(source, progress);
  if (typeof source === 'string' && source.startsWith('indexeddb:'))
    return await readStore(source.slice('indexeddb:'.length));
  if (typeof source !== 'string' && !(source instanceof URL)) return undefined;
  const url = await locate(source);
  if (isNode && url.protocol === 'file:')
    return await (await import('./folder.js')).contentOf(await readFile(url, signal));
  return await readResponse(await fetch(url, { signal }), progress);
}

/** Larger than an engine's memory: nothing of that size is read. */
const MOST_BYTES = 2 ** 32 - 1;
const READ_AT_ONCE = 1 << 24;

/** @param {number} bytes */
function checkLength(bytes) {
  if (bytes > MOST_BYTES)
    throw new Error(`it has ${bytes} bytes, more than the ${MOST_BYTES} that the engine can hold`);
}

/** @type {Record<string, string>} */
const REASONS = {
  ENOENT: 'there is no such file',
  EACCES: 'it may not be read',
  ENOTDIR: 'there is no such directory',
};

/** Why the system does not open a file. @param {NodeJS.ErrnoException} error */
export const reasonOf = ({ code = '', message, path }) => (REASONS[code] ? `${REASONS[code]}, ${path}` : message);

/**
 * A file of Node, if it is one that ends: as many bytes as it has when it is opened, which does not wait for a pipe's
 * other end.
 * @param {URL} url
 * @param {AbortSignal} [signal]
 */
export async function readFile(url, signal) {
  const { constants, open } = await nodeModule('fs/promises');
  const file = await open(url, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error) => {
    throw new Error(reasonOf(error), { cause: error });
  });
  try {
    const found = await file.stat();
    if (!found.isFile())
      throw new Error(`it is ${found.isDirectory() ? 'a directory' : 'a device or a pipe'}, not a file`);
    checkLength(found.size);
    const bytes = new Uint8Array(found.size);
    for (let at = 0; at < bytes.length; ) {
      checkSignal(signal);
      const { bytesRead } = await file.read(bytes, at, Math.min(READ_AT_ONCE, bytes.length - at));
      if (!bytesRead) throw new Error('it became shorter while it was read');
      at += bytesRead;
    }
    return bytes;
  } finally {
    await file.close();
  }
}

/** @param {string} name */
async function readStore(name) {
  const store = await CheckpointStore.open();
  const found = await store.load(name);
  if (!found) throw new Error(`the store has no checkpoint '${name}'`);
  return new Uint8Array(found.bytes);
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
    if (loaded > MOST_BYTES) reader?.cancel().catch(() => {});
    checkLength(loaded);
    progress(loaded, length ? Number(length) : undefined);
  }
  const bytes = new Uint8Array(loaded);
  chunks.reduce((at, chunk) => {
    bytes.set(chunk, at);
    return at + chunk.length;
  }, 0);
  return bytes;
}

/**
 * @param {string} name
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {string | undefined} wanted
 */
async function checkIntegrity(name, bytes, wanted) {
  if (wanted === undefined) return;
  const [, size, digest] = /^sha(256|384|512)-(.+)$/.exec(wanted) ?? [];
  if (!size) throw new TrainletError('invalid-argument', `integrity of ${name} must be like sha256-…, not '${wanted}'`);
  if (!globalThis.crypto?.subtle) {
    throw new TrainletError(
      'unsupported-browser',
      'integrity can be checked in a secure context only (https or localhost)',
    );
  }
  const hash = new Uint8Array(await crypto.subtle.digest(`SHA-${size}`, bytes));
  const found = btoa(String.fromCharCode(...hash));
  if (found !== digest) {
    throw new TrainletError(
      'integrity-mismatch',
      `${name} is not what was expected: wanted ${wanted}, got sha${size}-${found}`,
    );
  }
}
