/** Features as they are stored: packs of rows, each row what one network gives of one example. */

import { concatBytes, rowOf } from '../base/rows.js';
import { arrayOf, sizeOf } from '../base/tensor.js';
import { CONTENT } from '../storage/content-hash.js';

/** @import { NumberType } from '../types.js' */
/** @import { TrainletError } from '../base/errors.js' */
/** @import { FeatureCache } from './cache.js' */

/*
 * A pack is BASE-RANDOM, where BASE is a hash of the network below the features:
 *   meta:  { rows: [hash of an example, …], outputs: [{ name, type, dims }, …] }
 *   bytes: a row for each example, one after the other: all outputs, one after the other
 * A pack is never changed: others may read it. One with more or fewer rows takes its place.
 */

/**
 * @typedef {{ name: string, type: NumberType, dims: readonly number[] }} Output of one example, without the first dim
 * @typedef {{ rows: readonly string[], outputs: readonly Output[], bytes: Uint8Array<ArrayBuffer> }} Pack
 * @typedef {{ name: string, version?: number, size: number, used: number, rows: readonly string[],
 * outputs: readonly Output[], bytes: { length: number }, pending?: boolean }} Listed `size` in the storage, `used` last
 * at that time; `pending`: it does not count yet
 */

export const NAME = /^[0-9a-f]{32}-[0-9a-f]{16}$/;
/** Bytes of a pack, or one row that is larger; of a small store, a share of what it may hold. */
const [LARGEST, SHARE] = [2 ** 20, 1 / 8];
/** Packs that were gone before they were read are listed again so many times. */
const ROUNDS = 10;

/** @param {string} base */
export function newName(base) {
  const random = crypto.getRandomValues(new Uint8Array(8));
  return `${base}-${Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** @param {readonly Output[]} outputs */
export const bytesOfRow = (outputs) =>
  outputs.reduce((sum, { type, dims }) => sum + sizeOf(dims) * arrayOf(type).BYTES_PER_ELEMENT, 0);

/** @param {readonly Output[]} a @param {readonly Output[]} b */
export const sameOutputs = (a, b) =>
  JSON.stringify(a.map(({ name, type, dims }) => [name, type, dims])) ===
  JSON.stringify(b.map(({ name, type, dims }) => [name, type, dims]));

/**
 * True if an untrusted value is a pack.
 * @param {any} pack
 * @returns {pack is Pack}
 */
export function isPack(pack) {
  try {
    const { rows, outputs, bytes } = pack;
    const areOutputs = outputs.every(
      (/** @type {any} */ { name, type, dims }) =>
        typeof name === 'string' &&
        arrayOf(type) &&
        dims.every((/** @type {any} */ d) => Number.isSafeInteger(d) && d >= 0),
    );
    if (!areOutputs || !rows.every((/** @type {any} */ row) => CONTENT.test(row))) return false;
    return rows.length > 0 && bytes.length === rows.length * bytesOfRow(outputs);
  } catch {
    return false;
  }
}

/** The rows of a pack by content. @param {Pack} pack @returns {Map<string, Uint8Array>} */
export function rowsIn({ rows, bytes }) {
  return new Map(rows.map((content, i) => [content, rowOf(bytes, rows.length, i)]));
}

/**
 * Gives the packs new names.
 * @param {string} base @param {readonly Output[]} outputs @param {ReadonlyMap<string, Uint8Array>} rows
 * @param {number} most bytes of the store
 * @returns {{ name: string, pack: Pack }[]}
 */
export function packsFor(base, outputs, rows, most) {
  const each = bytesOfRow(outputs);
  const count = Math.max(1, Math.floor(largest(most) / each));
  const all = [...rows];
  const packs = [];
  for (let from = 0; from < all.length; from += count) {
    const part = all.slice(from, from + count);
    const bytes = concatBytes(part.map(([, row]) => row));
    packs.push({ name: newName(base), pack: { rows: part.map(([content]) => content), outputs, bytes } });
  }
  return packs;
}

/** @param {number} most */
const largest = (most) => Math.min(LARGEST, most * SHARE);

/** The features of one network. */
export class Shelf {
  #cache;
  #base;
  packs;
  error;
  /** @type {Map<string, Listed>} */
  #places = new Map();

  /** @param {FeatureCache} cache @param {string} base @param {Listed[]} all @param {TrainletError} [error] */
  constructor(cache, base, all, error) {
    this.#cache = cache;
    this.#base = base;
    this.error = error;
    const known = all.filter(({ name, rows }) => name.startsWith(base) && rows.length);
    this.packs = known.filter(({ outputs }) => sameOutputs(outputs, known[0].outputs));
    this.#place();
  }

  #place() {
    this.#places.clear();
    for (const pack of this.packs) for (const content of pack.rows) this.#places.set(content, pack);
  }

  /** Another writer may have joined to others what was listed. */
  async #listAgain() {
    const { outputs } = this;
    const { packs, error } = await this.#cache.shelf(this.#base);
    this.packs = packs.filter((pack) => outputs && sameOutputs(pack.outputs, outputs));
    this.error = error;
    this.#place();
  }

  get outputs() {
    return this.packs[0]?.outputs;
  }

  /** @param {string} content */
  has(content) {
    return this.#places.has(content);
  }

  /** One that others are to be added to, rather than that there be many. @param {Listed} pack */
  isSmall({ bytes }) {
    return bytes.length < largest(this.#cache.maxBytes) / 2;
  }

  /**
   * The stored rows of these contents. Damaged rows count as missing from then on; a failed storage is not asked again.
   * @param {Iterable<string>} contents
   * @returns {Promise<Map<string, { bytes: Uint8Array, fromMemory: boolean }>>}
   */
  async rows(contents) {
    const all = [...contents];
    const found = new Map();
    for (let round = 0; round < ROUNDS; round++) {
      const wanted = new Set(all.filter((content) => this.has(content) && !found.has(content)));
      if (!(await this.#take(wanted, found)) || this.error) break;
      await this.#listAgain();
    }
    return found;
  }

  /**
   * @param {Set<string>} wanted
   * @param {Map<string, { bytes: Uint8Array, fromMemory: boolean }>} found gets them
   * @returns {Promise<boolean>} whether a pack was gone
   */
  async #take(wanted, found) {
    let isGone = false;
    for (const listed of new Set([...wanted].map((content) => /** @type {Listed} */ (this.#places.get(content))))) {
      const loaded = await this.#load(listed);
      isGone ||= !loaded;
      if (!loaded) for (const content of listed.rows) this.#places.delete(content);
      for (const [content, bytes] of loaded ? rowsIn(loaded.pack) : [])
        if (wanted.has(content)) found.set(content, { bytes, fromMemory: Boolean(loaded?.fromMemory) });
    }
    return isGone;
  }

  /** @param {Listed} listed */
  async #load(listed) {
    try {
      return await this.#cache.load(listed, Boolean(this.error));
    } catch (error) {
      this.error = /** @type {TrainletError} */ (error);
      return undefined;
    }
  }

  /** The names of the packs that have them. @param {Iterable<string>} contents */
  namesOf(contents) {
    return [...new Set([...contents].flatMap((content) => this.#places.get(content)?.name ?? []))];
  }

  /** They are not what the network gives. */
  drop() {
    return this.#cache.drop(this.packs.map(({ name }) => name)).catch(() => {});
  }
}
