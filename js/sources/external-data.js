/**
 * Reads external data in pieces, so that it is never in memory as a whole: the engine lists the bytes that it needs,
 * and gets one tensor after another. Weights of other files may take their place.
 */

import { checkSignal, sentenceOf, TrainletError } from '../base/errors.js';
import { isKind } from '../base/kind.js';
import { isNode, locate, nodeModule } from '../base/platform.js';
import { readSource } from './source.js';

/** @import { Client } from '../engine/client.js' */
/** @import { EngineOptions, Source } from '../types.js' */
/** @import { NewArtifacts, Protocol } from '../engine/protocol.js' */
/**
 * @typedef {{ bytes: number, read: (from: number, bytes: number) => Promise<Uint8Array<ArrayBuffer>>,
 *   close?: () => Promise<void> }} Ranges
 */

/** Bytes that are asked for and handed over at once. */
const AT_ONCE = 2 ** 23;

/**
 * Hands a model over and all that it needs of `files`.
 * @param {Client} client
 * @param {NewArtifacts} asked
 * @param {Readonly<Record<string, Source>>} files
 * @param {boolean} withoutWeights what comes late is left out, and so are files of which nothing else is needed
 * @param {EngineOptions & { weights?: Source | readonly Source[] }} options `weights` replace the model's own
 * @returns {Promise<string[]>} warnings
 */
export async function hand(client, asked, files, withoutWeights, options) {
  /** @type {Map<string, Ranges>} */
  const open = new Map();
  const openFile = async (/** @type {string} */ location) => {
    const source = files[location];
    const ranges = await withSentence(location, source, options, () => rangesOf(location, source, options));
    open.set(plain(location), ranges);
  };
  try {
    if (!withoutWeights) for (const location of Object.keys(files)) await openFile(location);
    const notes = await notesIn(asked.model, withoutWeights, options);
    /** @type {[string, string][]} */
    const inPieces = [...open].map(([location, { bytes }]) => ['inPieces', `${bytes} ${location}`]);
    const buffers = [asked.model, ...asked.external.map(({ bytes }) => bytes)].map(({ buffer }) => buffer);
    const all = inOrder(await client.ask('pieces', { ...asked, settings: [...asked.settings, ...inPieces] }, buffers));
    const pieces = all.filter(({ late }) => !(late && withoutWeights));
    const totalBytes = pieces.reduce((sum, { bytes }) => sum + bytes, 0);
    let loadedBytes = 0;
    const handPiece = async (
      /** @type {typeof pieces[number]} */ { location, offset, bytes, index, late, name: of },
    ) => {
      const name = Object.keys(files).find((key) => plain(key) === plain(location)) ?? location;
      if (!open.has(plain(location)) && name in files) await openFile(name);
      const file = open.get(plain(location));
      if (!file) throw lacking(location, late ? of : '');
      for (let from = 0; from < bytes || from === 0; from += AT_ONCE) {
        const count = Math.min(AT_ONCE, bytes - from);
        const some = await withSentence(name, files[name], options, () => file.read(offset + from, count));
        await client.ask('piece', { index, from, bytes: some }, [some.buffer]);
        loadedBytes += count;
        options.onProgress?.({ source: name, loadedBytes, totalBytes });
      }
    };
    for (const piece of pieces) if (!piece.late) await handPiece(piece);
    const late = pieces.filter((piece) => piece.late);
    const { taken, warnings } = await handOthers(client, new Set(late.map(({ name }) => name)), notes, options);
    for (const piece of late) if (!taken.has(piece.name)) await handPiece(piece);
    return warnings;
  } finally {
    for (const { close } of open.values()) await close?.();
  }
}

/** Reads the notes of a model's file on its weights, before the file is transferred; undefined without other weights.
 * @param {Uint8Array} model @param {boolean} withoutWeights @param {Parameters<typeof hand>[4]} options
 */
async function notesIn(model, withoutWeights, { weights }) {
  if (withoutWeights || weights === undefined) return undefined;
  const { notesOf } = await import('./computed-weights.js');
  return notesOf(model);
}

/**
 * @param {Client} client @param {Set<string>} late @param {Awaited<ReturnType<typeof notesIn>>} notes
 * @param {Parameters<typeof hand>[4]} options
 */
async function handOthers(client, late, notes, options) {
  /** @type {Ranges[]} */
  const open = [];
  if (!notes || options.weights === undefined) return { taken: new Set(), warnings: [] };
  try {
    const { handWeights } = await import('./model-weights.js');
    return await handWeights(client, options.weights, { late, notes }, options, async (source) => {
      const ranges = await withSentence('weights', source, options, () => rangesOf('weights', source, options));
      open.push(ranges);
      return {
        ...ranges,
        read: (from, bytes) => withSentence('weights', source, options, () => ranges.read(from, bytes)),
      };
    });
  } finally {
    for (const { close } of open) await close?.();
  }
}

/** @param {string} location @param {string} parameter whose values lie there; '': other numbers do */
function lacking(location, parameter) {
  const message = parameter
    ? `weights have nothing for '${parameter}', whose own values are in '${location}': give that file in externalData`
    : `shapes follow from numbers in '${location}': give that file in externalData, only they are read`;
  return new TrainletError('invalid-model', message);
}

/** @param {string} location */
const plain = (location) => location.replace(/^\.\//, '');

/**
 * Sorts the pieces: first those that the model is read with, each kind in the file's order.
 * @param {Protocol['pieces']['out']} pieces
 */
function inOrder(pieces) {
  const numbered = pieces.map((piece, index) => ({ ...piece, index }));
  return numbered.sort((a, b) => Number(a.late) - Number(b.late) || a.offset - b.offset);
}

/**
 * @template T
 * @param {string} location @param {Source} source @param {EngineOptions} options
 * @param {() => Promise<T>} work
 */
async function withSentence(location, source, { signal }, work) {
  checkSignal(signal);
  try {
    return await work();
  } catch (error) {
    checkSignal(signal);
    if (error instanceof TrainletError) throw error;
    const from = typeof source === 'string' || isKind(source, 'URL') ? ` from ${source}` : '';
    const what = location === 'weights' ? location : `externalData['${location}']`;
    const message = `${what} could not be loaded${from}: ${sentenceOf(error)}`;
    throw new TrainletError('source-unreadable', message, { cause: error });
  }
}

/**
 * @param {string} location @param {Source} source @param {EngineOptions} options
 * @returns {Promise<Ranges>}
 */
async function rangesOf(location, source, options) {
  if (isKind(source, 'Blob')) return ofBlob(source);
  if (isKind(source, 'Uint8Array')) return ofBytes(source);
  if (isKind(source, 'ArrayBuffer')) return ofBytes(new Uint8Array(source));
  if (isKind(source, 'Response')) return ofBlob(await blobOf(source));
  const isPlace = typeof source === 'string' || isKind(source, 'URL');
  if (!isPlace || String(source).startsWith('indexeddb:'))
    return ofBlob(new Blob([await readSource(location, source, { ...options, integrity: {} })]));
  const url = await locate(source);
  if (isNode && url.protocol === 'file:') return await ofFile(url);
  return await ofServer(url, options);
}

/** @param {Uint8Array} all @returns {Ranges} */
const ofBytes = (all) => ({ bytes: all.length, read: async (from, bytes) => all.slice(from, from + bytes) });

/** Ranges of a Blob, which browsers keep out of the page's memory. @param {Blob} blob @returns {Ranges} */
const ofBlob = (blob) => ({
  bytes: blob.size,
  read: async (from, bytes) => new Uint8Array(await blob.slice(from, from + bytes).arrayBuffer()),
});

/** @param {Response} response */
async function blobOf(response) {
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return await response.blob();
}

/** @param {URL} url @returns {Promise<Ranges>} */
async function ofFile(url) {
  const { open } = await nodeModule('fs/promises');
  const file = await open(url);
  const { size } = await file.stat();
  return {
    bytes: size,
    close: () => file.close(),
    async read(from, bytes) {
      const some = new Uint8Array(bytes);
      for (let at = 0; at < bytes; ) {
        const { bytesRead } = await file.read(some, at, bytes - at, from + at);
        if (!bytesRead) throw new Error('it became shorter while it was read');
        at += bytesRead;
      }
      return some;
    },
  };
}

/**
 * A server that gives no ranges gives all of it.
 * @param {URL} url @param {EngineOptions} options @returns {Promise<Ranges>}
 */
async function ofServer(url, { signal }) {
  const ask = (/** @type {number} */ from, /** @type {number} */ to) =>
    fetch(url, { signal, headers: { range: `bytes=${from}-${to}` } });
  const first = await ask(0, 0);
  const [, total] = /\/(\d+)$/.exec(first.headers.get('content-range') ?? '') ?? [];
  if (first.status !== 206 || !total) return ofBlob(await blobOf(first));
  await first.arrayBuffer();
  return {
    bytes: Number(total),
    async read(from, bytes) {
      if (!bytes) return new Uint8Array();
      const response = await ask(from, from + bytes - 1);
      if (response.status !== 206) throw new Error(`HTTP ${response.status} to a range of bytes`);
      const some = new Uint8Array(await response.arrayBuffer());
      if (some.length !== bytes) throw new Error(`a range of ${bytes} bytes came with ${some.length}`);
      return some;
    },
  };
}
