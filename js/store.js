/** Checkpoints that survive a kill at any moment: in IndexedDB, which no other file touches, or in a folder of Node. */

import { checkKeys, checkWhole, sentenceOf, TrainletError } from './errors.js';

/**
 * @typedef {{ bytes: Uint8Array<ArrayBuffer>, meta: Record<string, unknown>, savedAt: Date }} Stored
 * @typedef {{ name: string, bytes: number, savedAt: Date }} Listed
 * @typedef {{ version: number, bytes: number, savedAt: Date, meta?: Record<string, unknown> }} Version not whole
 * without meta
 */

/**
 * @template [Packed=any]
 * @typedef {object} Room where the versions of checkpoints live
 * @property {(name: string) => void} [check] throws for a name that it cannot hold
 * @property {(bytes: Uint8Array, meta: Record<string, unknown>) => Packed} pack a copy, made at once
 * @property {(name: string, packed: Packed, keep: number) => Promise<number>} save gives the version
 * @property {(name: string) => Promise<Version[]>} versions oldest first
 * @property {(name: string, version: Version) => Promise<Stored | string | undefined>} read or why not; undefined: it
 * is gone
 * @property {() => Promise<Listed[]>} list
 * @property {(name: string) => Promise<void>} delete
 * @property {() => Promise<boolean>} persist
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
    if (browser && directory === undefined)
      return new CheckpointStore(await openDatabase(database ?? 'trainlet'), keep);
    if (browser && !globalThis.process?.versions?.node)
      throw unfit('a directory is for Node; in a browser give a database');
    if (database !== undefined || !globalThis.process?.versions?.node) throw unfit('there is no IndexedDB here');
    const { openFolder } = await import('./folder.js'); // which a bundler leaves out of what is for browsers
    const folder = directory ?? 'checkpoints';
    return new CheckpointStore(await guard(`the folder ${folder} could not be made`, () => openFolder(folder)), keep);
  }

  /** @param {string} name @param {Uint8Array} bytes @param {Record<string, unknown>} [meta] */
  save(name, bytes, meta = {}) {
    return this.#write(name, 'saved', () => {
      const packed = this.#room.pack(viewOf(name, bytes), meta);
      return () => this.#room.save(name, packed, this.#keep);
    });
  }

  /** @param {string} name @param {{ version?: number }} [options] */
  async load(name, options = {}) {
    this.#check(name);
    checkKeys('CheckpointStore.load', options, ['version']);
    return await guard(`checkpoint '${name}' could not be loaded`, () => this.#newestWhole(name, options.version));
  }

  /** @param {string} name */
  async versions(name) {
    this.#check(name);
    return await guard(`the versions of '${name}' could not be listed`, () => this.#room.versions(name));
  }

  list() {
    return guard('the checkpoints could not be listed', () => this.#room.list());
  }

  /** @param {string} name */
  delete(name) {
    return this.#write(name, 'deleted', () => () => this.#room.delete(name));
  }

  persist() {
    return guard('the storage could not be made persistent', () => this.#room.persist());
  }

  /** @param {unknown} name */
  #check(name) {
    checkName(name);
    this.#room.check?.(/** @type {string} */ (name));
  }

  /**
   * Takes its turn at the call, after `prepare` has taken what it needs.
   * @template T
   * @param {string} name
   * @param {string} done
   * @param {() => () => Promise<T>} prepare
   */
  async #write(name, done, prepare) {
    this.#check(name);
    const what = `checkpoint '${name}' could not be ${done}`;
    const work = explained(what, prepare);
    const written = this.#turn.then(() => guard(what, work));
    this.#turn = written.catch(() => {});
    return await written;
  }

  /**
   * @param {string} name
   * @param {number} [wanted]
   * @returns {Promise<(Stored & { version: number, skipped: { version: number, reason: string }[] }) | undefined>}
   */
  async #newestWhole(name, wanted) {
    const skipped = [];
    for (const found of (await this.#room.versions(name)).reverse()) {
      const { version } = found;
      if (wanted !== undefined && version !== wanted) continue;
      const stored = await this.#room.read(name, found);
      if (!stored) return await this.#newestWhole(name, wanted); // another writer has newer ones now
      if (typeof stored !== 'string') return { ...stored, version, skipped };
      skipped.push({ version, reason: stored });
    }
    if (!skipped.length) return undefined;
    const reasons = skipped.map(({ version, reason }) => `version ${version} ${reason}`).join('; ');
    throw new TrainletError('checkpoint-corrupt', `checkpoint '${name}' could not be loaded: ${reasons}`);
  }
}

/** @param {string} message */
const unfit = (message) => new TrainletError('unsupported-browser', message);

/** @param {unknown} name */
function checkName(name) {
  if (typeof name !== 'string' || !name || /\p{Cs}/u.test(name)) {
    const what = typeof name === 'string' ? JSON.stringify(name) : String(name);
    const wanted = "a checkpoint's name must be a string with a character in it and no half of one";
    throw new TrainletError('invalid-argument', `${wanted}, not ${what}`);
  }
}

/** @param {string} name @param {unknown} bytes */
function viewOf(name, bytes) {
  if (ArrayBuffer.isView(bytes)) return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const what = Object.prototype.toString.call(bytes);
  throw new TrainletError('invalid-argument', `checkpoint '${name}': what is saved must be a Uint8Array, not ${what}`);
}

/** @param {string} what @param {unknown} error */
function explain(what, error) {
  if (error instanceof TrainletError) return error;
  const { name, code } = /** @type {{ name?: string, code?: string }} */ (error ?? {});
  const full = name === 'QuotaExceededError' || code === 'ENOSPC' || code === 'EDQUOT';
  if (full) return new TrainletError('quota-exceeded', `${what}: the storage is full`, { cause: error });
  return new TrainletError('store-failed', `${what}: ${sentenceOf(error)}`, { cause: error });
}

/**
 * @template T
 * @param {string} what
 * @param {() => T} work
 */
function explained(what, work) {
  try {
    return work();
  } catch (error) {
    throw explain(what, error);
  }
}

/**
 * @template T
 * @param {string} what
 * @param {() => Promise<T>} work
 */
async function guard(what, work) {
  try {
    return await work();
  } catch (error) {
    throw explain(what, error);
  }
}

/** SHA-256, where the context is secure. @param {Uint8Array} bytes */
export async function checksum(bytes) {
  const digest = await globalThis.crypto?.subtle?.digest('SHA-256', /** @type {Uint8Array<ArrayBuffer>} */ (bytes));
  return digest && new Uint8Array(digest);
}

/** @param {Uint8Array | undefined} a @param {Uint8Array | undefined} b */
export const isSame = (a, b) => String(a) === String(b);

// ── IndexedDB: `info` and `bytes` have the key [name, version]; one strict transaction writes both and drops the
// oldest ──

/** How long a storage may be silent while the page is awake: so many seconds, and one more for each so many bytes. */
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

/**
 * Work on a connection that is made again when it is gone: someone cleared the site's data, or deleted the database.
 * @param {string} database
 */
function connectTo(database) {
  /** @type {Promise<IDBDatabase> | undefined} */
  let current;

  function connect() {
    const opening = indexedDB.open(database, 1);
    opening.onupgradeneeded = () => {
      opening.result.createObjectStore('info');
      opening.result.createObjectStore('bytes');
    };
    const connection = answer(opening).then((db) => {
      db.onversionchange = db.onclose = () => leave(connection);
      return db;
    });
    return connection;
  }

  /** @param {Promise<IDBDatabase> | undefined} connection */
  function leave(connection) {
    if (current === connection) current = undefined;
    connection?.then(
      (db) => db.close(),
      () => {},
    );
  }

  /** @param {IDBTransactionMode} mode @param {{ up: boolean }} time @param {boolean} [again] */
  async function begin(mode, time, again = true) {
    current ??= connect();
    const connection = current;
    try {
      const db = await connection;
      if (time.up) throw new Error('it was given up'); // it must not come after what is newer
      const transaction = db.transaction(['info', 'bytes'], mode, { durability: 'strict' });
      return { transaction, info: transaction.objectStore('info'), bytes: transaction.objectStore('bytes') };
    } catch (error) {
      leave(connection);
      if (!again || time.up) throw error;
      return await begin(mode, time, false);
    }
  }

  /**
   * Does something in a transaction of its own; once more when that was aborted from outside, which undoes what it did.
   * @template T
   * @param {IDBTransactionMode} mode
   * @param {(stores: { transaction: IDBTransaction, info: IDBObjectStore, bytes: IDBObjectStore }) => Promise<T>} work
   * @param {number} [size] of the bytes that go in or out
   */
  return async function within(mode, work, size = 0) {
    const time = { up: false };
    const attempt = async () => work(await begin(mode, time));
    const trying = attempt().catch((error) => (error.name === 'AbortError' ? attempt() : Promise.reject(error)));
    return await inTime(trying, PATIENCE + Math.ceil(size / BYTES_A_SECOND), () => {
      time.up = true;
      leave(current);
    });
  };
}

/**
 * Seconds are counted while the page is awake: one that was suspended has not waited.
 * @template T
 * @param {Promise<T>} work
 * @param {number} seconds
 * @param {() => void} giveUp
 */
async function inTime(work, seconds, giveUp) {
  let left = seconds,
    timer;
  const late = new Promise((_, reject) => {
    timer = setInterval(() => {
      if (--left > 0) return;
      giveUp();
      reject(new Error(`the storage did not answer within ${seconds} s; what was asked of it may still be done`));
    }, 1000);
  });
  try {
    return await /** @type {Promise<T>} */ (Promise.race([work, late]));
  } finally {
    clearInterval(timer);
  }
}

/** What a browser says of bytes that it has lost. */
const isLoss = (/** @type {Error} */ { name }) => ['DataError', 'NotReadableError', 'UnknownError'].includes(name);

/** @param {string} database @returns {Promise<Room<Stored>>} */
async function openDatabase(database) {
  const within = connectTo(database);
  await guard(`the database '${database}' could not be opened`, () => within('readonly', async () => {}));

  return {
    pack: (bytes, meta) => ({ bytes: bytes.slice(), meta: structuredClone(meta), savedAt: new Date() }),

    async save(name, { bytes: content, ...info }, keep) {
      const described = { ...info, bytes: content.length, sha256: await checksum(content) };
      return await within(
        'readwrite',
        async ({ transaction, ...stores }) => {
          const finished = done(transaction);
          finished.catch(() => {}); // where a request fails, its own error is thrown
          const keys = /** @type {[string, number][]} */ (await answer(stores.info.getAllKeys(versionsOf(name))));
          const version = (keys.at(-1)?.[1] ?? 0) + 1;
          try {
            stores.bytes.put(content, [name, version]);
            stores.info.put(described, [name, version]);
          } catch (error) {
            transaction.abort();
            throw error;
          }
          for (const old of keys.slice(0, Math.max(0, keys.length + 1 - keep))) {
            stores.info.delete(old);
            stores.bytes.delete(old);
          }
          await finished;
          return version;
        },
        content.length,
      );
    },

    async versions(name) {
      const [keys, found] = await within('readonly', ({ info }) =>
        Promise.all([answer(info.getAllKeys(versionsOf(name))), answer(info.getAll(versionsOf(name)))]),
      );
      return keys.map((key, i) => {
        const { bytes, savedAt, meta } = found[i];
        return { version: /** @type {[string, number]} */ (key)[1], bytes, savedAt, meta };
      });
    },

    async read(name, { version, bytes: size }) {
      const key = [name, version];
      const [info, bytes] = await within(
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
    },

    async list() {
      const [keys, values] = await within('readonly', ({ info }) =>
        Promise.all([answer(info.getAllKeys()), answer(info.getAll())]),
      );
      const newest = new Map(keys.map((key, i) => [/** @type {[string, number]} */ (key)[0], values[i]]));
      return [...newest].map(([name, { bytes, savedAt }]) => ({ name, bytes, savedAt }));
    },

    delete: (name) =>
      within('readwrite', async ({ transaction, info, bytes }) => {
        info.delete(versionsOf(name));
        bytes.delete(versionsOf(name));
        await done(transaction);
      }),

    persist: async () => (await globalThis.navigator?.storage?.persist?.()) ?? false,
  };
}
