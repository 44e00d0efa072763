/** Files of Node, as sources. */

import { checkSignal } from '../base/errors.js';
import { nodeModule } from '../base/platform.js';
import { contentOf } from '../storage/folder.js';
import { checkLength } from './length.js';

const READ_AT_ONCE = 1 << 24;

/** @type {Record<string, string>} */
const REASONS = {
  ENOENT: 'there is no such file',
  EACCES: 'it may not be read',
  ENOTDIR: 'there is no such directory',
};

/** Why the system does not open a file. @param {NodeJS.ErrnoException} error */
export const reasonOf = ({ code = '', message, path }) => (REASONS[code] ? `${REASONS[code]}, ${path}` : message);

/**
 * A file of Node, if it is one that ends: as many bytes as it has when it is opened, which does not wait for a pipe's
 * other end.
 * @param {URL} url
 * @param {AbortSignal} [signal]
 */
export async function readFile(url, signal) {
  const { constants, open } = await nodeModule('fs/promises');
  const file = await open(url, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error) => {
    throw new Error(reasonOf(error), { cause: error });
  });
  try {
    const found = await file.stat();
    if (!found.isFile())
      throw new Error(`it is ${found.isDirectory() ? 'a directory' : 'a device or a pipe'}, not a file`);
    checkLength(found.size);
    const bytes = new Uint8Array(found.size);
    for (let at = 0; at < bytes.length; ) {
      checkSignal(signal);
      const { bytesRead } = await file.read(bytes, at, Math.min(READ_AT_ONCE, bytes.length - at));
      if (!bytesRead) throw new Error('it became shorter while it was read');
      at += bytesRead;
    }
    return bytes;
  } finally {
    await file.close();
  }
}

/**
 * Files beside a model in which it keeps data: it names them, and their names begin with its own (model.onnx.data).
 * They lie in the same folder once links are followed, as in the Hub's cache.
 * @param {URL} url @param {Uint8Array} model
 */
async function dataBeside(url, model) {
  const [{ readdir, realpath }, { dirname }] = await Promise.all([nodeModule('fs/promises'), nodeModule('path')]);
  const base = decodeURIComponent(url.pathname.slice(url.pathname.lastIndexOf('/') + 1));
  const folder = dirname(await realpath(url));
  const beside = /** @type {Record<string, URL>} */ ({});
  for (const name of await readdir(new URL('.', url))) {
    if (name.length <= base.length || !name.startsWith(base) || !Buffer.from(model.buffer).includes(name)) continue;
    const place = new URL(encodeURIComponent(name), url);
    if (dirname(await realpath(place)) === folder) beside[name] = place;
  }
  return beside;
}

/**
 * Reads a file, which may be a version of a checkpoint in a folder; for a model also finds its external data.
 * @param {URL} url
 * @param {AbortSignal} [signal]
 */
export async function fileOf(url, signal) {
  const bytes = await contentOf(await readFile(url, signal));
  return url.pathname.endsWith('.onnx') ? Object.assign(bytes, { beside: await dataBeside(url, bytes) }) : bytes;
}
