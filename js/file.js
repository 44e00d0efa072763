/** Files of Node, as sources. */

import { checkSignal } from './errors.js';
import { contentOf } from './folder.js';
import { nodeModule } from './platform.js';
import { checkLength } from './source.js';

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

/** What a source has in it, be it a version of a checkpoint in a folder. @param {URL} url @param {AbortSignal} [signal] */
export const fileOf = async (url, signal) => await contentOf(await readFile(url, signal));
