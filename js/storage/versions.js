/** The versions of checkpoints, which survive a kill at any moment: in IndexedDB, or in a folder of Node. */

import { checkKeys, checkWhole, invalid, nameOf, sentenceOf, TrainletError } from '../base/errors.js';
import { bytesOf } from '../base/tensor.js';
import { codeOfFault } from './faults.js';
import { Database, hasDatabases } from './indexeddb.js';

/** @import { TypedArray } from '../types.js' */

/**
 * @typedef {{ bytes: Uint8Array<ArrayBuffer>, meta: Record<string, unknown>, savedAt: Date }} Stored
 * @typedef {{ name: string } & Version} Listed its newest version
 * @typedef {{ version: number, bytes: number, savedAt: Date, meta?: Record<string, unknown> }} Version not whole
 * without meta
 */

/**
 * @template [Packed=any]
 * @typedef {object} Backend that keeps versions of checkpoints
 * @property {(name: string) => void} [check] throws for a name that it cannot hold
 * @property {(bytes: Uint8Array, meta: Record<string, unknown>) => Packed} pack a copy, made at once
 * @property {(name: string, packed: Packed, keep: number) => Promise<number>} save gives the version
 * @property {(name: string) => Promise<Version[]>} versions oldest first
 * @property {(name: string, version: Version) => Promise<Stored | string | undefined>} read or why not; undefined: it
 * is gone
 * @property {() => Promise<Listed[]>} list
 * @property {() => Promise<{ count: number, bytes: number }>} total of all versions
 * @property {(name: string) => Promise<void>} delete
 * @property {() => Promise<boolean>} persist
 */

export class Versions {
  #backend;
  #keep;
  /** Writes go one after the other. @type {Promise<unknown>} */
  #turn = Promise.resolve();

  /** @param {Backend} backend @param {number} keep */
  constructor(backend, keep) {
    this.#backend = backend;
    this.#keep = keep;
  }

  /** @param {string} name @param {Uint8Array} bytes @param {Record<string, unknown>} [meta] */
  save(name, bytes, meta = {}) {
    return this.#write(name, 'saved', () => {
      const packed = this.#backend.pack(viewOf(name, bytes), meta);
      return () => this.#backend.save(name, packed, this.#keep);
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
    return await guard(`the versions of '${name}' could not be listed`, () => this.#backend.versions(name));
  }

  list() {
    return guard('the checkpoints could not be listed', async () =>
      (await this.#backend.list()).map(({ name, bytes, savedAt }) => ({ name, bytes, savedAt })),
    );
  }

  /** @param {string} name */
  delete(name) {
    return this.#write(name, 'deleted', () => () => this.#backend.delete(name));
  }

  persist() {
    return guard('the storage could not be made persistent', () => this.#backend.persist());
  }

  /** @param {unknown} name */
  #check(name) {
    checkName(name);
    this.#backend.check?.(/** @type {string} */ (name));
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
    for (const found of (await this.#backend.versions(name)).reverse()) {
      const { version } = found;
      if (wanted !== undefined && version !== wanted) continue;
      const stored = await this.#backend.read(name, found);
      if (!stored) return await this.#newestWhole(name, wanted); // another writer has newer ones now
      if (typeof stored !== 'string') return { ...stored, version, skipped };
      skipped.push({ version, reason: stored });
    }
    if (!skipped.length) return undefined;
    const reasons = skipped.map(({ version, reason }) => `version ${version} ${reason}`).join('; ');
    throw new TrainletError(codeOfFault(skipped[0].reason), `checkpoint '${name}' could not be loaded: ${reasons}`);
  }
}

/** @param {{ database?: string, directory?: string, keep?: number }} options */
export async function openVersions(options) {
  checkKeys('CheckpointStore.open', options, ['database', 'directory', 'keep']);
  const { database, directory, keep = 2 } = options;
  checkWhole('keep', keep, 1);
  return new Versions(
    await openBackend({ database, directory }, { database: 'trainlet', directory: 'checkpoints' }),
    keep,
  );
}

/**
 * @param {{ database?: string, directory?: string }} place that was asked for
 * @param {{ database: string, directory: string }} usual
 * @returns {Promise<Backend>}
 */
export async function openBackend({ database, directory }, usual) {
  for (const [key, value] of Object.entries({ database, directory }))
    if (value !== undefined && (typeof value !== 'string' || !value))
      throw invalid(`${key} must be a string, not ${nameOf(value)}`);
  const browser = explained('IndexedDB could not be opened', hasDatabases); // its getter may throw
  const node = globalThis.process?.versions?.node;
  if (browser && directory === undefined) return await openDatabase(database ?? usual.database);
  if (browser && !node) throw unfit('a directory is for Node; in a browser give a database');
  if (database !== undefined || !node) throw unfit('there is no IndexedDB here');
  return await openFolder(directory ?? usual.directory);
}

/** @param {string} name */
const openDatabase = (name) => guard(`the database '${name}' could not be opened`, () => Database.open(name));

/** @param {string} directory */
async function openFolder(directory) {
  const { Folder } = await import('./folder.js'); // bundlers leave it out of builds for browsers
  if (!Folder) throw unfit('this build is for browsers, where there are no folders');
  return await guard(`the folder ${directory} could not be made`, () => Folder.open(directory));
}

/** @param {string} message */
const unfit = (message) => new TrainletError('unsupported-browser', message);

/** @param {unknown} name */
function checkName(name) {
  if (typeof name !== 'string' || !name || /\p{Cs}/u.test(name)) {
    const what = typeof name === 'string' ? JSON.stringify(name) : nameOf(name);
    const wanted = "a checkpoint's name must be a string with a character in it and no half of one";
    throw invalid(`${wanted}, not ${what}`);
  }
}

/** @param {string} name @param {unknown} bytes */
function viewOf(name, bytes) {
  if (ArrayBuffer.isView(bytes)) return bytesOf(/** @type {TypedArray} */ (bytes));
  const what = Object.prototype.toString.call(bytes);
  throw invalid(`checkpoint '${name}': what is saved must be a Uint8Array, not ${what}`);
}

/** @param {string} what @param {unknown} error */
function explain(what, error) {
  if (error instanceof TrainletError) return error;
  const { name, code } = /** @type {{ name?: string, code?: string }} */ (error ?? {});
  const full = name === 'QuotaExceededError' || code === 'ENOSPC' || code === 'EDQUOT';
  if (full) return new TrainletError('quota-exceeded', `${what}: the storage is full`, { cause: error });
  const failed = name === 'VersionError' ? 'unsupported-version' : 'store-failed';
  return new TrainletError(failed, `${what}: ${sentenceOf(error)}`, { cause: error });
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
 * @param {string} what could not be done, in a sentence
 * @param {() => Promise<T>} work
 */
export async function guard(what, work) {
  try {
    return await work();
  } catch (error) {
    throw explain(what, error);
  }
}
