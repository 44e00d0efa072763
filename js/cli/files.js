/**
 * The files of a training directory, named as ONNX Runtime names them, and how whatever the command line writes is
 * written.
 */

import { randomUUID } from 'node:crypto';
import { lstatSync, renameSync, rmSync } from 'node:fs';
import { link, lstat, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { sentenceOf, TrainletError } from '../base/errors.js';
import { readFile, reasonOf } from '../sources/file.js';
import { UsageError } from './run-main.js';

/** @import { BigIntStats } from 'node:fs' */
/** @import { Artifacts, ArtifactSources, CheckpointStore, CompactSource } from '../types.js' */
/** @typedef {{ file: string, bytes: Uint8Array }} Written */

const FILES = /** @type {const} */ ({
  trainModel: 'training_model.onnx',
  evalModel: 'eval_model.onnx',
  optimizerModel: 'optimizer_model.onnx',
  checkpointState: 'checkpoint',
});

/** The paths to which the artifacts of a directory are written. @param {string} directory */
export function artifactsIn(directory) {
  const { trainModel, evalModel, optimizerModel, checkpointState } = FILES;
  const file = (/** @type {string} */ name) => path.join(directory, name);
  return {
    trainModel: file(trainModel),
    evalModel: file(evalModel),
    optimizerModel: file(optimizerModel),
    checkpointState: file(checkpointState),
  };
}

/** The models of a directory in ONNX Runtime's own format. @param {string} directory */
export function ortFilesIn(directory) {
  const { checkpointState: _, ...models } = artifactsIn(directory);
  return Object.fromEntries(Object.entries(models).map(([key, file]) => [key, file.replace(/onnx$/, 'ort')]));
}

/**
 * Files that a model keeps data in, by their location as the model sees it: relative to itself.
 * @param {string} model
 * @param {string[]} [files]
 */
export function externalDataOf(model, files = []) {
  const location = (/** @type {string} */ file) => path.relative(path.dirname(model), file).replaceAll(path.sep, '/');
  return Object.fromEntries(files.map((file) => [location(file), pathToFileURL(file)]));
}

/** The bytes of a file, if it is one that ends. @param {string} file */
export async function readData(file) {
  return await readFile(pathToFileURL(file)).catch((error) => {
    throw new TrainletError('source-unreadable', `${file} could not be read: ${sentenceOf(error)}`, { cause: error });
  });
}

/** True for the first bytes of a compact file (src/compact/compact.h). @param {Uint8Array} bytes */
export const isCompact = (bytes) => Buffer.from(bytes.subarray(0, 5)).equals(Buffer.from('\rTLCP'));

/** @param {string} place */
export async function isDirectory(place) {
  const found = await stat(place).catch((error) => {
    throw new TrainletError('source-unreadable', `${place} could not be read: ${reasonOf(error)}`, { cause: error });
  });
  return found.isDirectory();
}

/**
 * The artifacts in a directory, as sources: the models in ONNX, or in ONNX Runtime's own format if the training model
 * is in no other.
 * @param {string} directory
 */
export async function artifactsAt(directory) {
  const onnx = artifactsIn(directory);
  const ort = { ...onnx, ...ortFilesIn(directory) };
  const found = !(await look(onnx.trainModel)) && (await look(ort.trainModel)) ? ort : onnx;
  for (const file of Object.values(found)) {
    if (await look(file)) continue;
    const why = `${directory} has no ${path.basename(file)}: a directory to train in is made by trainlet artifacts`;
    throw new TrainletError('source-unreadable', why);
  }
  return found;
}

/**
 * @typedef {object} Training
 * @property {ArtifactSources | CompactSource} artifacts
 * @property {string} checkpoint the file that has what was trained last
 * @property {Uint8Array} [compact] bytes of a compact file, whose checkpoint stands beside it after the first save
 */

/**
 * The training in a directory or compact file; undefined for any other file.
 * @param {string} place
 * @returns {Promise<Training | undefined>}
 */
export async function trainingAt(place) {
  if (await isDirectory(place)) {
    const artifacts = await artifactsAt(place);
    return { artifacts, checkpoint: artifacts.checkpointState };
  }
  const [bytes, checkpoint] = [await readData(place), checkpointBeside(place)];
  if (!isCompact(bytes)) return undefined;
  const later = (await look(checkpoint)) && { checkpointState: checkpoint };
  return { artifacts: { compact: bytes, ...later }, checkpoint, compact: bytes };
}

/** The checkpoint beside a compact file. @param {string} file */
export const checkpointBeside = (file) => `${file}.checkpoint`;

/** The same where there must be something to train. @param {string} place */
export async function neededTraining(place) {
  const training = await trainingAt(place);
  if (training) return training;
  throw new UsageError(`${place} is neither a training directory nor a compact file, as trainlet artifacts makes them`);
}

// ── Writing: into a temporary beside the file, with a name that nobody could have taken before; synced; then put in
// its place ──

/**
 * Temporary files of this process: they are removed when it ends, unless it is killed.
 * @type {Set<string>}
 */
const temporaries = new Set();
process.on('exit', () => {
  for (const file of temporaries) rmSync(file, { force: true });
});

/** The prefix of a process' temporary files. @param {number} id */
const temporaryOf = (id) => `.trainlet-${id}-`;

/** Removes what a process that was killed has left in a folder. @param {string} folder @param {number} id */
export async function removeLeft(folder, id) {
  const left = (await readdir(folder)).filter((name) => name.startsWith(temporaryOf(id)));
  for (const name of left) await rm(path.join(folder, name), { force: true });
}

/** A file that is removed with this process, and by `forget`. @param {string} file */
export function ownForNow(file) {
  temporaries.add(file);
  return async function forget() {
    await rm(file, { force: true });
    temporaries.delete(file);
  };
}

/** @param {string} message @param {unknown} [cause] */
const failed = (message, cause) => new TrainletError('store-failed', message, { cause });

/** @param {string} file */
const isThere = (file) => failed(`${file} is there already; --force overwrites it`);

/**
 * The metadata of a file, or undefined if there is none.
 * @param {string} file
 * @returns {Promise<BigIntStats | undefined>}
 */
export async function look(file) {
  return await lstat(file, { bigint: true }).catch((error) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

/**
 * Refuses places at which nothing may be written: what is there already, and what is no file at all.
 * @param {string[]} files
 * @param {boolean} overwrite
 */
export async function checkPlaces(files, overwrite) {
  for (const file of files) {
    const found = await look(file);
    if (found && !found.isFile()) throw failed(`${file} is not a regular file, so nothing is written in its place`);
    if (found && !overwrite) throw isThere(file);
  }
}

/**
 * All files or none, unless the process is killed in between: then each is the old one or the new.
 * @param {Written[]} files
 * @param {{ overwrite?: boolean, allow?: () => void }} [options] `allow` is asked when all is ready to be put in place,
 * with nothing in between
 * @returns what is known of each as it was written
 */
export async function writeWhole(files, { overwrite = false, allow } = {}) {
  const staged = files.map(({ file, bytes }) => ({
    file,
    bytes,
    temporary: path.join(path.dirname(file), `${temporaryOf(process.pid)}${randomUUID()}.tmp`),
  }));
  const forget = staged.map(({ temporary }) => ownForNow(temporary));
  try {
    await checkPlaces(
      files.map(({ file }) => file),
      overwrite,
    );
    /** @type {BigIntStats[]} */
    const written = [];
    for (const { file, bytes, temporary } of staged)
      written.push(await guard(file, () => stage(file, bytes, temporary)));
    allow?.();
    if (overwrite) for (const { file, temporary } of staged) await guard(file, async () => renameSync(temporary, file));
    else await putAnew(staged);
    for (const folder of new Set(files.map(({ file }) => path.dirname(file)))) await syncFolder(folder);
    return written;
  } finally {
    for (const end of forget) await end();
  }
}

/** @template T @param {string} file @param {() => Promise<T>} work */
async function guard(file, work) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TrainletError) throw error;
    throw failed(`${file} could not be written: ${sentenceOf(error)}`, error);
  }
}

/** @param {string} file whose mode is kept @param {Uint8Array} bytes @param {string} temporary */
async function stage(file, bytes, temporary) {
  const old = await look(file);
  const handle = await open(temporary, 'wx');
  try {
    if (old) await handle.chmod(Number(old.mode & 0o777n));
    await handle.writeFile(bytes);
    await handle.sync();
    return await handle.stat({ bigint: true });
  } finally {
    await handle.close();
  }
}

/**
 * In places where nothing is: what came there meanwhile stays.
 * @param {{ file: string, temporary: string }[]} staged
 */
async function putAnew(staged) {
  /** @type {string[]} */
  const put = [];
  try {
    for (const { file, temporary } of staged) {
      await guard(file, () => putExclusively(temporary, file));
      put.push(file);
    }
  } catch (error) {
    for (const file of put) await rm(file, { force: true });
    throw error;
  }
}

/** @param {string} temporary @param {string} file */
async function putExclusively(temporary, file) {
  try {
    await link(temporary, file);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') throw isThere(file);
    await (await open(file, 'wx')).close(); // not every file system has links: the name first, then what it stands for
    await rename(temporary, file).catch(async (reason) => {
      await rm(file, { force: true });
      throw reason;
    });
  }
}

/** Makes new names durable; not every system can open a folder. @param {string} folder */
async function syncFolder(folder) {
  const handle = await open(folder).catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

// ── A training directory ──

/**
 * @param {string} directory
 * @param {Artifacts} artifacts
 * @param {boolean} overwrite
 * @param {Artifacts} [inOrtFormat] the same models, to go beside
 */
export async function writeArtifacts(directory, artifacts, overwrite, inOrtFormat) {
  await mkdir(directory, { recursive: true });
  const filesOf = (/** @type {Artifacts} */ from, /** @type {Record<string, string>} */ places) =>
    Object.entries(places).map(([key, file]) => ({ file, bytes: from[/** @type {keyof typeof FILES} */ (key)] }));
  const beside = inOrtFormat ? filesOf(inOrtFormat, ortFilesIn(directory)) : [];
  await writeWhole([...beside, ...filesOf(artifacts, artifactsIn(directory))], { overwrite });
  if (!inOrtFormat) for (const old of Object.values(ortFilesIn(directory))) await rm(old, { force: true });
}

/**
 * The file of a checkpoint as fit's store. It writes over the file that is there now, and over its own: never over
 * what another process has put there since.
 * @param {string} file
 */
export async function checkpointIn(file) {
  await checkPlaces([file], true);
  let known = await look(file);
  const isLike = (/** @type {BigIntStats} */ now) => now.mtimeNs === known?.mtimeNs && now.size === known?.size;
  const allow = () => {
    const now = lstatSync(file, { bigint: true, throwIfNoEntry: false });
    if (now && !(now.ino === known?.ino && isLike(now)))
      throw failed(`${file} was changed by another process while this one trained; it was left as it is`);
  };
  const save = async (/** @type {string} */ _name, /** @type {Uint8Array} */ bytes) => {
    [known] = await writeWhole([{ file, bytes }], { overwrite: true, allow });
    const now = await look(file);
    if (now && isLike(now)) known = now; /* not every file system keeps a file's number when it is renamed */
  };
  return { store: /** @type {CheckpointStore} */ (/** @type {unknown} */ ({ save })), name: 'checkpoint' };
}
