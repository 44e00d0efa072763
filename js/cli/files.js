/** The files of a training directory, named as ONNX Runtime names them, written so that a kill leaves the old or the new. */

import { mkdir, open, readFile, rename, stat } from 'node:fs/promises';
import path from 'node:path';

/** @import { Artifacts, CheckpointStore, TrainingSession } from '../types.js' */

const FILES = /** @type {const} */ ({
  trainModel: 'training_model.onnx', evalModel: 'eval_model.onnx', optimizerModel: 'optimizer_model.onnx', checkpointState: 'checkpoint',
});

/** The artifacts of a directory, as sources. @param {string} directory */
export function artifactsIn(directory) {
  const { trainModel, evalModel, optimizerModel, checkpointState } = FILES;
  const file = (/** @type {string} */ name) => path.join(directory, name);
  return {
    trainModel: file(trainModel), evalModel: file(evalModel), optimizerModel: file(optimizerModel), checkpointState: file(checkpointState),
  };
}

/** Files that a model keeps data in, by their location as the model sees it: relative to itself. @param {string} model @param {string[]} [files] */
export async function externalDataOf(model, files = []) {
  const location = (/** @type {string} */ file) => path.relative(path.dirname(model), file).replaceAll(path.sep, '/');
  return Object.fromEntries(await Promise.all(files.map(async (file) => [location(file), await readFile(file)])));
}

/** @param {string} directory @param {Artifacts} artifacts */
export async function writeArtifacts(directory, artifacts) {
  await mkdir(directory, { recursive: true });
  for (const key of /** @type {(keyof typeof FILES)[]} */ (Object.keys(FILES))) {
    await writeWhole(path.join(directory, FILES[key]), artifacts[key]);
  }
}

/** @param {string} file @param {Uint8Array} bytes */
export async function writeWhole(file, bytes) {
  const temporary = `${file}.${process.pid}.tmp`;
  const handle = await open(temporary, 'w');
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
}

/** @param {string} directory @param {TrainingSession} session @param {'ort' | 'trainlet'} format */
export async function writeCheckpoint(directory, session, format) {
  await writeWhole(path.join(directory, FILES.checkpointState), await session.saveCheckpoint({ format }));
}

/** The checkpoint of a directory as fit's store. @param {string} directory */
export function checkpointIn(directory) {
  const file = path.join(directory, FILES.checkpointState);
  const save = (/** @type {string} */ _name, /** @type {Uint8Array} */ bytes) => writeWhole(file, bytes);
  return { store: /** @type {CheckpointStore} */ (/** @type {unknown} */ ({ save })), name: FILES.checkpointState };
}

/** @param {string} place */
export const isDirectory = async (place) => (await stat(place)).isDirectory();
