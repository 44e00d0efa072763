/** Checkpoints that survive a kill at any moment: in IndexedDB, or in a folder of Node. The only file that touches either. */

import { checkKeys, checkWhole, sentenceOf, TrainletError } from './errors.js';
import { nodeModule } from './platform.js';

/**
 * @typedef {{ bytes: Uint8Array, meta: Record<string, unknown>, savedAt: Date }} Stored
 * @typedef {{ name: string, bytes: number, savedAt: Date }} Listed
 * @typedef {object} Room where the versions of checkpoints live
 * @property {(name: string, bytes: Uint8Array, meta: Record<string, unknown>, keep: number) => Promise<void>} save
 * @property {(name: string) => Promise<Stored | undefined>} load
 * @property {() => Promise<Listed[]>} list
 * @property {(name: string) => Promise<void>} delete
 */

export class CheckpointStore {
  #room;
  #keep;
  /** Writes go one after the other. @type {Promise<unknown>} */
  #turn = Promise.resolve();

  /** @param {Room} room @param {number} keep */
  constructor(room, keep) {
    this.#room = room;
    this.#keep = keep;
  }

  /** @param {{ database?: string, directory?: string, keep?: number }} [options] */
  static async open(options = {}) {
    checkKeys('CheckpointStore.open', options, ['database', 'directory', 'keep']);
    const { database, directory, keep = 2 } = options;
    checkWhole('keep', keep, 1);
    const browser = typeof indexedDB !== 'undefined';
    if (browser && directory === undefined) return new CheckpointStore(await openDatabase(database ?? 'trainlet'), keep);
    if (browser && !globalThis.process?.versions?.node) throw unfit('a directory is for Node; in a browser give a database');
    if (database !== undefined || !globalThis.process?.versions?.node) throw unfit('there is no IndexedDB here');
    return new CheckpointStore(await openFolder(directory ?? 'checkpoints'), keep);
  }

  /** @param {string} name @param {Uint8Array} bytes @param {Record<string, unknown>} [meta] */
  save(name, bytes, meta = {}) {
    return this.#write(`checkpoint '${name}' could not be saved`, () => this.#room.save(name, bytes, meta, this.#keep));
  }

  /** @param {string} name */
  load(name) { return guard(`checkpoint '${name}' could not be loaded`, () => this.#room.load(name)); }

  list() { return guard('the checkpoints could not be listed', () => this.#room.list()); }

  /** @param {string} name */
  delete(name) { return this.#write(`checkpoint '${name}' could not be deleted`, () => this.#room.delete(name)); }

  /** @param {string} what @param {() => Promise<void>} work */
  #write(what, work) {
    const written = this.#turn.then(() => guard(what, work));
    this.#turn = written.catch(() => {});
    return written;
  }
}

/** @param {string} message */
const unfit = (message) => new TrainletError('unsupported-browser', message);

/**
 * @template T
 * @param {string} what
 * @param {() => Promise<T>} work
 */
async function guard(what, work) {
  try {
    return await work();
  } catch (error) {
    const { name, code } = /** @type {{ name?: string, code?: string }} */ (error ?? {});
    const full = name === 'QuotaExceededError' || code === 'ENOSPC' || code === 'EDQUOT';
    if (full) throw new TrainletError('quota-exceeded', `${what}: the storage is full`, { cause: error });
    throw new TrainletError('store-failed', `${what}: ${sentenceOf(error)}`, { cause: error });
  }
}

// ── IndexedDB: `info` and `bytes` have the key [name, version]; one strict transaction writes both and drops the oldest ──

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
const answer = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

/** @param {IDBTransaction} transaction @returns {Promise<void>} */
const done = (transaction) => new Promise((resolve, reject) => {
  transaction.oncomplete = () => resolve();
  transaction.onabort = () => reject(transaction.error);
});

/** @param {string} name */
const versionsOf = (name) => IDBKeyRange.bound([name, 0], [name, Number.MAX_SAFE_INTEGER]);

/** @param {string} database @returns {Promise<Room>} */
async function openDatabase(database) {
  const opening = indexedDB.open(database, 1);
  opening.onupgradeneeded = () => {
    opening.result.createObjectStore('info');
    opening.result.createObjectStore('bytes');
  };
  const db = await guard(`the database '${database}' could not be opened`, () => answer(opening));
  db.onversionchange = () => db.close();

  /** @param {IDBTransactionMode} mode */
  function begin(mode) {
    const transaction = db.transaction(['info', 'bytes'], mode, { durability: 'strict' });
    return { transaction, info: transaction.objectStore('info'), bytes: transaction.objectStore('bytes') };
  }

  return {
    async save(name, bytes, meta, keep) {
      const { transaction, ...stores } = begin('readwrite');
      const keys = /** @type {[string, number][]} */ (await answer(stores.info.getAllKeys(versionsOf(name))));
      const key = [name, (keys.at(-1)?.[1] ?? 0) + 1];
      const finished = done(transaction);
      try {
        stores.bytes.put(bytes.length < bytes.buffer.byteLength ? bytes.slice() : bytes, key);
        stores.info.put({ savedAt: new Date(), bytes: bytes.length, meta }, key);
      } catch (error) {
        finished.catch(() => {}); // the cause is thrown
        transaction.abort();
        throw error;
      }
      for (const old of keys.slice(0, Math.max(0, keys.length + 1 - keep))) {
        stores.info.delete(old);
        stores.bytes.delete(old);
      }
      await finished;
    },
    async load(name) {
      const stores = begin('readonly');
      const key = (await answer(stores.info.getAllKeys(versionsOf(name)))).at(-1);
      if (!key) return undefined;
      const [info, bytes] = await Promise.all([answer(stores.info.get(key)), answer(stores.bytes.get(key))]);
      return { bytes, meta: info.meta, savedAt: info.savedAt };
    },
    async list() {
      const { info } = begin('readonly');
      const [keys, values] = await Promise.all([answer(info.getAllKeys()), answer(info.getAll())]);
      const newest = new Map(keys.map((key, i) => [/** @type {[string, number]} */ (key)[0], values[i]]));
      return [...newest].map(([name, { bytes, savedAt }]) => ({ name, bytes, savedAt }));
    },
    async delete(name) {
      const { transaction, info, bytes } = begin('readwrite');
      info.delete(versionsOf(name));
      bytes.delete(versionsOf(name));
      await done(transaction);
    },
  };
}

// ── A folder: NAME.VERSION.json then NAME.VERSION.ckpt, each by write, fsync and rename; the .ckpt is the commit ──

/** @param {string} name */
const fileName = (name) => [...new TextEncoder().encode(name)]
  .map((byte) => (/[A-Za-z0-9_-]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, '0')}`))
  .join('');

/** @param {string} directory @returns {Promise<Room>} */
async function openFolder(directory) {
  const [fs, path, { randomUUID }] = await Promise.all([nodeModule('fs/promises'), nodeModule('path'), nodeModule('crypto')]);
  await guard(`the folder ${directory} could not be made`, () => fs.mkdir(directory, { recursive: true }));

  /** The whole versions, oldest first. @param {string} [wanted] */
  async function versions(wanted) {
    const found = (await fs.readdir(directory)).map((file) => /^([\w%-]+)\.(\d+)\.ckpt$/.exec(file));
    return found.flatMap((match) => (match && (!wanted || match[1] === fileName(wanted))
      ? [{ name: decodeURIComponent(match[1]), version: Number(match[2]), stem: path.join(directory, `${match[1]}.${match[2]}`) }]
      : [])).sort((a, b) => a.version - b.version);
  }

  /** @param {string} file @param {Uint8Array | string} content */
  async function write(file, content) {
    const temporary = `${file}.${randomUUID()}.tmp`;
    const handle = await fs.open(temporary, 'wx');
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await fs.rename(temporary, file);
  }

  /** Makes renames durable; not every system can open a folder. */
  async function syncFolder() {
    const handle = await fs.open(directory).catch(() => undefined);
    await handle?.sync().catch(() => {});
    await handle?.close();
  }

  /** Removes all files of a name but those of the versions kept: older ones, and what a kill has left. @param {string} name @param {string[]} kept */
  async function clean(name, kept) {
    const files = (await fs.readdir(directory)).filter((file) => file.startsWith(`${fileName(name)}.`));
    const stale = files.filter((file) => !kept.some((stem) => file === `${stem}.ckpt` || file === `${stem}.json`));
    await Promise.all(stale.map((file) => fs.rm(path.join(directory, file), { force: true })));
  }

  return {
    async save(name, bytes, meta, keep) {
      const old = await versions(name);
      const stem = `${fileName(name)}.${String((old.at(-1)?.version ?? 0) + 1).padStart(8, '0')}`;
      await write(path.join(directory, `${stem}.json`), JSON.stringify(meta));
      await write(path.join(directory, `${stem}.ckpt`), bytes);
      await syncFolder();
      await clean(name, [stem, ...old.slice(Math.max(0, old.length + 1 - keep)).map((version) => path.basename(version.stem))]);
    },
    async load(name) {
      const stem = (await versions(name)).at(-1)?.stem;
      if (!stem) return undefined;
      const [bytes, meta, { mtime }] = await Promise.all(
        [fs.readFile(`${stem}.ckpt`), fs.readFile(`${stem}.json`, 'utf8'), fs.stat(`${stem}.ckpt`)]);
      return { bytes: new Uint8Array(bytes), meta: JSON.parse(meta), savedAt: mtime };
    },
    async list() {
      const newest = new Map((await versions()).map(({ name, stem }) => [name, stem]));
      return await Promise.all([...newest].map(async ([name, stem]) => {
        const { size, mtime } = await fs.stat(`${stem}.ckpt`);
        return { name, bytes: size, savedAt: mtime };
      }));
    },
    async delete(name) {
      await clean(name, []);
      await syncFolder();
    },
  };
}
