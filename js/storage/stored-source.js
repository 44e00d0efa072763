/** Checkpoints as sources: 'indexeddb:NAME' is the newest version of that name in IndexedDB. */

import { checkWhole, invalid } from '../base/errors.js';
import { openVersions } from './versions.js';

/**
 * Reads the name in a source. A text that ends in no `?database=…` or `?version=…` is a name as it is, percent signs
 * included.
 * @param {string} source
 * @returns {{ name: string, database?: string, version?: number }}
 */
function storedAt(source) {
  const text = source.slice('indexeddb:'.length);
  const [query, asked] = /\?((?:(?:database|version)=[^&?]*(?:&|$))+)$/.exec(text) ?? [];
  if (!query) return { name: text };
  try {
    const { database, version } = Object.fromEntries(new URLSearchParams(asked));
    const name = decodeURIComponent(text.slice(0, -query.length));
    if (version !== undefined) checkWhole(`the version in '${source}'`, Number(version || NaN), 1);
    return { name, database, version: version === undefined ? undefined : Number(version) };
  } catch (error) {
    if (error instanceof URIError) throw invalid(`'${source}': its name is not percent-encoded, as %3F for ?`);
    throw error;
  }
}

/**
 * The bytes of a checkpoint's newest version, or of the one named, in a buffer of their own.
 * @param {string} source like 'indexeddb:NAME', or 'indexeddb:NAME?database=DATABASE&version=VERSION'
 */
export async function readStored(source) {
  const { name, database, version } = storedAt(source);
  const found = await (await openVersions({ database })).load(name, { version });
  if (!found) throw new Error(`the store has no ${version ? `version ${version} of ` : ''}checkpoint '${name}'`);
  return new Uint8Array(found.bytes);
}
