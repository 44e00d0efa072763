/** Checkpoints in a folder of Node: a version is one file, whole before it has its name; no other file is touched. */

import { invalid, TrainletError } from '../base/errors.js';
import { nodeModule } from '../base/platform.js';
import { addChecksum, bytesAt, CUT, HEAD, infoIn, isEnvelope, unwrap, wrap } from './envelope.js';
import { codeOfFault } from './faults.js';
import { superfluous } from './keep.js';

/** @import { Listed, Backend, Stored, Version } from './versions.js' */

/**
 * @typedef {{ name: string, version: number, file: string, info?: string }} VersionFile a version's file; in the format
 * before, two
 */

/*
 * NAME.VERSION.trainlet:  an envelope (js/storage/envelope.js)
 * The format before:      NAME.VERSION.json with the meta data, then NAME.VERSION.ckpt with the bytes
 */
const MAGIC = new Uint8Array([0x89, 0x54, 0x4c, 0x53, 0x0d, 0x0a, 0x1a, 1]);

/**
 * The limit of a name in the 255 bytes of a file name; the rest is for a version, or makes a temporary file unique.
 */
const LONGEST_NAME = 200;
/**
 * A temporary that is not written to for so long was left by a kill, if its process is gone; after a day whatever that
 * is.
 */
const IDLE_MS = 60_000,
  DAY_MS = 24 * 3600 * 1000;

/**
 * A save that others overtook takes a newer number so often. After that it counts as older than theirs.
 */
const OVERTAKEN = 4;

/** The largest version number, 15 digits. A save that finds it taken replaces that file. */
const LAST = 1e15 - 1;
/**
 * A folder that changed within CALM_MS is listed again, up to LISTINGS times: a listing may miss files that another
 * process replaces during it.
 */
const [CALM_MS, LISTINGS] = [50, 3];
/** Listings after which a reader gives up, because each time a listed file was gone before it was opened. */
const ROUNDS = 100;

/** A name as part of a file name, the same where case does not count. @param {string} name @param {RegExp} [plain] */
const encode = (name, plain = /[a-z0-9_-]/) =>
  [...new TextEncoder().encode(name)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return plain.test(character) ? character : `%${byte.toString(16).padStart(2, '0')}`;
    })
    .join('');

/** @param {string} encoded */
function decode(encoded) {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

/** @param {number} version */
const digits = (version) => String(version).padStart(8, '0');

/**
 * The version of a file, if it has exactly a name that the store gives or gave.
 * @param {string} file
 * @param {Set<string>} files that lie beside it
 * @returns {VersionFile[]}
 */
function versionFileOf(file, files) {
  const [, encoded, number] = /^([\w%-]+)\.(\d{8,15})\.(?:trainlet|ckpt)$/.exec(file) ?? [];
  const name = encoded && decode(encoded),
    version = Number(number);
  if (!name) return [];
  if (file === fileOf(name, version)) return [{ name, version, file }];
  const stem = `${encode(name, /[A-Za-z0-9_-]/)}.${digits(version)}`,
    info = `${stem}.json`;
  return file === `${stem}.ckpt` && files.has(info) ? [{ name, version, file, info }] : [];
}

/** The bytes of the version that a file is; or the file, if it is none. @param {Uint8Array<ArrayBuffer>} file */
export async function contentOf(file) {
  if (!isEnvelope(file, MAGIC)) return file;
  const stored = await unwrap(file, MAGIC);
  if (typeof stored === 'string') throw new TrainletError(codeOfFault(stored), `the file ${stored}`);
  return stored.bytes;
}

/** @param {unknown} error */
const codeOf = (error) => /** @type {{ code?: string }} */ (error).code;
/** @param {unknown} error */
const isGone = (error) => codeOf(error) === 'ENOENT';

/** @param {string} name @param {number} version */
const fileOf = (name, version) => `${encode(name)}.${digits(version)}.trainlet`;

const nodeModules = () =>
  Promise.all([nodeModule('fs/promises'), nodeModule('path'), nodeModule('crypto'), nodeModule('os')]);

/** A folder of versions. @implements {Backend<Uint8Array>} */
export class Folder {
  #fs;
  #path;
  #randomBytes;
  /** Its absolute path. */
  #folder;
  /** Tells this machine from others that may share the folder. */
  #host;

  /** @param {string} directory @param {Awaited<ReturnType<typeof nodeModules>>} modules */
  constructor(directory, [fs, path, { createHash, randomBytes }, os]) {
    this.#fs = fs;
    this.#path = path;
    this.#randomBytes = randomBytes;
    this.#folder = path.resolve(directory);
    this.#host = createHash('sha256').update(os.hostname()).digest('hex').slice(0, 8);
  }

  /** Makes the folder if it is not there. @param {string} directory */
  static async open(directory) {
    const folder = new Folder(directory, await nodeModules());
    await folder.#make();
    return folder;
  }

  /** @param {string} name */
  check(name) {
    const { length } = encode(name);
    if (length <= LONGEST_NAME) return;
    throw invalid(
      `the name '${name.slice(0, 20)}…' takes ${length} bytes of a file's name, ` +
        `and may take ${LONGEST_NAME}: a to z, digits, - and _ take one each, every other byte three`,
    );
  }

  /** @param {Uint8Array} bytes @param {Record<string, unknown>} meta */
  pack(bytes, meta) {
    return wrap(bytes, { meta }, MAGIC);
  }

  /** @param {string} name @param {Uint8Array} envelope @param {number} keep */
  async save(name, envelope, keep) {
    await addChecksum(envelope);
    const temporary = this.#temporaryOf(name);
    let version = 0;
    await this.#make(); // whoever removed it meanwhile
    try {
      await this.#write(this.#in(temporary), envelope);
      version = await this.#publish(name, this.#in(temporary), keep);
    } finally {
      await this.#remove(temporary).catch(() => {}); // swept later
    }
    await this.#sync();
    await this.#prune(name, version, keep)
      .then(() => this.#sweep())
      .catch(() => {}); // the save stands whatever happens here
    return version;
  }

  /** @param {string} name */
  async versions(name) {
    return (await this.#lookAtAll(name)).map(({ name: _, ...version }) => version);
  }

  /** @param {string} name @param {Version} version */
  async read(name, { version }) {
    const exact = await this.#tryToRead({ name, version, file: fileOf(name, version) });
    if (exact) return exact;
    const found = (await this.#versionFiles(name)).find((versionFile) => versionFile.version === version);
    return found && (await this.#tryToRead(found)); // in the format before, or gone
  }

  list() {
    return this.#lookAtAll(undefined, (all) => [
      ...new Map(all.map((versionFile) => [versionFile.name, versionFile])).values(),
    ]);
  }

  async total() {
    const sizes = (await this.#versionFiles()).map(({ file }) =>
      this.#fs.stat(this.#in(file)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
    return { count: sizes.length, bytes: (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0) };
  }

  /** @param {string} name */
  async delete(name) {
    for (const { file, info } of await this.#versionFiles(name)) {
      await this.#remove(file);
      if (info) await this.#remove(info);
    }
    await this.#sweep();
    await this.#sync();
  }

  async persist() {
    return true;
  }

  async #make() {
    await this.#fs.mkdir(this.#folder, { recursive: true });
  }

  /** @param {string} file */
  #in(file) {
    return this.#path.join(this.#folder, file);
  }

  /** @param {string} file */
  async #remove(file) {
    await this.#fs.unlink(this.#in(file)).catch((error) => {
      if (!isGone(error)) throw error; // another writer was first
    });
  }

  /** The plain files; a link or a folder is someone else's, whatever its name. */
  async #files() {
    const entries = await this.#fs.readdir(this.#folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  }

  /** The plain files for readers, with those that other processes replaced meanwhile. @returns {Promise<string[]>} */
  async #stableFiles(listings = LISTINGS) {
    const before = await this.#fs.stat(this.#folder);
    const found = await this.#files();
    const { mtimeMs } = await this.#fs.stat(this.#folder);
    const isCalm = mtimeMs === before.mtimeMs && Math.abs(Date.now() - mtimeMs) > CALM_MS;
    return isCalm || listings === 1 ? found : [...new Set([...found, ...(await this.#stableFiles(listings - 1))])];
  }

  /** Oldest first. @param {string} [wanted] @param {() => Promise<string[]>} [list] */
  async #versionFiles(wanted, list = () => this.#files()) {
    const all = await list(),
      set = new Set(all);
    return all
      .flatMap((file) => versionFileOf(file, set))
      .filter(({ name }) => wanted === undefined || name === wanted)
      .sort((a, b) => a.version - b.version);
  }

  /** The meta of a version in the earlier format. @param {string} info */
  async #metaIn(info) {
    try {
      return JSON.parse(await this.#fs.readFile(this.#in(info), 'utf8'));
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
  }

  /** Reads the header of a version's file. @param {string} file */
  async #infoOf(file) {
    const handle = await this.#fs.open(this.#in(file));
    try {
      const { size } = await handle.stat();
      const first = async (/** @type {number} */ length) =>
        (await handle.read(new Uint8Array(length), 0, length, 0)).buffer;
      return size < HEAD ? undefined : infoIn(await first(Math.min(size, bytesAt(await first(HEAD)))), size, MAGIC);
    } finally {
      await handle.close();
    }
  }

  /**
   * A version without its bytes; without meta where it cannot be read; undefined if it is gone.
   * @param {VersionFile} versionFile
   * @returns {Promise<Version | undefined>}
   */
  async #look({ version, file, info }) {
    let found = { version, bytes: 0, savedAt: new Date(0) };
    try {
      const { size, mtime } = await this.#fs.stat(this.#in(file));
      found = { version, bytes: size, savedAt: mtime };
      return { ...found, ...(info ? { meta: await this.#metaIn(info) } : await this.#infoOf(file)) };
    } catch (error) {
      return isGone(error) ? undefined : found;
    }
  }

  /**
   * Versions without their bytes. It lists again until no listed file is gone before it is opened, so that an empty
   * result comes from an empty listing.
   * @param {string} [name]
   * @param {(all: VersionFile[]) => VersionFile[]} [choose]
   * @returns {Promise<Listed[]>}
   */
  async #lookAtAll(name, choose = (all) => all) {
    /** Versions by file. @type {Map<string, Version>} */
    const known = new Map();
    for (let round = 0; round < ROUNDS; round++) {
      const wanted = choose(await this.#versionFiles(name, () => this.#stableFiles()));
      const found = await Promise.all(
        wanted.map(async (versionFile) => known.get(versionFile.file) ?? (await this.#look(versionFile))),
      );
      wanted.forEach(({ file }, i) => found[i] && known.set(file, found[i]));
      const whole = found.flatMap((version, i) => (version ? { name: wanted[i].name, ...version } : []));
      if (whole.length === wanted.length) return whole;
    }
    throw new Error('other processes removed its files as fast as they were listed');
  }

  /** @param {VersionFile} versionFile @returns {Promise<Stored | string>} */
  async #read({ file, info }) {
    const content = await this.#fs.readFile(this.#in(file));
    if (!info) return await unwrap(new Uint8Array(content.buffer, content.byteOffset, content.length), MAGIC);
    const [meta, { mtime }] = await Promise.all([this.#metaIn(info), this.#fs.stat(this.#in(file))]);
    return meta === undefined ? CUT : { bytes: new Uint8Array(content), meta, savedAt: mtime };
  }

  /** Says why not, where the disk fails; undefined: it is gone. @param {VersionFile} versionFile */
  async #tryToRead(versionFile) {
    try {
      return await this.#read(versionFile);
    } catch (error) {
      if (isGone(error)) return undefined;
      if (codeOf(error) === 'EIO') return 'cannot be read';
      throw error;
    }
  }

  /** @param {string} file @param {Uint8Array} [content] none: it is there already */
  async #write(file, content) {
    const handle = await this.#fs.open(file, content ? 'wx' : 'r+');
    try {
      if (content) await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  /** Makes new names durable. Not every system can open a folder or sync one, but a disk that fails is told. */
  async #sync() {
    const handle = await this.#fs.open(this.#folder).catch(() => undefined);
    const failure = await handle?.sync().catch((error) => error);
    await handle?.close();
    if (failure && codeOf(failure) === 'EIO') throw failure;
  }

  /**
   * Gives a file a second name, unless something has it. A file system without links gets a copy, which a kill may cut
   * short: then it is not whole.
   * @param {string} from
   * @param {string} to
   * @returns {Promise<boolean>} whether it was free
   */
  async #give(from, to) {
    try {
      await this.#fs.link(from, to).catch(async (error) => {
        if (codeOf(error) === 'EEXIST') throw error;
        await this.#fs.copyFile(from, to, this.#fs.constants.COPYFILE_EXCL);
        await this.#write(to);
      });
      return true;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    }
  }

  /**
   * Makes a whole temporary a version, among the newest `keep`; of two writers one is first, the other takes a later
   * number. A number that others had passed before it was given is left to `prune`.
   * @param {string} name
   * @param {string} temporary
   * @param {number} keep
   */
  async #publish(name, temporary, keep) {
    for (let least = 1, tries = 0; ; ) {
      const version = Math.max(least, ((await this.#versionFiles(name)).at(-1)?.version ?? 0) + 1);
      if (version > LAST) return await this.#fs.rename(temporary, this.#in(fileOf(name, LAST))).then(() => LAST);
      const file = fileOf(name, version);
      least = version + 1;
      if (!(await this.#give(temporary, this.#in(file)))) continue;
      const kept = (await this.#versionFiles(name)).slice(-keep);
      if (kept.some((versionFile) => versionFile.version === version) || ++tries === OVERTAKEN) return version;
    }
  }

  /**
   * Removes what `superfluous` names, never a version as new as `version`.
   * @param {string} name
   * @param {number} version
   * @param {number} keep
   */
  async #prune(name, version, keep) {
    const versions = [];
    // oldest first, so that whatever makes a version superfluous was there after the look at it
    for (const versionFile of await this.#versionFiles(name)) {
      const seen = await this.#identityOf(versionFile.file);
      versions.unshift({ versionFile, seen, meta: (await this.#look(versionFile))?.meta });
    }
    for (const { versionFile, seen } of superfluous(versions, keep))
      if (versionFile.version < version) await this.#dropSeen(name, versionFile, seen).catch(() => {});
  }

  /** The same as long as a name has the same file. @param {string} file @returns {Promise<string>} '': it is gone */
  #identityOf(file) {
    return this.#fs.stat(this.#in(file)).then(
      ({ ino, size, mtimeMs }) => `${ino} ${size} ${mtimeMs}`,
      () => '',
    );
  }

  /**
   * Removes a version if it is still the one that was seen: after a deletion, other processes use its number again. It
   * gives the file another name first, so that nobody can replace it between the check and the removal.
   * @param {string} name
   * @param {VersionFile} versionFile
   * @param {string} seen
   */
  async #dropSeen(name, { file, info }, seen) {
    if (!seen || (await this.#identityOf(file)) !== seen) return;
    const away = this.#temporaryOf(name);
    await this.#fs.rename(this.#in(file), this.#in(away));
    const isSeen = (await this.#identityOf(away)) === seen;
    if (!isSeen) await this.#give(this.#in(away), this.#in(file));
    await this.#remove(away);
    if (isSeen && info) await this.#remove(info);
  }

  /** A name that no other file has, which is swept when its process is gone. @param {string} name */
  #temporaryOf(name) {
    const unique = this.#randomBytes(8).toString('hex');
    return `${encode(name)}.${this.#host}-${process.pid}-${unique}.trainlet-tmp`;
  }

  /** Removes what killed writers have left. */
  async #sweep() {
    for (const file of await this.#files()) {
      const [, encoded, where, pid] = /^([\w%-]+)\.([0-9a-f]{8})-(\d+)-[0-9a-f]{16}\.trainlet-tmp$/.exec(file) ?? [];
      const name = encoded && decode(encoded);
      if (!name || encode(name) !== encoded) continue;
      const idle = await this.#fs.stat(this.#in(file)).then(
        ({ mtimeMs }) => Date.now() - mtimeMs,
        () => 0,
      );
      if (idle > (where === this.#host && isDead(Number(pid)) ? IDLE_MS : DAY_MS))
        await this.#remove(file).catch(() => {});
    }
  }
}

/** @param {number} pid of a process here */
function isDead(pid) {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return codeOf(error) === 'ESRCH';
  }
}
