// The JavaScript that a page loads: minified by a bundler, or the files as they are where there is no bundler.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { root } from '../../wasm/tools.mjs';

const OPTIONS = { absWorkingDir: root, bundle: true, format: 'esm', write: false, metafile: true, outdir: 'out' };

/** The bundler's output for a page of `code`, which imports the package by its name. */
async function bundled(code) {
  const named = {
    name: 'the package by its name',
    setup: ({ onResolve }) =>
      onResolve({ filter: /^trainlet$/ }, () => ({ path: join(root, 'js/index.js'), sideEffects: false })),
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

/** What a page of `code` loads before it uses anything. */
export async function loadedAtFirst(code) {
  const outputs = await bundled(code);
  const page = Object.keys(outputs).find((path) => outputs[path].entryPoint === 'page.js');
  return measured([...withImports(outputs, page)].map((path) => outputs[path]));
}

/** All that a page of `code` may load. */
export const loadedInAll = async (code) => measured(Object.values(await bundled(code)));

/** @returns files, and the bytes of each module in them */
function measured(outputs) {
  const parts = {};
  for (const { inputs } of outputs)
    for (const [module, { bytesInOutput }] of Object.entries(inputs))
      parts[module] = (parts[module] ?? 0) + bytesInOutput;
  return { files: outputs.map(({ bytes }) => bytes), parts };
}

/** The files that a page loads at first without a bundler: an entry, as it is, and what it imports. */
export async function withoutBundler(entry) {
  const { metafile } = await build({ ...OPTIONS, entryPoints: [entry], external: ['node:*'], splitting: true });
  const modules = new Set();
  const visit = (path) => {
    if (modules.has(path)) return;
    modules.add(path);
    for (const { path: imported, kind } of metafile.inputs[path].imports)
      if (kind === 'import-statement' && metafile.inputs[imported]) visit(imported);
  };
  visit(entry);
  const files = [...modules].map((path) => readFileSync(join(root, path)));
  return { files, parts: Object.fromEntries([...modules].map((path, i) => [path, files[i].length])) };
}
