/**
 * Checkpoints in IndexedDB, which no other file touches: `info` and `bytes` have the key [name, version]; one strict
 * transaction writes both and drops the oldest.
 */

import { checksum, isSame } from '../base/checksum.js';
import { withTimeout } from '../base/timeout.js';
import { superfluous } from './keep.js';

/** @import { Backend, Stored, Version } from './versions.js' */

/** @typedef {{ transaction: IDBTransaction, info: IDBObjectStore, bytes: IDBObjectStore }} Stores */

/** True if there is IndexedDB. */
export const hasDatabases = () => typeof indexedDB !== 'undefined';

/** The timeout of a storage while the page is awake: so many seconds, and one more for each so many bytes. */
const PATIENCE = 15,
  BYTES_A_SECOND = 1e6;

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
const answer = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** @param {IDBTransaction} transaction @returns {Promise<void>} */
const done = (transaction) =>
  new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new DOMException('the database was closed', 'AbortError'));
  });

/** @param {string} name */
const versionsOf = (name) => IDBKeyRange.bound([name, 0], [name, Number.MAX_SAFE_INTEGER]);

/** A connection that is made again when it is gone: someone cleared the site's data, or deleted the database. */
class Connection {
  #database;
  /** @type {Promise<IDBDatabase> | undefined} */
  #current;

  /** @param {string} database */
  constructor(database) {
    this.#database = database;
  }

  /**
   * Does something in a transaction of its own; once more when that was aborted from outside, which undoes what it did.
   * @template T
   * @param {IDBTransactionMode} mode
   * @param {(stores: Stores) => Promise<T>} work
   * @param {number} [size] of the bytes that go in or out
   */
  async within(mode, work, size = 0) {
    const time = { up: false };
    const attempt = async () => work(await this.#begin(mode, time));
    const trying = attempt().catch((error) => (error.name === 'AbortError' ? attempt() : Promise.reject(error)));
    const seconds = PATIENCE + Math.ceil(size / BYTES_A_SECOND);
    return await withTimeout(trying, seconds, () => {
      time.up = true;
      this.#leave(this.#current);
      return new Error(`the storage did not answer within ${seconds} s; what was asked of it may still be done`);
    });
  }

  /**
   * @param {IDBTransactionMode} mode @param {{ up: boolean }} time @param {boolean} [again]
   * @returns {Promise<Stores>}
   */
  async #begin(mode, time, again = true) {
    this.#current ??= this.#connect();
    const connection = this.#current;
    try {
      const db = await connection;
      if (time.up) throw new Error('it was given up'); // it must not come after what is newer
      const transaction = db.transaction(['info', 'bytes'], mode, { durability: 'strict' });
      return { transaction, info: transaction.objectStore('info'), bytes: transaction.objectStore('bytes') };
    } catch (error) {
      this.#leave(connection);
      if (!again || time.up) throw error;
      return await this.#begin(mode, time, false);
    }
  }

  #connect() {
    const opening = indexedDB.open(this.#database, 1);
    opening.onupgradeneeded = () => {
      opening.result.createObjectStore('info');
      opening.result.createObjectStore('bytes');
    };
    const connection = answer(opening).then((db) => {
      db.onversionchange = db.onclose = () => this.#leave(connection);
      return db;
    });
    return connection;
  }

  /** @param {Promise<IDBDatabase> | undefined} connection */
  #leave(connection) {
    if (this.#current === connection) this.#current = undefined;
    connection?.then(
      (db) => db.close(),
      () => {},
    );
  }
}

/** True for an error of a browser that has lost the bytes. */
const isLoss = (/** @type {Error} */ { name }) => ['DataError', 'NotReadableError', 'UnknownError'].includes(name);

/** A database of versions. @implements {Backend<Stored>} */
export class Database {
  #connection;

  /** @param {Connection} connection */
  constructor(connection) {
    this.#connection = connection;
  }

  /** @param {string} name */
  static async open(name) {
    const connection = new Connection(name);
    await connection.within('readonly', async () => {});
    return new Database(connection);
  }

  /** @param {Uint8Array} bytes @param {Record<string, unknown>} meta @returns {Stored} */
  pack(bytes, meta) {
    return { bytes: bytes.slice(), meta: structuredClone(meta), savedAt: new Date() };
  }

  /** @param {string} name @param {Stored} packed @param {number} keep */
  async save(name, { bytes: content, ...info }, keep) {
    const described = { ...info, bytes: content.length, sha256: await checksum(content) };
    return await this.#connection.within(
      'readwrite',
      async ({ transaction, ...stores }) => {
        const finished = done(transaction);
        finished.catch(() => {}); // a failed request throws its own error
        const [keys, metas] = await Promise.all([
          /** @type {Promise<[string, number][]>} */ (answer(stores.info.getAllKeys(versionsOf(name)))),
          answer(stores.info.getAll(versionsOf(name))),
        ]);
        const version = Math.min((keys.at(-1)?.[1] ?? 0) + 1, Number.MAX_SAFE_INTEGER);
        try {
          stores.bytes.put(content, [name, version]);
          stores.info.put(described, [name, version]);
        } catch (error) {
          transaction.abort();
          throw error;
        }
        const all = keys.map((key, i) => ({ key, meta: metas[i].meta })).filter(({ key }) => key[1] !== version);
        all.push({ key: [name, version], meta: info.meta });
        for (const { key } of superfluous(all.reverse(), keep)) {
          stores.info.delete(key);
          stores.bytes.delete(key);
        }
        await finished;
        return version;
      },
      content.length,
    );
  }

  /** @param {string} name */
  async versions(name) {
    const [keys, found] = await this.#connection.within('readonly', ({ info }) =>
      Promise.all([answer(info.getAllKeys(versionsOf(name))), answer(info.getAll(versionsOf(name)))]),
    );
    return keys.map((key, i) => {
      const { bytes, savedAt, meta } = found[i];
      return { version: /** @type {[string, number]} */ (key)[1], bytes, savedAt, meta };
    });
  }

  /** @param {string} name @param {Version} version @returns {Promise<Stored | string | undefined>} */
  async read(name, { version, bytes: size }) {
    const key = [name, version];
    const [info, bytes] = await this.#connection.within(
      'readonly',
      (stores) =>
        Promise.all([
          answer(stores.info.get(key)),
          answer(stores.bytes.get(key)).catch((error) => (isLoss(error) ? undefined : Promise.reject(error))),
        ]),
      size,
    );
    if (!info) return undefined;
    if (bytes?.length !== info.bytes) return 'has lost its bytes';
    const sum = info.sha256 && (await checksum(bytes));
    if (sum && !isSame(sum, info.sha256)) return 'has other bytes than were saved';
    return { bytes, meta: info.meta, savedAt: info.savedAt };
  }

  async list() {
    const [keys, values] = await this.#connection.within('readonly', ({ info }) =>
      Promise.all([answer(info.getAllKeys()), answer(info.getAll())]),
    );
    const newest = new Map(keys.map((key, i) => [/** @type {[string, number]} */ (key)[0], values[i]]));
    const versions = new Map(keys.map((key) => /** @type {[string, number]} */ (key)));
    return [...newest].map(([name, { bytes, savedAt, meta }]) => {
      return { name, version: /** @type {number} */ (versions.get(name)), bytes, savedAt, meta };
    });
  }

  async total() {
    const values = await this.#connection.within('readonly', ({ info }) => answer(info.getAll()));
    return { count: values.length, bytes: values.reduce((sum, { bytes }) => sum + bytes, 0) };
  }

  /** @param {string} name */
  async delete(name) {
    await this.#connection.within('readwrite', async ({ transaction, info, bytes }) => {
      info.delete(versionsOf(name));
      bytes.delete(versionsOf(name));
      await done(transaction);
    });
  }

  async persist() {
    return (await globalThis.navigator?.storage?.persist?.()) ?? false;
  }
}
