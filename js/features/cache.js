/** Features of examples that outlive the page: in IndexedDB or a folder of Node, those used last in memory as well. */

import { checkKeys, checkWhole, invalid, nameOf, TrainletError } from '../base/errors.js';
import { check } from '../base/tensor.js';
import { withTimeout } from '../base/timeout.js';
import { contentsOf } from '../storage/content-hash.js';
import { guard, openBackend } from '../storage/versions.js';
import { gatherFeatures } from './gather.js';
import { isPack, NAME, newName, packsFor, rowsIn, Shelf, sameOutputs } from './pack.js';

/** @import { FeatureStoreOptions, TensorLike } from '../types.js' */
/** @import { Ask } from '../engine/protocol.js' */
/** @import { Wanted } from './compute.js' */
/** @import { GatherOptions } from './gather.js' */
/** @import { Backend } from '../storage/versions.js' */
/** @import { Listed, Output, Pack } from './pack.js' */

export const FEATURE_STORE_KEYS = /** @type {const} */ (['name', 'directory', 'maxBytes', 'maxMemoryBytes']);
const MOST = { maxBytes: 2 ** 29, maxMemoryBytes: 2 ** 26 };
/** When packs that were not made last were used last. */
const USED = 'used';
const ALL = 'all';
/** Begins the name of a note on packs that do not count yet: their writer checks first that those before are there. */
const PENDING = 'pending';
/** Listings after which a deletion gives up, because each time another writer had joined a deleted row to others. */
const ROUNDS = 100;
/** A deletion waits so often for a writer to decide whether a pack counts. Then it takes the writer for dead. */
const [WAITS, WAIT_MS] = [500, 10];
const DAY_MS = 24 * 3600 * 1000;
/** A storage that is silent for so long is gone on without: what it has can be computed. */
const PATIENCE = 5;

/** @param {FeatureStoreOptions} options */
export async function openFeatureCache(options) {
  checkKeys('FeatureStore.open', options, FEATURE_STORE_KEYS);
  const { name = 'features', directory, maxBytes = MOST.maxBytes, maxMemoryBytes = MOST.maxMemoryBytes } = options;
  if (typeof name !== 'string' || !/^[\w-]{1,100}$/.test(name))
    throw invalid(`a store's name has 1 to 100 letters, digits, - and _, not ${nameOf(name)}`);
  checkWhole('maxBytes', maxBytes, 1);
  checkWhole('maxMemoryBytes', maxMemoryBytes, 0);
  if (!globalThis.crypto?.subtle)
    throw new TrainletError(
      'unsupported-browser',
      'a store of features needs a checksum, which browsers give https pages alone',
    );
  const usual = { database: `trainlet-features-${name}`, directory: `features/${name}` };
  const backend = await openBackend(
    { directory: typeof directory === 'string' && directory ? `${directory}/${name}` : directory },
    usual,
  );
  return new FeatureCache(backend, { maxBytes, maxMemoryBytes });
}

export class FeatureCache {
  #backend;
  #most;
  /** Used last comes last; `stored`: the storage has it too. @type {Map<string, Pack & { stored: boolean }>} */
  #memory = new Map();
  /** Writes go one after the other. @type {Promise<unknown>} */
  #turn = Promise.resolve();
  /**
   * Contents, or ALL, in the order in which they were deleted: what began before must not bring them back.
   * @type {string[]}
   */
  #deleted = [];

  /** @param {Backend} backend @param {{ maxBytes: number, maxMemoryBytes: number }} most */
  constructor(backend, most) {
    this.#backend = backend;
    this.#most = most;
  }

  get maxBytes() {
    return this.#most.maxBytes;
  }

  /** The number of deletions so far. */
  get deletions() {
    return this.#deleted.length;
  }

  /**
   * Features of examples, those that are here and those that must be computed.
   * @param {Ask} ask @param {Wanted} examples @param {readonly string[]} values names @param {GatherOptions} options
   */
  gather(ask, examples, values, options) {
    return gatherFeatures(this, ask, examples, values, options);
  }

  /** The stored features of a network; `error` explains why some may be missing. @param {string} base */
  async shelf(base) {
    let [listed, error] = [/** @type {Listed[]} */ ([]), /** @type {TrainletError | undefined} */ (undefined)];
    try {
      listed = (await guard('the features could not be listed', () => this.#list())).filter((pack) => !pack.pending);
      const there = new Set(listed.map(({ name }) => name));
      for (const [name, { stored }] of this.#memory) if (stored && !there.has(name)) this.#memory.delete(name);
    } catch (failure) {
      error = /** @type {TrainletError} */ (failure);
    }
    const inMemory = [...this.#memory].map(([name, pack]) => ({ name, size: 0, used: 0, ...pack }));
    const others = listed.filter(({ name }) => !this.#memory.has(name));
    return new Shelf(this, base, [...inMemory, ...others], error);
  }

  /**
   * A pack, or undefined where it is gone or damaged, which is removed then.
   * @param {Listed} listed @param {boolean} [inMemory] the storage is not asked
   * @returns {Promise<{ pack: Pack, fromMemory: boolean } | undefined>}
   */
  async load({ name, version = 0, size, used }, inMemory = false) {
    const known = this.#memory.get(name);
    if (known) this.#remember(name, known);
    if (known || inMemory) return known && { pack: known, fromMemory: true };
    const reading = this.#backend.read(name, { version, bytes: size, savedAt: new Date(used) });
    const found = await withTimeout(reading, PATIENCE + size / 1e6, silent);
    const pack = found && typeof found !== 'string' && { ...found.meta, bytes: found.bytes };
    if (isPack(pack)) this.#remember(name, { ...pack, stored: true });
    else if (found) await this.drop([name]).catch(() => {});
    return isPack(pack) ? { pack, fromMemory: false } : undefined;
  }

  /**
   * Keeps rows of features by their contents, beside those of the network that are there.
   * @param {string} base @param {readonly Output[]} outputs @param {ReadonlyMap<string, Uint8Array>} rows
   * @param {{ since: number, staying: readonly string[], failed?: TrainletError }} how `since`: deletions before they
   * were computed; `staying`: names of packs that no room is made of; `failed`: why the storage is not asked
   * @returns {Promise<TrainletError | undefined>} why the storage did not take all of them: then memory has them
   */
  async save(base, outputs, rows, { since, staying, failed }) {
    return await this.#write(async () => {
      const gone = new Set(this.#deleted.slice(since));
      const wanted = new Map([...rows].filter(([content]) => !gone.has(content) && !gone.has(ALL)));
      if (failed) return await this.#store(packsFor(base, outputs, wanted, this.#most.maxBytes), [], failed);
      return await this.#saveBeside(await this.shelf(base), base, outputs, wanted, staying);
    });
  }

  /**
   * @param {Shelf} shelf @param {string} base @param {readonly Output[]} outputs
   * @param {ReadonlyMap<string, Uint8Array>} rows @param {readonly string[]} staying
   * @returns {Promise<TrainletError | undefined>}
   */
  async #saveBeside(shelf, base, outputs, rows, staying) {
    const same = shelf.packs.filter((pack) => sameOutputs(pack.outputs, outputs));
    const known = new Set(same.flatMap((pack) => pack.rows));
    const fresh = new Map([...rows].filter(([content]) => !known.has(content)));
    if (!fresh.size) return undefined;
    const small = [];
    for (const listed of same) {
      const found = shelf.isSmall(listed) && (await this.load(listed).catch(() => undefined));
      if (found) small.push({ name: listed.name, rows: rowsIn(found.pack) });
    }
    const all = new Map([...small.flatMap(({ rows }) => [...rows]), ...fresh]);
    const before = small.map(({ name }) => name);
    const [packs, alone] = [all, fresh].map((some) => packsFor(base, outputs, some, this.#most.maxBytes));
    return await this.#replace(before, packs, alone, [...before, ...staying], shelf.error);
  }

  /**
   * Stores packs in the place of others, which stay until then, so that readers find the rows at any time. If another
   * writer has dropped one of these meanwhile, a row may have been deleted: then only the rows of `alone` are kept.
   * The packs do not count until that is known, so that nobody joins a deleted row to others.
   * @param {readonly string[]} before names @param {{ name: string, pack: Pack }[]} packs
   * @param {{ name: string, pack: Pack }[]} alone @param {readonly string[]} staying
   * @param {TrainletError} [failed] why the storage is not asked
   * @returns {Promise<TrainletError | undefined>}
   */
  async #replace(before, packs, alone, staying, failed) {
    if (failed || !before.length) return await this.#store(packs, staying, failed);
    const names = packs.map(({ name }) => name);
    try {
      return await guard('features could not be stored', async () => {
        const note = await this.#announce(names);
        const error = await this.#store(packs, staying);
        const count = !error && (await this.#areThere([...before, ...names]));
        if (count) await this.#backend.delete(note);
        if (count && (await this.#areThere(names))) return void (await this.drop(before));
        await this.drop(names);
        await this.#backend.delete(note);
        return await (error ? this.#store(packs, [], error) : this.#store(alone, staying));
      });
    } catch (error) {
      return await this.#store(packs, [], /** @type {TrainletError} */ (error));
    }
  }

  /** @param {readonly string[]} names */
  async #areThere(names) {
    const there = new Set((await this.#list()).map(({ name }) => name));
    return names.every((name) => there.has(name) || this.#memory.get(name)?.stored === false);
  }

  /** Notes packs that do not count until the note is gone. @param {readonly string[]} packs names */
  async #announce(packs) {
    for (const { name, savedAt, meta } of await this.#backend.list()) // a writer that was killed left it
      if (name.startsWith(PENDING) && Date.now() - savedAt.getTime() > DAY_MS) await this.drop([...noted(meta), name]);
    const note = newName(PENDING);
    await this.#backend.save(note, this.#backend.pack(new Uint8Array(), { packs }), 1);
    return note;
  }

  /**
   * @param {{ name: string, pack: Pack }[]} packs @param {readonly string[]} staying
   * @param {TrainletError} [failed] why the storage is not asked
   */
  async #store(packs, staying, failed) {
    for (const { name, pack } of packs) this.#remember(name, { ...pack, stored: false });
    if (failed) return failed;
    try {
      await guard('features could not be stored', async () => {
        const makeRoom = await this.#roomBeside(staying);
        for (const { name, pack } of packs) {
          const { bytes, ...meta } = pack;
          await makeRoom(bytes.length);
          await this.#backend.save(name, this.#backend.pack(bytes, meta), 1);
          const kept = this.#memory.get(name);
          if (kept) kept.stored = true;
        }
      });
      return undefined;
    } catch (error) {
      return /** @type {TrainletError} */ (error);
    }
  }

  /** Makes room for so many bytes: what was not used for longest goes. @param {readonly string[]} staying */
  async #roomBeside(staying) {
    const { maxBytes } = this.#most;
    const listed = await this.#list();
    const leaving = listed.filter(({ name }) => !staying.includes(name)).sort((a, b) => b.used - a.used);
    let left = maxBytes - listed.reduce((sum, { size }) => sum + size, 0);
    return async (/** @type {number} */ bytes) => {
      for (left -= bytes; left < 0; ) {
        const last = leaving.pop();
        if (!last)
          throw new TrainletError(
            'quota-exceeded',
            `the store may hold ${maxBytes} bytes, and has no room for ${bytes} more`,
          );
        await this.drop([last.name]);
        left += last.size;
      }
    };
  }

  /** Notes that they are needed, where others came later. @param {readonly string[]} names */
  async touch(names) {
    await this.#write(async () => {
      const listed = await this.#list();
      const named = listed.filter(({ name }) => names.includes(name));
      const oldest = Math.min(...named.map(({ used }) => used));
      if (!listed.some(({ name, used }) => !names.includes(name) && used >= oldest)) return;
      const used = Object.fromEntries(
        listed.map((pack) => [pack.name, names.includes(pack.name) ? Date.now() : pack.used]),
      );
      await this.#backend.save(USED, this.#backend.pack(new Uint8Array(), { used }), 1);
    }).catch(() => {}); // it decides only what is removed first
  }

  /** @param {readonly string[]} names */
  async drop(names) {
    for (const name of names) {
      this.#memory.delete(name);
      await this.#backend.delete(name);
    }
  }

  /** @param {Readonly<Record<string, TensorLike>>} inputs */
  async has(inputs) {
    const contents = await contentsIn('FeatureStore.has', inputs);
    const packs = await guard('the features could not be listed', () => this.#all());
    return packs.some(({ rows }) => rows.some((content) => contents.has(content)));
  }

  /** @param {Readonly<Record<string, TensorLike>>} inputs */
  async delete(inputs) {
    const contents = await contentsIn('FeatureStore.delete', inputs);
    this.#deleted.push(...contents);
    return await this.#write(() => guard('features could not be deleted', () => this.#remove(contents)));
  }

  /** @param {Set<string>} contents @returns {Promise<number>} how many were there */
  async #remove(contents) {
    const gone = new Set();
    for (let round = 0, waits = 0; round < ROUNDS; ) {
      const packs = await this.#all(true);
      const holding = packs.filter(({ rows }) => !rows.length || rows.some((row) => contents.has(row)));
      if (!holding.length) return gone.size;
      const ready = holding.filter(({ pending }) => !pending || waits === WAITS);
      if (ready.length) round++;
      else {
        waits++;
        await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
      }
      for (const listed of ready) {
        for (const row of listed.rows) if (contents.has(row)) gone.add(row);
        await (listed.pending ? this.drop([listed.name]) : this.#keepOthers(listed, contents));
      }
    }
    throw new Error('others brought them back as fast as they were deleted');
  }

  /**
   * Replaces a pack by one of its other rows; if that fails, or a damaged pack does not tell its rows, they are
   * computed again.
   * @param {Listed} listed @param {Set<string>} contents
   */
  async #keepOthers(listed, contents) {
    const found = await this.load(listed).catch(() => undefined);
    const rows = new Map([...(found ? rowsIn(found.pack) : [])].filter(([content]) => !contents.has(content)));
    const outputs = found?.pack.outputs ?? [];
    const packs = packsFor(listed.name.slice(0, 32), outputs, rows, this.#most.maxBytes);
    if (packs.length) await this.#replace([listed.name], packs, [], [listed.name]);
    await this.drop([listed.name]);
  }

  async total() {
    const packs = await guard('the features could not be listed', () => this.#list());
    const examples = new Set(packs.flatMap(({ rows }) => rows)).size;
    return { examples, bytes: packs.reduce((sum, { size }) => sum + size, 0) };
  }

  async clear() {
    this.#deleted.push(ALL);
    await this.#write(() =>
      guard('features could not be deleted', async () => {
        this.#memory.clear();
        await this.#remove(new Set((await this.#all(true)).flatMap(({ rows }) => rows)));
        await this.drop([USED]);
      }),
    );
  }

  /**
   * Lists the packs in the storage and those that are only in memory.
   * @param {boolean} [pending] also those that do not count yet
   * @returns {Promise<Listed[]>}
   */
  async #all(pending = false) {
    const listed = (await this.#list()).filter((pack) => pending || !pack.pending);
    const alone = [...this.#memory].filter(([, { stored }]) => !stored);
    return [...listed, ...alone.map(([name, pack]) => ({ name, size: 0, used: 0, ...pack }))];
  }

  /** Lists our packs in the storage that are visibly whole. @returns {Promise<Listed[]>} */
  async #list() {
    const all = await withTimeout(this.#backend.list(), PATIENCE, silent);
    const used = /** @type {any} */ (all.find(({ name }) => name === USED)?.meta?.used);
    const pending = new Set(all.flatMap(({ name, meta }) => (name.startsWith(PENDING) ? noted(meta) : [])));
    return all.flatMap(({ name, version, bytes, savedAt, meta }) => {
      const described = { ...meta, bytes: { length: bytes } };
      if (!NAME.test(name)) return [];
      const last = Math.max(savedAt.getTime(), Number(used?.[name]) || 0);
      const pack = isPack(described) ? described : { rows: [], outputs: [], bytes: { length: 0 } };
      return { ...pack, name, version, size: bytes, used: last, pending: pending.has(name) };
    });
  }

  /** @param {string} name @param {Pack & { stored: boolean }} pack */
  #remember(name, pack) {
    this.#memory.delete(name);
    this.#memory.set(name, pack);
    let bytes = 0;
    for (const [old, { bytes: own }] of [...this.#memory].reverse()) {
      bytes += own.length;
      if (bytes > this.#most.maxMemoryBytes) this.#memory.delete(old);
    }
  }

  /**
   * @template T
   * @param {() => Promise<T>} work
   */
  async #write(work) {
    const written = this.#turn.then(work);
    this.#turn = written.catch(() => {});
    return await written;
  }
}

/** The packs of a note. @param {any} meta that anybody may have written @returns {string[]} */
const noted = (meta) => [meta?.packs ?? []].flat().filter((/** @type {unknown} */ name) => NAME.test(String(name)));

const silent = () => new Error(`the storage did not answer within ${PATIENCE} s`);

/** @param {string} where @param {Readonly<Record<string, TensorLike>>} inputs @returns {Promise<Set<string>>} */
async function contentsIn(where, inputs) {
  const tensors = Object.entries(inputs ?? {}).map(([name, tensor]) => [name, check(`${where}: '${name}'`, tensor)]);
  if (!tensors.length) throw invalid(`${where}: wanted tensors by the names of the inputs, an example a row`);
  return new Set(await contentsOf(/** @type {any} */ (tensors)));
}
