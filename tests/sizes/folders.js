// In which folder of the sources a C function stands, as far as its name tells.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { root } from '../../tools/programs.mjs';

/** A definition or declaration begins in the first column. */
const NAMED = /^\w[\w \t*]*?\b(\w+)\(/gm;
/** Suffix of wasm-opt for a name it has met before. */
const AGAIN = /(_\d+)+$/;

/** @returns {(name: string) => string} */
export function readFolders() {
  const folders = new Map();
  for (const file of sources()) {
    const folder = relative(root, dirname(file));
    for (const [, name] of readFileSync(file, 'utf8').matchAll(NAMED))
      folders.set(name, folders.has(name) && folders.get(name) !== folder ? 'several folders' : folder);
  }
  return (name) => {
    if (name.startsWith('abi_')) return 'wasm';
    return folders.get(name) ?? folders.get(name.replace(AGAIN, '')) ?? 'made by macros';
  };
}

const sources = () =>
  ['src', 'wasm'].flatMap((top) =>
    readdirSync(join(root, top), { recursive: true, withFileTypes: true })
      .filter(({ name }) => /\.[ch]$/.test(name))
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name)),
  );
