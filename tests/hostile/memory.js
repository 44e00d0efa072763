// A disk and a room of a store that are memory, so that a reader alone takes the time of an execution.
import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const FOLDER = '/trainlet-in-memory/';

/**
 * From here on a file of that folder has the bytes that were put last, whatever its name.
 * @returns {{ put: (bytes: Uint8Array) => void, place: (name: string) => string }}
 */
export function memoryDisk() {
  const { open } = fs;
  let bytes = new Uint8Array();
  const file = {
    stat: async () => ({ isFile: () => true, size: bytes.length }),
    read: async (into) => {
      into.set(bytes);
      return { bytesRead: bytes.length };
    },
    close: async () => {},
  };
  const isHere = (place) => place instanceof URL && place.pathname.startsWith(FOLDER);
  fs.open = async (place, ...more) => (isHere(place) ? file : open(place, ...more));
  syncBuiltinESMExports();
  return {
    put(content) {
      bytes = content;
    },
    place: (name) => `${FOLDER}${name}`,
  };
}

/**
 * A room as js/storage/versions.js describes it, with one version of each name.
 * @param {[string, { bytes: Uint8Array, meta: unknown }][]} [held]
 */
export function memoryRoom(held = []) {
  const savedAt = new Date(0);
  const all = new Map(held);
  const versionsOf = (name) =>
    all.has(name) ? [{ version: 1, bytes: all.get(name).bytes.length, savedAt, meta: all.get(name).meta }] : [];
  return {
    pack: (bytes, meta) => ({ bytes: bytes.slice(), meta: structuredClone(meta) }),
    save: async (name, packed) => {
      all.set(name, packed);
      return 1;
    },
    versions: async (name) => versionsOf(name),
    read: async (name) => all.has(name) && { savedAt, ...all.get(name) },
    list: async () => [...all.keys()].flatMap((name) => versionsOf(name).map((version) => ({ name, ...version }))),
    total: async () => ({
      count: all.size,
      bytes: [...all.values()].reduce((sum, { bytes }) => sum + bytes.length, 0),
    }),
    delete: async (name) => all.delete(name),
    persist: async () => true,
  };
}

/** SHA-256 at once, which takes a sixth of the time that crypto.subtle needs for a small file. */
export function digestAtOnce() {
  crypto.subtle.digest = async (_, bytes) => createHash('sha256').update(bytes).digest();
}
