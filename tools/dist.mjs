// Builds dist/, the package as npm ships it: index.js, layers.js, federated.js and their chunks, the worker in one file
// and trainlet.min.js for browsers; node.js, node-layers.js, node-federated.js and the command line with their chunks
// for Node; the wasm files beside them. Files that did not change are left alone.
//
//   node tools/dist.mjs

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { ENGINES, root } from './programs.mjs';

/** Its modules are one chunk: a page loads all of them before it has a session. */
const PAGE = 'js/index.js';
const LAYERS = 'js/layers/index.js';
const FEDERATED = 'js/federated/index.js';
const GROUPS = [PAGE, 'js/session/training.js', LAYERS];
/** Smaller than a chunk costs, and used by several: they are in the page's. */
const SMALL = ['js/base/checksum.js', 'js/base/timeout.js'];
/** Each is one file without imports: one request. */
const WORKERS = ['js/engine/worker-browser.js', 'js/engine/worker-node.js', 'js/data/worker-augment.js'];
/** For Node, which prints the lines that throw: not minified. They share chunks, or a download would have all twice. */
const NODE = [
  { in: PAGE, out: 'node' },
  { in: 'js/cli/index.js', out: 'cli' },
];
const NAMES = { 'js/engine/worker-browser.js': 'worker', [LAYERS]: 'layers', [FEDERATED]: 'federated' };
/** worker-augment.js imports what a page names, by comments that bundlers read and a minifier drops. */
const COPIED = [
  'js/data/worker-augment.js',
  ...ENGINES.map((name) => `js/engine/${name}`),
  ...['features.json', 'layouts.json'].map((name) => `js/cli/shrink/${name}`),
];
const OPTIONS = {
  absWorkingDir: root,
  outdir: 'dist',
  bundle: true,
  format: 'esm',
  target: 'es2022',
  minify: true,
  sourcemap: true,
  write: false,
  metafile: true,
  external: ['node:*'],
  logLevel: 'warning',
  logOverride: { 'ignored-bare-import': 'silent' },
};

/** @returns {Promise<Map<string, Uint8Array>>} by name: what is in dist/ after it */
export async function buildDist() {
  const files = new Map(COPIED.map((file) => [basename(file), readFileSync(join(root, file))]));
  const workers = await outputsOf({ entryPoints: WORKERS.map(named) });
  const chunks = await chunksOf();
  const code = { 'worker.js': text(workers, 'worker.js'), 'worker-augment.js': text(workers, 'worker-augment.js') };
  const alone = await outputsOf({
    entryPoints: [{ in: PAGE, out: 'trainlet.min' }],
    plugins: [withoutGpu, forBrowsers({ code })],
  });
  const forNode = /** @type {const} */ ({ platform: 'node', minify: false, sourcemap: false });
  const chunkNames = 'node-chunk-[hash]';
  const more = [LAYERS, FEDERATED].map((module) => ({ in: module, out: `node-${NAMES[module]}` }));
  const node = await outputsOf({ entryPoints: [...NODE, ...more], splitting: true, chunkNames, ...forNode });
  // apart from the others, so that no chunk of a page that does not federate is cut otherwise for it
  const federated = await outputsOf({
    entryPoints: [named(FEDERATED)],
    splitting: true,
    plugins: [withErrorsOf('./index.js'), forBrowsers()],
  });
  workers.delete('worker-augment.js');
  workers.delete('worker-augment.js.map');
  for (const outputs of [workers, chunks, federated, alone, node])
    for (const [name, bytes] of outputs) files.set(name, bytes);
  writeFiles(join(root, 'dist'), files);
  return files;
}

const text = (/** @type {Map<string, Uint8Array>} */ outputs, /** @type {string} */ name) =>
  new TextDecoder().decode(outputs.get(name)).replace(/\n\/\/# sourceMappingURL.*\n$/, '');

/** @param {import('esbuild').BuildOptions} options */
async function outputsOf(options) {
  const { outputFiles = [] } = await build({ ...OPTIONS, .../** @type {any} */ (options) });
  return new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
}

/** @param {string} module @returns {{ in: string, out: string }} */
const named = (module) => ({ in: module, out: NAMES[module] ?? basename(module, '.js') });

/**
 * index.js and what it loads later. esbuild puts a module that several entries reach into a chunk of its own for each
 * set of entries; here each lazily loaded module reaches the whole of a group where it reaches a part of it, so that
 * the group stays one chunk.
 */
async function chunksOf() {
  const { inputs } = /** @type {any} */ (
    (await build({ ...OPTIONS, entryPoints: [PAGE, LAYERS], splitting: true, plugins: [forBrowsers()] })).metafile
  );
  const lazy = lazyModules(inputs);
  const entries = [PAGE, LAYERS, ...lazy];
  /** @type {Map<string, string[]>} */
  const added = new Map([[PAGE, SMALL]]);
  for (const entry of [LAYERS, ...lazy]) {
    const reached = reachedFrom(inputs, entry);
    const shared = GROUPS.filter(
      (group, i) =>
        group !== entry &&
        meets(reached, new Set([...ownOf(inputs, GROUPS.slice(0, i), group), ...(added.get(group) ?? [])])),
    );
    if (shared.length) added.set(entry, shared);
  }
  const names = entries.map((module) => ({ in: module, out: nameAmong(entries, module) }));
  return await outputsOf({ entryPoints: names, splitting: true, plugins: [forBrowsers({ added })] });
}

/** @param {string[]} all @param {string} module its file's name, with its folder's where there are two */
function nameAmong(all, module) {
  const { out } = named(module);
  const isAlone = all.every((other) => other === module || named(other).out !== out);
  return isAlone ? out : `${basename(dirname(module))}-${out}`;
}

/** @typedef {Record<string, { imports: { path: string, kind: string, external?: boolean }[] }>} Inputs */

/** @param {Inputs} inputs */
function lazyModules(inputs) {
  const imports = Object.values(inputs).flatMap(({ imports: all }) => all);
  const lazy = imports.filter(({ kind, external }) => kind === 'dynamic-import' && !external);
  return [...new Set(lazy.map(({ path }) => path))].sort();
}

/** The modules that are loaded with one. @param {Inputs} inputs @param {string} module @param {Set<string>} [found] */
function reachedFrom(inputs, module, found = new Set()) {
  if (found.has(module)) return found;
  found.add(module);
  for (const { path, kind, external } of inputs[module].imports)
    if (kind === 'import-statement' && !external) reachedFrom(inputs, path, found);
  return found;
}

/**
 * The modules of a group that are in none before it.
 * @param {Inputs} inputs @param {string[]} before @param {string} group
 */
function ownOf(inputs, before, group) {
  const others = before.map((other) => reachedFrom(inputs, other));
  return new Set([...reachedFrom(inputs, group)].filter((module) => !others.some((other) => other.has(module))));
}

/** @param {Set<string>} a @param {Set<string>} b */
const meets = (a, b) => [...a].some((module) => b.has(module));

/**
 * Modules as browsers get them: without what only Node runs, `added` imports, and in trainlet.min.js workers that start
 * from their `code`.
 * @param {{ added?: Map<string, string[]>, code?: Record<string, string> }} [options]
 * @returns {import('esbuild').Plugin}
 */
const forBrowsers = ({ added = new Map(), code = {} } = {}) => ({
  name: 'for browsers',
  setup({ onLoad, onResolve }) {
    onLoad({ filter: /\.js$/, namespace: 'file' }, ({ path }) => {
      const module = relative(root, path).replaceAll('\\', '/');
      if (module === FOLDERS) return { contents: 'export const Folder = undefined;' };
      const imports = (added.get(module) ?? []).map((other) => `import ${JSON.stringify(join(root, other))};`);
      return { contents: withWorkers(code, withoutNode(readFileSync(path, 'utf8'))) + imports.join('') };
    });
    onResolve({ filter: /^worker:/ }, ({ path }) => ({ path, namespace: 'worker' }));
    onLoad({ filter: /./, namespace: 'worker' }, ({ path }) => ({
      contents: urlOf(code[path.replace('worker:', '')]),
    }));
  },
});

/**
 * The class of errors is that of another entry, so that instanceof knows it.
 * @param {string} entry
 * @returns {import('esbuild').Plugin}
 */
const withErrorsOf = (entry) => ({
  name: 'errors of another entry',
  setup({ onLoad, onResolve }) {
    const imported = `import { TrainletError } from '${entry}'; export { TrainletError };`;
    onResolve({ filter: /^\.\/(node|index)\.js$/ }, ({ path, importer }) =>
      /base[/\\]errors\.js$/.test(importer) ? { path, external: true } : undefined,
    );
    onLoad({ filter: /base[/\\]errors\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(/^export class TrainletError .*?^\}/ms, imported),
    }));
  },
});

/**
 * trainlet.min.js lacks the backend of GPUs, which few pages load.
 * @type {import('esbuild').Plugin}
 */
const withoutGpu = {
  name: 'without-gpu',
  setup({ onLoad }) {
    const message = "backend 'webgpu' is not in trainlet.min.js: import index.js, which stands beside it";
    onLoad({ filter: /gpu[/\\]core\.js$/ }, () => ({
      contents: `import { TrainletError } from '../base/errors.js';
        export class GpuCore {
          static async create() { throw new TrainletError('unsupported-op', ${JSON.stringify(message)}); }
        }`,
    }));
  },
};

const FOLDERS = 'js/storage/folder.js';

/** `isNode` is false (js/base/platform.js): esbuild drops what follows from it, and bundlers see no import of node:. */
const withoutNode = (/** @type {string} */ source) =>
  source
    .replace(/^export const isNode =[^;]*;$/m, '')
    .replace(/^import \{[^}]*\} from '[^']*\/platform\.js';$/m, (whole) => whole.replace(/\bisNode\b,?/, ''))
    .replace(/\bisNode\b/g, 'false');

/** @param {Record<string, string>} code by file @param {string} source */
function withWorkers(code, source) {
  const [whole, file] = /new URL\('\.\/([\w-]+\.js)', import\.meta\.url\)/.exec(source) ?? [];
  if (!whole || !(file in code)) return source;
  return `${source.replace(whole, 'workerUrl()')}import workerUrl from 'worker:${file}';`;
}

/**
 * A module that gives the URL of a script: a blob's, because one of data: has an origin of its own, and with it neither
 * locks nor shared memory.
 * @param {string} script
 */
const urlOf = (script) =>
  `const script = ${JSON.stringify(script)};
let url;
export default () => (url ??= new URL(URL.createObjectURL(new Blob([script], { type: 'text/javascript' }))));`;

/** @param {string} folder @param {Map<string, Uint8Array>} files all that is there after it */
function writeFiles(folder, files) {
  mkdirSync(folder, { recursive: true });
  const there = new Set(readdirSync(folder));
  for (const name of there) if (!files.has(name)) rmSync(join(folder, name));
  for (const [name, bytes] of files) {
    const path = join(folder, name);
    if (!there.has(name) || Buffer.compare(readFileSync(path), bytes) !== 0) writeFileSync(path, bytes);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = await buildDist();
  console.log(`[trainlet] Built: dist/, ${files.size} files.`);
}
