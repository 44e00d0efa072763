/** Checkpoints in a folder of Node: a version is one file, whole before it has its name; no other file is touched. */

import { invalid, TrainletError } from '../base/errors.js';
import { nodeModule } from '../base/platform.js';
import { bytesAt, CUT, HEAD, infoIn, isSealed, seal, sumUp, unseal } from './envelope.js';
import { codeOfFault } from './faults.js';
import { superfluous } from './keep.js';

/** @import { Listed, Room, Stored, Version } from './versions.js' */

/**
 * @typedef {{ name: string, version: number, file: string, info?: string }} Place a version's file; in the format
 * before, two
 */

/*
 * NAME.VERSION.trainlet:  sealed (js/storage/envelope.js)
 * The format before:      NAME.VERSION.json with the meta data, then NAME.VERSION.ckpt with the bytes
 */
const MAGIC = new Uint8Array([0x89, 0x54, 0x4c, 0x53, 0x0d, 0x0a, 0x1a, 1]);

/**
 * What a name may take of the 255 bytes of a file name; the rest is for a version, or what makes a temporary unique.
 */
const LONGEST_NAME = 200;
/**
 * A temporary that is not written to for so long was left by a kill, if its process is gone; after a day whatever that
 * is.
 */
const IDLE_MS = 60_000,
  DAY_MS = 24 * 3600 * 1000;

/**
 * How often a save that others overtook takes a newer number. Then it was simply before theirs, which may replace it.
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
 * What a file is to the store: nothing, unless it has exactly the name that the store gives or gave.
 * @param {string} file
 * @param {Set<string>} files that lie beside it
 * @returns {Place[]}
 */
function placeOf(file, files) {
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
  if (!isSealed(file, MAGIC)) return file;
  const stored = await unseal(file, MAGIC);
  if (typeof stored === 'string') throw new TrainletError(codeOfFault(stored), `the file ${stored}`);
  return stored.bytes;
}

/** @param {unknown} error */
const codeOf = (error) => /** @type {{ code?: string }} */ (error).code;
/** @param {unknown} error */
const isGone = (error) => codeOf(error) === 'ENOENT';

/** @param {string} name @param {number} version */
const fileOf = (name, version) => `${encode(name)}.${digits(version)}.trainlet`;

/** @param {string} directory @returns {Promise<Room<Uint8Array>>} */
export async function openFolder(directory) {
  const [fs, path, { createHash, randomBytes }, os] = await Promise.all([
    nodeModule('fs/promises'),
    nodeModule('path'),
    nodeModule('crypto'),
    nodeModule('os'),
  ]);
  const folder = path.resolve(directory);
  const host = createHash('sha256').update(os.hostname()).digest('hex').slice(0, 8);
  await fs.mkdir(folder, { recursive: true });

  const inFolder = (/** @type {string} */ file) => path.join(folder, file);
  const remove = (/** @type {string} */ file) =>
    fs.unlink(inFolder(file)).catch((error) => {
      if (!isGone(error)) throw error; // another writer was first
    });

  /** The plain files; a link or a folder is someone else's, whatever its name. */
  async function files() {
    const entries = await fs.readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  }

  /** The plain files for readers, with those that other processes replaced meanwhile. @returns {Promise<string[]>} */
  async function settledFiles(listings = LISTINGS) {
    const before = await fs.stat(folder);
    const found = await files();
    const { mtimeMs } = await fs.stat(folder);
    const isCalm = mtimeMs === before.mtimeMs && Math.abs(Date.now() - mtimeMs) > CALM_MS;
    return isCalm || listings === 1 ? found : [...new Set([...found, ...(await settledFiles(listings - 1))])];
  }

  /** Oldest first. @param {string} [wanted] @param {() => Promise<string[]>} [list] */
  async function places(wanted, list = files) {
    const all = await list(),
      set = new Set(all);
    return all
      .flatMap((file) => placeOf(file, set))
      .filter(({ name }) => wanted === undefined || name === wanted)
      .sort((a, b) => a.version - b.version);
  }

  /** Of a version in the format before. @param {string} info */
  async function metaIn(info) {
    try {
      return JSON.parse(await fs.readFile(inFolder(info), 'utf8'));
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
  }

  /** What a version's file says before its bytes. @param {string} file */
  async function infoOf(file) {
    const handle = await fs.open(inFolder(file));
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
   * @param {Place} place
   * @returns {Promise<Version | undefined>}
   */
  async function look({ version, file, info }) {
    let found = { version, bytes: 0, savedAt: new Date(0) };
    try {
      const { size, mtime } = await fs.stat(inFolder(file));
      found = { version, bytes: size, savedAt: mtime };
      return { ...found, ...(info ? { meta: await metaIn(info) } : await infoOf(file)) };
    } catch (error) {
      return isGone(error) ? undefined : found;
    }
  }

  /**
   * Versions without their bytes. It lists again until no listed file is gone before it is opened, so that an empty
   * result comes from an empty listing.
   * @param {string} [name]
   * @param {(all: Place[]) => Place[]} [choose]
   * @returns {Promise<Listed[]>}
   */
  async function lookAtAll(name, choose = (all) => all) {
    /** Versions by file. @type {Map<string, Version>} */
    const known = new Map();
    for (let round = 0; round < ROUNDS; round++) {
      const wanted = choose(await places(name, settledFiles));
      const found = await Promise.all(wanted.map(async (place) => known.get(place.file) ?? (await look(place))));
      wanted.forEach(({ file }, i) => found[i] && known.set(file, found[i]));
      const whole = found.flatMap((version, i) => (version ? { name: wanted[i].name, ...version } : []));
      if (whole.length === wanted.length) return whole;
    }
    throw new Error('other processes removed its files as fast as they were listed');
  }

  /** @param {Place} place @returns {Promise<Stored | string>} */
  async function read({ file, info }) {
    const content = await fs.readFile(inFolder(file));
    if (!info) return await unseal(new Uint8Array(content.buffer, content.byteOffset, content.length), MAGIC);
    const [meta, { mtime }] = await Promise.all([metaIn(info), fs.stat(inFolder(file))]);
    return meta === undefined ? CUT : { bytes: new Uint8Array(content), meta, savedAt: mtime };
  }

  /** @param {string} file @param {Uint8Array} [content] none: it is there already */
  async function write(file, content) {
    const handle = await fs.open(file, content ? 'wx' : 'r+');
    try {
      if (content) await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  /** Makes new names durable. Not every system can open a folder or sync one, but a disk that fails is told. */
  async function syncFolder() {
    const handle = await fs.open(folder).catch(() => undefined);
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
  async function give(from, to) {
    try {
      await fs.link(from, to).catch(async (error) => {
        if (codeOf(error) === 'EEXIST') throw error;
        await fs.copyFile(from, to, fs.constants.COPYFILE_EXCL);
        await write(to);
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
  async function publish(name, temporary, keep) {
    for (let least = 1, tries = 0; ; ) {
      const version = Math.max(least, ((await places(name)).at(-1)?.version ?? 0) + 1);
      if (version > LAST) return await fs.rename(temporary, inFolder(fileOf(name, LAST))).then(() => LAST);
      const file = fileOf(name, version);
      least = version + 1;
      if (!(await give(temporary, inFolder(file)))) continue;
      const kept = (await places(name)).slice(-keep);
      if (kept.some((place) => place.version === version) || ++tries === OVERTAKEN) return version;
    }
  }

  /**
   * Removes what `superfluous` names, never a version as new as `version`.
   * @param {string} name
   * @param {number} version
   * @param {number} keep
   */
  async function prune(name, version, keep) {
    const versions = [];
    // oldest first, so that whatever makes a version superfluous was there after the look at it
    for (const place of await places(name)) {
      const seen = await identityOf(place.file);
      versions.unshift({ place, seen, meta: (await look(place))?.meta });
    }
    for (const { place, seen } of superfluous(versions, keep))
      if (place.version < version) await dropSeen(name, place, seen).catch(() => {});
  }

  /** The same as long as a name has the same file. @param {string} file @returns {Promise<string>} '': it is gone */
  const identityOf = (file) =>
    fs.stat(inFolder(file)).then(
      ({ ino, size, mtimeMs }) => `${ino} ${size} ${mtimeMs}`,
      () => '',
    );

  /**
   * Removes a version if it is still the one that was seen: after a deletion, other processes use its number again. It
   * gives the file another name first, so that nobody can replace it between the check and the removal.
   * @param {string} name
   * @param {Place} place
   * @param {string} seen
   */
  async function dropSeen(name, { file, info }, seen) {
    if (!seen || (await identityOf(file)) !== seen) return;
    const away = temporaryOf(name);
    await fs.rename(inFolder(file), inFolder(away));
    const isSeen = (await identityOf(away)) === seen;
    if (!isSeen) await give(inFolder(away), inFolder(file));
    await remove(away);
    if (isSeen && info) await remove(info);
  }

  /** A name that no other file has, which is swept when its process is gone. @param {string} name */
  const temporaryOf = (name) => `${encode(name)}.${host}-${process.pid}-${randomBytes(8).toString('hex')}.trainlet-tmp`;

  /** Removes what killed writers have left. */
  async function sweep() {
    for (const file of await files()) {
      const [, encoded, where, pid] = /^([\w%-]+)\.([0-9a-f]{8})-(\d+)-[0-9a-f]{16}\.trainlet-tmp$/.exec(file) ?? [];
      const name = encoded && decode(encoded);
      if (!name || encode(name) !== encoded) continue;
      const idle = await fs.stat(inFolder(file)).then(
        ({ mtimeMs }) => Date.now() - mtimeMs,
        () => 0,
      );
      if (idle > (where === host && isDead(Number(pid)) ? IDLE_MS : DAY_MS)) await remove(file).catch(() => {});
    }
  }

  return {
    check(name) {
      const { length } = encode(name);
      if (length <= LONGEST_NAME) return;
      throw invalid(
        `the name '${name.slice(0, 20)}…' takes ${length} bytes of a file's name, ` +
          `and may take ${LONGEST_NAME}: a to z, digits, - and _ take one each, every other byte three`,
      );
    },
    pack: (bytes, meta) => seal(bytes, { meta }, MAGIC),
    async save(name, sealed, keep) {
      await sumUp(sealed);
      const temporary = temporaryOf(name);
      let version = 0;
      await fs.mkdir(folder, { recursive: true }); // whoever removed it meanwhile
      try {
        await write(inFolder(temporary), sealed);
        version = await publish(name, inFolder(temporary), keep);
      } finally {
        await remove(temporary).catch(() => {}); // swept later
      }
      await syncFolder();
      await prune(name, version, keep)
        .then(sweep)
        .catch(() => {}); // what is saved is saved
      return version;
    },
    versions: async (name) => (await lookAtAll(name)).map(({ name: _, ...version }) => version),
    async read(name, { version }) {
      const told = (/** @type {unknown} */ error) => {
        if (isGone(error)) return undefined;
        if (codeOf(error) === 'EIO') return 'cannot be read';
        throw error;
      };
      const own = await read({ name, version, file: fileOf(name, version) }).catch(told);
      if (own) return own;
      const place = (await places(name)).find((found) => found.version === version); // in the format before, or gone
      return place && (await read(place).catch(told));
    },
    list: () => lookAtAll(undefined, (all) => [...new Map(all.map((place) => [place.name, place])).values()]),
    async total() {
      const sizes = (await places()).map(({ file }) =>
        fs.stat(inFolder(file)).then(
          ({ size }) => size,
          () => 0,
        ),
      );
      return { count: sizes.length, bytes: (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0) };
    },
    async delete(name) {
      for (const { file, info } of await places(name)) {
        await remove(file);
        if (info) await remove(info);
      }
      await sweep();
      await syncFolder();
    },
    persist: async () => true,
  };
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
