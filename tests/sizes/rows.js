// What is weighed: a row is a name and how to get its files, with the parts that are named when it grew. `most` is the
// number of brotli's bytes that it must not exceed, whatever the table says.

import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root } from '../../wasm/tools.mjs';
import { loadedAtFirst, loadedInAll, withoutBundler } from './javascript.js';
import { functionSizes } from './wasm-functions.js';

const read = (file) => readFileSync(join(root, file));

/** A file as it is. */
export const file = (path) => ({ name: path, measure: async () => ({ files: [read(path)], parts: {} }) });

/** A wasm file, with the names of its functions from the build; without them where Emscripten's own linker made it. */
export function wasm(path, folder) {
  const named = join(root, folder, `${basename(path)}.named.wasm`);
  return {
    name: path,
    measure: async () => ({
      files: [read(path)],
      parts: existsSync(named) ? functionSizes(readFileSync(named)) : {},
    }),
  };
}

const FIRST = "import { TrainingSession, Tensor } from 'trainlet'; globalThis.used = [TrainingSession, Tensor];";
const ALL = "import * as trainlet from 'trainlet'; globalThis.used = { ...trainlet };";

export const ROWS = [
  wasm('js/trainlet.wasm', 'build/wasm'),
  wasm('js/trainlet-threads.wasm', 'build/wasm'),
  wasm('js/trainlet-relaxed.wasm', 'build/relaxed'),
  wasm('js/trainlet-threads-relaxed.wasm', 'build/relaxed'),
  file('js/worker.js'),
  { name: 'a page of TrainingSession and Tensor, at first', measure: () => loadedAtFirst(FIRST) },
  {
    name: 'the same with its worker',
    most: 16.5 * 1024,
    measure: async () => {
      const { files } = await loadedAtFirst(FIRST);
      return { files: [...files, read('js/worker.js')], parts: {} };
    },
  },
  { name: 'a page of everything, all that it may load', measure: () => loadedInAll(ALL) },
  { name: 'js/index.js without a bundler, at first', measure: () => withoutBundler('js/index.js') },
];
