/** Features that a store keeps: those of examples that it has come from there, the others are computed and go there. */

import { checkSignal, TrainletError } from '../base/errors.js';
import { concatBytes, rowOf } from '../base/rows.js';
import { arrayOf, bytesOf, layout, Tensor } from '../base/tensor.js';
import { unlessAborted } from '../base/unless-aborted.js';
import { close } from '../data/dataset.js';
import { Message } from '../formats/protobuf.js';
import { contentIn, hashOf } from '../storage/content-hash.js';
import { AGAIN, batchOf } from './compute.js';
import { bytesOfRow, sameOutputs } from './pack.js';

/** @import { FeatureEvent, FeatureOrigins, NumberType, TypedArray } from '../types.js' */
/** @import { Ask, PackedFeeds } from '../engine/protocol.js' */
/** @import { Batches, Reader } from '../data/dataset.js' */
/** @import { FeatureCache } from './cache.js' */
/** @import { Output, Shelf } from './pack.js' */
/** @import { Wanted } from './compute.js' */

/**
 * @typedef {object} GatherOptions
 * @property {number} limit bytes of memory
 * @property {readonly string[]} [labels] names of feeds that say nothing of what an example is
 * @property {boolean} [streams] what is more may be read from the store
 * @property {AbortSignal} [signal]
 * @property {(event: FeatureEvent) => unknown} [onFeatures]
 * @property {() => Promise<boolean>} [rest] whether to give up
 * @property {() => boolean} [isAsFrozen] no weight that they depend on was set
 * @typedef {object} Found
 * @property {number} bytes
 * @property {FeatureOrigins} origins
 * @property {[string, Tensor][]} [tensors] where there is room for them
 * @property {(whole: Reader, bare: Reader) => Reader} [stream] where there is none: of the reader of the examples
 * themselves, and that of what else a step needs
 * @property {Promise<TrainletError | undefined>} saved why not all of it was
 */

/** Bytes that are computed until they are stored, where memory has no room for all. */
const AT_ONCE = 2 ** 20;

/**
 * @param {FeatureCache} cache @param {Ask} ask @param {Wanted} examples @param {readonly string[]} values names
 * @param {GatherOptions} how
 * @returns {Promise<Found | undefined>} undefined: they cannot be stored, or not be kept at all
 */
export async function gatherFeatures(cache, ask, examples, values, how) {
  const since = cache.deletions;
  const base = await baseOf(ask, values, batchOf(examples));
  if (!base) return undefined;
  /** @type {string[]} */
  const contents = [];
  for (let i = 0; i < examples.examples; i++) {
    checkSignal(how.signal);
    contents.push(await contentIn(examples.feedsOf(Uint32Array.of(i)), how.labels ?? []));
  }
  const gather = async (/** @type {Shelf} */ shelf) =>
    await new Gathering(cache, ask, examples, how, { base, contents, since }, shelf).run();
  const shelf = await cache.shelf(base);
  const made = await gather(shelf);
  if (made !== 'others') return made;
  await shelf.drop(); // another engine's, or damaged but whole by their checksum
  const anew = await gather(await cache.shelf(base));
  return anew === 'others' ? undefined : anew;
}

/**
 * A hash of the network below the features: of its graph and weights, as it would be exported, and of how it is run.
 * @param {Ask} ask @param {readonly string[]} values @param {number} batch
 */
async function baseOf(ask, values, batch) {
  try {
    const model = await ask('export', { outputs: [...values], trainingInfo: false, types: false });
    const graph = /** @type {Uint8Array} */ (new Message(model).bytes(7)); // names of classes stand beside it
    const names = new TextEncoder().encode(JSON.stringify([values, batch]));
    return await hashOf(concatBytes([names, graph]));
  } catch (error) {
    if (error instanceof TrainletError) return undefined; // a build that exports nothing, weights that are not finite
    throw error;
  }
}

/** One look for the features of examples. */
class Gathering {
  #cache;
  #ask;
  #examples;
  #how;
  #base;
  #contents;
  #since;
  #shelf;
  /** Examples at a time. */
  #size;
  /**
   * The first example and the number of examples of each content.
   * @type {Map<string, { at: number, times: number }>}
   */
  #places = new Map();
  /** Rows by content. @type {Map<string, Uint8Array>} */
  #rows = new Map();
  /** Rows that are not stored yet. @type {Map<string, Uint8Array>} */
  #fresh = new Map();
  /** @type {readonly Output[] | undefined} */
  #outputs;
  #origins = { computed: 0, fromMemory: 0, fromStorage: 0 };

  /**
   * @param {FeatureCache} cache @param {Ask} ask @param {Wanted} examples @param {GatherOptions} how
   * @param {{ base: string, contents: string[], since: number }} keys @param {Shelf} shelf
   */
  constructor(cache, ask, examples, how, { base, contents, since }, shelf) {
    this.#cache = cache;
    this.#ask = ask;
    this.#examples = examples;
    this.#how = how;
    this.#base = base;
    this.#contents = contents;
    this.#since = since;
    this.#shelf = shelf;
    this.#size = batchOf(examples);
    this.#outputs = shelf.outputs;
    contents.forEach((content, at) => {
      const known = this.#places.get(content);
      if (known) known.times++;
      else this.#places.set(content, { at, times: 1 });
    });
  }

  /** @returns {Promise<Found | 'others' | undefined>} 'others': what is stored is not what the engine gives */
  async run() {
    const isPacked = Boolean(this.#outputs); // packs say so; they may be gone or damaged once they are read
    const missing = this.#fits ? await this.#takeAll() : await this.#takeSome();
    await this.#tell();
    const known = [...this.#rows.keys()].slice(0, this.#size);
    const done = await this.#compute(missing, known);
    if (done !== 'same') return done === 'others' && isPacked ? 'others' : undefined;
    const used = this.#shelf.namesOf(this.#contents);
    const found = { bytes: this.#bytes, origins: this.#origins };
    if (this.#fits) return { ...found, tensors: this.#tensors(), saved: this.#save(used) };
    const error = await this.#save(used);
    if (error) return undefined;
    return { ...found, stream: await this.#stream(), saved: Promise.resolve(error) };
  }

  get #bytes() {
    return this.#outputs ? bytesOfRow(this.#outputs) * this.#contents.length : 0;
  }

  get #fits() {
    return this.#bytes <= this.#how.limit;
  }

  /** Takes all rows that the store has. @returns {Promise<string[]>} the missing contents */
  async #takeAll() {
    for (const [content, { bytes, fromMemory }] of await this.#shelf.rows(this.#contents)) {
      this.#rows.set(content, bytes);
      this.#origins[fromMemory ? 'fromMemory' : 'fromStorage'] += this.#timesOf(content);
    }
    return [...this.#places.keys()].filter((content) => !this.#rows.has(content));
  }

  /** Takes one batch of stored rows, for a comparison. @returns {Promise<string[]>} the missing contents */
  async #takeSome() {
    const find = () => [...this.#places.keys()].filter((content) => this.#shelf.has(content));
    for (let there = find(); there.length && !this.#rows.size; there = find())
      for (const [content, { bytes }] of await this.#shelf.rows(there.slice(0, this.#size)))
        this.#rows.set(content, bytes);
    const there = find();
    this.#origins.fromStorage = there.reduce((sum, content) => sum + this.#timesOf(content), 0);
    return [...this.#places.keys()].filter((content) => !this.#shelf.has(content));
  }

  /** @param {string} content */
  #timesOf(content) {
    return /** @type {{ times: number }} */ (this.#places.get(content)).times;
  }

  async #tell() {
    const { computed, fromMemory, fromStorage } = this.#origins;
    const [done, examples] = [computed + fromMemory + fromStorage, this.#contents.length];
    const { onFeatures, signal } = this.#how;
    const event = { done, examples, bytes: this.#bytes, store: { ...this.#origins } };
    if (done) await unlessAborted(onFeatures?.(event), signal);
  }

  /**
   * In batches of one size, the last filled with some that are known, which must come out the same: to the bit, beside
   * others.
   * @param {string[]} missing @param {string[]} known
   * @returns {Promise<'same' | 'others' | undefined>} undefined: they cannot be kept
   */
  async #compute(missing, known) {
    const again = known.length ? known : missing;
    const batches = known.length
      ? Math.ceil((missing.length + 1) / this.#size)
      : Math.ceil((missing.length + AGAIN) / this.#size);
    const count = this.#size * Math.max(batches, known.length ? 1 : 2);
    const fill = Array.from({ length: count - missing.length }, (_, i) => again[(i >> 1) % again.length]);
    const order = [...missing, ...fill];
    const stay = new Set(fill);
    for (let from = 0; from < count; from += this.#size) {
      const done = await this.#computeBatch(order.slice(from, from + this.#size));
      if (done !== 'same') return done;
      if (!this.#fits && !(await this.#makeRoom(stay, from + this.#size >= count))) return undefined;
      if (missing.length) await this.#tell();
    }
    return this.#isAsFrozen ? 'same' : undefined;
  }

  /** @param {string[]} batch contents */
  async #computeBatch(batch) {
    const { signal, rest } = this.#how;
    checkSignal(signal);
    if (await rest?.()) return undefined;
    const rows = Uint32Array.from(batch, (content) => Number(this.#places.get(content)?.at));
    const feeds = this.#examples.feedsOf(rows);
    const outputs = Object.entries(await this.#ask('runFeatures', feeds, [feeds.buffer], signal));
    if (outputs.some(([, { dims }]) => dims[0] !== this.#size)) return undefined;
    const described = outputs.map(([name, { type, dims }]) => ({ name, type, dims: dims.slice(1) }));
    this.#outputs ??= /** @type {Output[]} */ (described);
    if (!sameOutputs(this.#outputs, /** @type {Output[]} */ (described))) return 'others';
    const bytes = outputs.map(([, { data }]) => bytesOf(/** @type {TypedArray} */ (data)));
    const fed = batch.map((_, i) => concatBytes(bytes.map((all) => rowOf(all, this.#size, i))));
    return batch.every((content, i) => this.#isSame(content, fed[i])) ? 'same' : 'others';
  }

  /** True if a row equals the known one, if there was one. @param {string} content @param {Uint8Array} row */
  #isSame(content, row) {
    const known = this.#rows.get(content);
    if (known) return known.length === row.length && known.every((byte, i) => byte === row[i]);
    this.#rows.set(content, row);
    this.#fresh.set(content, row);
    this.#origins.computed += this.#timesOf(content);
    return true;
  }

  get #isAsFrozen() {
    return this.#how.isAsFrozen?.() ?? true;
  }

  /**
   * Frees memory: computed rows go to the store, except those that are computed again.
   * @param {Set<string>} stay @param {boolean} isLast
   * @returns {Promise<boolean>} whether that has room
   */
  async #makeRoom(stay, isLast) {
    const { streams } = this.#how;
    const each = bytesOfRow(/** @type {Output[]} */ (this.#outputs));
    if (!streams || each * this.#places.size > this.#cache.maxBytes || !this.#isAsFrozen) return false;
    if (isLast || each * this.#fresh.size < AT_ONCE) return true;
    const error = await this.#save([]);
    for (const content of this.#fresh.keys()) if (!stay.has(content)) this.#rows.delete(content);
    this.#fresh = new Map();
    return !error;
  }

  /** @param {string[]} used */
  async #save(used) {
    const outputs = /** @type {Output[]} */ (this.#outputs);
    const staying = this.#fits ? used : this.#shelf.packs.map(({ name }) => name);
    const how = { since: this.#since, staying, failed: this.#shelf.error };
    const failed = this.#fresh.size ? await this.#cache.save(this.#base, outputs, this.#fresh, how) : how.failed;
    if (!failed && used.length) await this.#cache.touch(used);
    return failed;
  }

  /** A row for each example. @returns {[string, Tensor][]} */
  #tensors() {
    return tensorsOf(
      /** @type {Output[]} */ (this.#outputs),
      this.#contents.map((content) => /** @type {Uint8Array} */ (this.#rows.get(content))),
    );
  }

  async #stream() {
    const [outputs, contents] = [/** @type {Output[]} */ (this.#outputs), this.#contents];
    const shelf = await this.#cache.shelf(this.#base);
    return (/** @type {Reader} */ whole, /** @type {Reader} */ bare) => ({
      ...whole,
      read: (/** @type {Uint32Array | undefined} */ order, /** @type {number} */ from) =>
        /** @type {Batches} */ (streamed({ whole, bare, shelf, contents, outputs }, order, from)),
    });
  }
}

/** @param {readonly Output[]} outputs @param {readonly Uint8Array[]} rows @returns {[string, Tensor][]} */
function tensorsOf(outputs, rows) {
  let at = 0;
  return outputs.map((output) => {
    const { name, type, dims } = output;
    const each = bytesOfRow([output]);
    const parts = rows.map((row) => row.subarray(at, at + each));
    at += each;
    const data = new (arrayOf(type))(concatBytes(parts).buffer);
    return [name, new Tensor(/** @type {NumberType} */ (type), data, [rows.length, ...dims])];
  });
}

/**
 * Batches whose features are read as they are needed; one whose features are gone meanwhile is of the examples
 * themselves, which gives the same but for the last bits.
 * @param {{ whole: Reader, bare: Reader, shelf: Shelf, contents: string[], outputs: readonly Output[] }} of
 * @param {Uint32Array | undefined} order @param {number} from
 */
async function* streamed({ whole, bare, shelf, contents, outputs }, order, from) {
  const batches = bare.read(order, from);
  try {
    let at = from * Number(bare.batchSize);
    for (let next = await batches.next(); !next.done; next = await batches.next()) {
      const { value: batch } = next;
      const rows = Uint32Array.from({ length: batch.examples }, (_, i) => (order ? order[at + i] : at + i));
      at += batch.examples;
      const found = await shelf.rows(Array.from(rows, (row) => contents[row]));
      const features = Array.from(rows).flatMap((row) => found.get(contents[row])?.bytes ?? []);
      const feeds =
        features.length === rows.length
          ? withTensors(batch.feeds, tensorsOf(outputs, features))
          : /** @type {Required<Reader>} */ (whole).feedsOf(rows);
      yield { ...batch, feeds };
    }
  } finally {
    close(batches);
  }
}

/** @param {PackedFeeds} feeds @param {[string, Tensor][]} more @returns {PackedFeeds} */
function withTensors({ tensors, buffer }, more) {
  const views = tensors.map((tensor) => ({ ...tensor, data: new Uint8Array(buffer, tensor.offset, tensor.bytes) }));
  const added = more.map(([name, { type, dims, data }]) => ({
    name,
    type,
    dims,
    data: bytesOf(/** @type {any} */ (data)),
  }));
  const all = [...views, ...added];
  const packed = layout(all.map(({ name, type, dims, data }) => ({ name, type, dims, bytes: data.length })));
  all.forEach(({ data }, i) => new Uint8Array(packed.buffer).set(data, packed.tensors[i].offset));
  return packed;
}
