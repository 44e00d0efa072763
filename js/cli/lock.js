/** One training of a checkpoint at a time: a file there names the process, and is void when that process is gone. */

import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { TrainletError } from '../base/errors.js';
import { look, ownForNow, removeLeft, writeWhole } from './files.js';

const LONGEST = 1000;

/**
 * @template T
 * @param {string} place where it trains
 * @param {string} checkpoint the file that it writes
 * @param {boolean} force whether to go on although another process seems to train there
 * @param {() => Promise<T>} work
 */
export async function withLock(place, checkpoint, force, work) {
  const file = `${checkpoint}.lock`;
  const bytes = new TextEncoder().encode(JSON.stringify({ process: process.pid, host: hostname() }));
  if (force) await rm(file, { force: true });
  else await removeVoid(file);
  await writeWhole([{ file, bytes }]).catch(async (error) => {
    throw (await look(file)) ? taken(place, file, await holderOf(file)) : error;
  });
  const unlock = ownForNow(file);
  try {
    return await work();
  } finally {
    await unlock();
  }
}

/** @typedef {{ process?: unknown, host?: unknown } | undefined} Holder */

/** @param {string} place @param {string} file @param {Holder} holder */
function taken(place, file, holder) {
  const who = holder ? `process ${holder.process} of ${holder.host}` : 'another process';
  return new TrainletError(
    'store-failed',
    `${who} is training in ${place}; if that has ended, remove ${file} or give --force`,
  );
}

/** @param {string} file @returns {Promise<Holder>} */
async function holderOf(file) {
  try {
    const found = await look(file);
    if (!found?.isFile() || found.size > LONGEST) return undefined;
    const holder = JSON.parse(await readFile(file, 'utf8'));
    return holder === null || typeof holder !== 'object' ? undefined : holder;
  } catch {
    return undefined; // gone meanwhile, or not ours
  }
}

/** True if the holder was a process of this machine that has ended. @param {Holder} holder */
function isGone(holder) {
  const { process: id, host } = holder ?? {};
  if (host !== hostname() || !Number.isSafeInteger(id)) return false;
  try {
    process.kill(Number(id), 0);
    return false;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'ESRCH';
  }
}

/**
 * Takes a void lock away, and what its process left; if another process made its own just now, that one is put back.
 * @param {string} file
 */
async function removeVoid(file) {
  const holder = await holderOf(file);
  if (!isGone(holder)) return;
  const away = `${file}.${randomUUID()}`;
  await rename(file, away).catch(() => {}); // gone already
  if (!isGone(await holderOf(away))) await link(away, file).catch(() => {});
  await rm(away, { force: true });
  await removeLeft(path.dirname(file), Number(holder?.process));
}
