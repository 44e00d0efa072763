// Rows to weigh: a name and how to get its files, with the parts that are named when it grew. `most` limits its brotli
// bytes, whatever the table says, `mostFiles` its files.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import * as layers from '../../js/layers/index.js';
import { ENGINES, root } from '../../tools/programs.mjs';
import { besidesPage, built, layersOf, loadedAtFirst, loadedInAll, withoutBundler } from './javascript.js';
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

/** A file and those that it imports without being asked. @param {string} folder @param {string} name */
function importedBy(folder, name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  const text = readFileSync(join(folder, name), 'utf8');
  for (const [, imported] of text.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) importedBy(folder, imported, found);
  return found;
}

/** The engine is shrunk for its one model. */
async function minimalPage() {
  await built();
  const folder = mkdtempSync(join(tmpdir(), 'trainlet-sizes-'));
  try {
    execFileSync(process.execPath, [join(root, 'examples/minimal/build.mjs'), folder], { stdio: 'pipe' });
    const fixed = readdirSync(folder).filter((name) => /^worker\.js$|\.wasm$|\.html$/.test(name));
    const names = [...fixed, ...importedBy(folder, 'page.js')];
    return { files: names.map((name) => readFileSync(join(folder, name))), parts: {} };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const FIRST = "import { TrainingSession, Tensor } from 'trainlet'; globalThis.used = [TrainingSession, Tensor];";
const ALL = "import * as trainlet from 'trainlet'; globalThis.used = { ...trainlet };";

export const ROWS = [
  ...ENGINES.map((name) =>
    wasm(`js/engine/${name}`, `build/${name.includes('relaxed') ? 'relaxed' : 'wasm'}/finished`),
  ),
  { name: 'dist/worker.js', measure: () => withoutBundler('worker.js') },
  { name: 'a page of TrainingSession and Tensor, at first', measure: () => loadedAtFirst(FIRST) },
  {
    name: 'the same with its worker',
    most: 16.9 * 1024,
    measure: async () => {
      const { files } = await loadedAtFirst(FIRST);
      return { files: [...files, (await built()).get('worker.js')], parts: {} };
    },
  },
  { name: 'a page of everything, all that it may load', measure: () => loadedInAll(ALL) },
  { name: 'examples/minimal: what its page loads at first', measure: minimalPage },
  {
    name: 'a page without a bundler: dist/index.js and worker',
    most: 14 * 1024,
    mostFiles: 4,
    measure: () => withoutBundler('index.js', 'worker.js'),
  },
  {
    name: "the same, with a training session's methods, which come while the wasm does",
    measure: () => withoutBundler('index.js', 'worker.js', 'training.js'),
  },
  {
    name: 'trainlet/layers: input, dense and sequential in a page of trainlet',
    most: 6 * 1024,
    measure: () => layersOf('input', 'dense', 'sequential'),
  },
  { name: 'trainlet/layers: all of it', measure: () => layersOf(...Object.keys(layers)) },
  {
    name: 'trainlet/federated: what a node joins with, beside the page',
    most: 12 * 1024,
    measure: () => besidesPage('federated.js'),
  },
  {
    name: 'trainlet/federated: the same with its rounds',
    measure: async () => {
      const rounds = [...(await built()).keys()].find((name) => /^rounds-\w+\.js$/.test(name));
      return await besidesPage('federated.js', rounds);
    },
  },
  { name: 'dist/trainlet.min.js', measure: () => withoutBundler('trainlet.min.js') },
];
