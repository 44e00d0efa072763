// Files that are dropped or chosen: those of folders too, each with its path, and what kind each is.

import { HEAD_BYTES, kindOf } from './kinds.js';

/** @typedef {{ file: File, path: string }} Dropped path: folders and name, with slashes */
/** @typedef {Dropped & import('./kinds.js').Recognized} Sorted */

/** Files of an input element. @param {HTMLInputElement} input @returns {Dropped[]} */
export const chosenIn = (input) =>
  [...(input.files ?? [])].map((file) => ({ file, path: file.webkitRelativePath || file.name }));

/**
 * Files of a drop; its items must be read before the event ends.
 * @param {DataTransfer} transfer @returns {Promise<Dropped[]>}
 */
export async function droppedIn(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => ({ file, path: file.name }));
  return (await Promise.all(entries.map((entry) => filesIn(/** @type {any} */ (entry), '')))).flat();
}

/** @param {any} entry a file or folder of the file system @param {string} before path @returns {Promise<Dropped[]>} */
async function filesIn(entry, before) {
  const path = before + entry.name;
  if (entry.isFile) return [{ file: await new Promise((resolve, reject) => entry.file(resolve, reject)), path }];
  const reader = entry.createReader();
  const inside = [];
  for (;;) {
    const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // a hundred at most
    if (!part.length) break;
    inside.push(...part);
  }
  return (await Promise.all(inside.map((one) => filesIn(one, `${path}/`)))).flat();
}

/**
 * Files that systems put into folders are left out.
 * @param {readonly Dropped[]} dropped @returns {Promise<Sorted[]>}
 */
export async function sorted(dropped) {
  const kept = dropped.filter(({ path }) => !/(^|\/)(\.[^/]*|__MACOSX\/.*|Thumbs\.db|desktop\.ini)$/.test(path));
  const kinds = await Promise.all(
    kept.map(async ({ file }) => kindOf(file.name, new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer()))),
  );
  return kept.map((one, i) => ({ ...one, ...kinds[i] })).sort((a, b) => a.path.localeCompare(b.path, 'en'));
}
