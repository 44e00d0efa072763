/** Four house rules: who sees protobuf, who exports, who touches wasm memory, who touches IndexedDB. And the public names. */

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as trainlet from '../../js/index.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BUILT_WORKER = path.join('js', 'worker.js'); // of files that are looked at themselves

/** The files under some folders that match a pattern. @param {string[]} folders @param {RegExp} kind @param {RegExp} pattern */
async function filesWith(folders, kind, pattern) {
  const found = [];
  for (const folder of folders) {
    for (const entry of await readdir(path.join(ROOT, folder), { recursive: true, withFileTypes: true })) {
      const file = path.join(entry.parentPath ?? entry.path, entry.name);
      if (path.relative(ROOT, file) === BUILT_WORKER) continue;
      if (entry.isFile() && kind.test(entry.name) && pattern.test(await readFile(file, 'utf8'))) found.push(path.relative(ROOT, file));
    }
  }
  return found.sort();
}

test('only onnx_*.c (by their own headers too) and trainlet_checkpoint.c see protobuf', async () => {
  const including = (header) => filesWith(['src', 'wasm'], /\.[ch]$/, new RegExp(`#\\s*include\\s*[<"]([^>"]*/)?${header}[>"]`));
  const files = await including('[^>"/]*\\.pb-c\\.h');
  assert.ok(files.length > 0);
  for (const file of files) {
    assert.match(path.basename(file), /^(onnx_\w+\.[ch]|trainlet_checkpoint\.c)$/);
    if (file.endsWith('.h')) for (const user of await including(path.basename(file))) assert.match(path.basename(user), /^onnx_\w+\.c$/);
  }
});

test('only abi.c exports', async () => {
  assert.deepEqual(await filesWith(['src', 'wasm'], /\.[ch]$/, /export_name/), [path.join('wasm', 'abi.c')]);
});

test('only core.js touches wasm memory and exports', async () => {
  assert.deepEqual(await filesWith(['js'], /\.js$/, /emory\.buffer|\babi_\w+/), [path.join('js', 'core.js')]);
});

test('only store.js touches IndexedDB', async () => {
  assert.deepEqual(await filesWith(['js'], /\.js$/, /indexedDB|IDBKeyRange/), [path.join('js', 'store.js')]);
});

test('the first line of a file says what it is', async () => {
  const all = await filesWith(['js'], /\.(js|d\.ts)$/, /./);
  assert.deepEqual(await filesWith(['js'], /\.(js|d\.ts)$/, /^(#!.*\n)?\/\*\* .+[.:].*\*\/\n/), all);
});

test('index.js exports what types.d.ts declares', async () => {
  const types = await readFile(path.join(ROOT, 'js/types.d.ts'), 'utf8');
  const declared = [...types.matchAll(/^export (?:class|function|const) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(Object.keys(trainlet).sort(), declared.sort());
});
