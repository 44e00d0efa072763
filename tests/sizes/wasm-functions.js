// Bytes of code of each function of a wasm file, by the names that its build tree keeps.

import { Reader, SECTION, sectionsOf } from '../../js/cli/shrink/wasm-file.js';
import { readFolders } from './folders.js';

const FUNCTION_NAMES = 1;
/** Smaller ones are counted by folder: a table of all of them would change with every commit. */
const LISTED_BYTES = 2048;
const REST = `functions below ${LISTED_BYTES} bytes`;

/** @param {Uint8Array} bytes of a file with names @returns {Record<string, number>} */
export function functionSizes(bytes) {
  const sections = sectionsOf(bytes);
  const code = sections.find(({ id }) => id === SECTION.code);
  const reader = new Reader(bytes, code.start, code.end);
  const sizes = reader.list(() => {
    const size = reader.count();
    reader.skip(size);
    return size;
  });
  return summed(namesIn(bytes, sections), sizes);
}

/** Names, imports first. */
function namesIn(bytes, sections) {
  const { start, end } = sections.find(({ name }) => name === 'name');
  const reader = new Reader(bytes, start, end);
  while (!reader.done) {
    const kind = reader.byte();
    const next = reader.count() + reader.at;
    if (kind === FUNCTION_NAMES) return reader.list(() => [reader.count(), reader.name()]);
    reader.at = next;
  }
  return [];
}

/** Static functions of one name count as one. */
function summed(names, sizes) {
  const imports = names.length - sizes.length;
  const all = {};
  for (const [index, name] of names) if (index >= imports) all[name] = (all[name] ?? 0) + sizes[index - imports];
  const folderOf = readFolders();
  const parts = {};
  for (const [name, size] of Object.entries(all)) {
    const part = size >= LISTED_BYTES ? `${name} (${folderOf(name)})` : `${folderOf(name)}: ${REST}`;
    parts[part] = (parts[part] ?? 0) + size;
  }
  return Object.fromEntries(Object.entries(parts).sort(([a], [b]) => (a < b ? -1 : 1)));
}
