// The JavaScript of dist/ that a page loads: minified by a bundler, or the files as they are where there is no bundler.

import { join } from 'node:path';
import { build } from 'esbuild';
import { buildDist } from '../../tools/dist.mjs';
import { root } from '../../tools/programs.mjs';

let building;
/** dist/ as it is to be now. @returns {Promise<Map<string, Uint8Array>>} */
export const built = () => (building ??= buildDist());

const OPTIONS = {
  logOverride: { 'ignored-bare-import': 'silent' }, // users have the package in node_modules
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  write: false,
  metafile: true,
  outdir: 'out',
};

/** The bundler's output for a page of `code`, which imports the package by its name. */
async function bundled(code) {
  await built();
  const named = {
    name: 'the package by its name',
    setup: ({ onResolve }) =>
      onResolve({ filter: /^trainlet$/ }, () => ({ path: join(root, 'dist/index.js'), sideEffects: false })),
  };
  const stdin = { contents: code, resolveDir: root, sourcefile: 'page.js' };
  const { outputFiles, metafile } = await build({ ...OPTIONS, stdin, minify: true, splitting: true, plugins: [named] });
  const outputs = Object.entries(metafile.outputs).map(([path, output]) => {
    const bytes = outputFiles.find((file) => file.path === join(root, path)).contents;
    return [path, { ...output, bytes }];
  });
  return Object.fromEntries(outputs);
}

/** An output, and those that it imports without being asked. */
function withImports(outputs, path, found = new Set()) {
  if (found.has(path)) return found;
  found.add(path);
  for (const { path: imported, kind, external } of outputs[path].imports)
    if (kind === 'import-statement' && !external) withImports(outputs, imported, found);
  return found;
}

/** Files a page of `code` loads before it uses anything. */
export async function loadedAtFirst(code) {
  const outputs = await bundled(code);
  const page = Object.keys(outputs).find((path) => outputs[path].entryPoint === 'page.js');
  return measured([...withImports(outputs, page)].map((path) => outputs[path]));
}

/** All that a page of `code` may load. */
export const loadedInAll = async (code) => measured(Object.values(await bundled(code)));

/** All that a page of trainlet loads besides for some names of trainlet/layers, and for the file that they make. */
export async function layersOf(...names) {
  const page = namesFrom(await built(), 'index.js');
  const inPage = {
    name: 'what the page has',
    setup: ({ onResolve }) =>
      onResolve({ filter: /^\.\/[\w-]+\.js$/ }, ({ path }) =>
        page.has(path.slice(2)) ? { path, external: true } : undefined,
      ),
  };
  const contents = `import { ${names} } from './dist/layers.js'; globalThis.used = [${names}];`;
  const stdin = { contents, resolveDir: root, sourcefile: 'page.js' };
  const { outputFiles, metafile } = await build({
    ...OPTIONS,
    stdin,
    minify: true,
    splitting: true,
    plugins: [inPage],
  });
  const outputs = Object.values(metafile.outputs).map((output, i) => ({ ...output, bytes: outputFiles[i].contents }));
  return measured(outputs.filter(({ entryPoint }) => names.includes('summary') || entryPoint !== 'dist/summary.js'));
}

/** @returns files, and the bytes of each module in them */
function measured(outputs) {
  const parts = outputs.flatMap(({ inputs }) =>
    Object.entries(inputs).map(([module, { bytesInOutput }]) => [module, bytesInOutput]),
  );
  return { files: outputs.map(({ bytes }) => bytes), parts: summed(parts) };
}

/** The files of dist/ that a page loads without a bundler: one, and those that it imports without being asked. */
export async function withoutBundler(...entries) {
  const dist = await built();
  const names = namesFrom(dist, ...entries);
  const files = [...names].map((name) => dist.get(name));
  return { files, parts: summed([...names].map((name, i) => [name, files[i].length])) };
}

/** The same of entries beside a page of trainlet, which has its own files already. */
export async function besidesPage(...entries) {
  const dist = await built();
  const page = namesFrom(dist, 'index.js');
  const names = [...namesFrom(dist, ...entries)].filter((name) => !page.has(name));
  const files = names.map((name) => dist.get(name));
  return { files, parts: summed(names.map((name, i) => [name.replace(/-\w{8}(?=\.js$)/, ''), files[i].length])) };
}

/** Entries and what they import without being asked. */
function namesFrom(dist, ...entries) {
  const names = new Set();
  const visit = (name) => {
    if (names.has(name)) return;
    names.add(name);
    for (const [, imported] of textOf(dist.get(name)).matchAll(STATIC_IMPORT)) visit(imported);
  };
  entries.forEach(visit);
  return names;
}

/** Bytes by module; all chunks are one, for their names change with their contents. */
function summed(all) {
  const parts = {};
  for (const [module, bytes] of all) {
    const name = module.replace(HASH, '');
    parts[name] = (parts[name] ?? 0) + bytes;
  }
  return parts;
}

const textOf = (bytes) => new TextDecoder().decode(bytes);
const STATIC_IMPORT = /(?:\bfrom|\bimport)"\.\/([^"]+)"/g;
const HASH = /(?<=\bchunk)-\w{8}(?=\.js$)/;
