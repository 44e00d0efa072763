/** The house rules: layers and rooms, who may touch what, the layout of lines and comments, the public names. */

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import * as trainlet from '../../../js/index.js';
import * as layers from '../../../js/layers/index.js';
import { ENGINES } from '../../../tools/programs.mjs';
import { root } from '../../support/engines.js';

const BUILT_WORKER = path.join('js', 'engine', 'worker.js'); // its modules are looked at themselves
const NOT_CODE = /(?:^|[\\/])node_modules[\\/]|^tests[\\/]golden[\\/]data[\\/]/;

/**
 * The files under some folders that match a pattern.
 * @param {string[]} folders
 * @param {RegExp} kind
 * @param {RegExp} pattern
 */
async function filesWith(folders, kind, pattern) {
  const found = [];
  for (const folder of folders) {
    for (const entry of await readdir(path.join(root, folder), { recursive: true, withFileTypes: true })) {
      const file = path.join(entry.parentPath ?? entry.path, entry.name);
      if (path.relative(root, file) === BUILT_WORKER || NOT_CODE.test(path.relative(root, file))) continue;
      if (entry.isFile() && kind.test(entry.name) && pattern.test(await readFile(file, 'utf8')))
        found.push(path.relative(root, file));
    }
  }
  return found.sort();
}

/** In this order: a layer includes itself and those before it. */
const LAYERS = [
  '.',
  'kernels',
  'graph',
  'ops',
  'onnx',
  'checkpoint',
  'passes',
  'train',
  'model',
  'training_info',
  'artifacts',
  'compact',
  'state',
  'program',
  'session',
];

test('a layer of src/ includes only layers before it: kernels know only numbers, operators no readers', async () => {
  const layerOf = (/** @type {string} */ file) => (file.includes('/') ? file.slice(0, file.indexOf('/')) : '.');
  const files = (await filesWith(['src'], /\.[ch]$/, /./)).map((file) =>
    path.relative('src', file).replaceAll(path.sep, '/'),
  );
  assert.deepEqual([...new Set(files.map(layerOf))].sort(), [...LAYERS].sort());
  const upward = [];
  for (const file of files) {
    const text = await readFile(path.join(root, 'src', file), 'utf8');
    for (const [, included] of text.matchAll(/^#include "([^"]+)"/gm)) {
      if (LAYERS.indexOf(layerOf(included)) > LAYERS.indexOf(layerOf(file)))
        upward.push(`${file} includes ${included}`);
    }
  }
  assert.deepEqual(upward, []);
});

/** In this order: a room imports itself and those before it, lazily or not. */
const ROOMS = [
  ...['base', 'gpu', 'engine', 'storage', 'formats', 'layers', 'sources', 'media', 'data', 'features', 'fit'],
  ...['adapters', 'session', 'text', 'fine-tune', 'artifacts', 'federated', '.', 'cli'],
];

/** The modules of js/, each with those that it imports or starts as a worker. */
async function modules() {
  const imports = /(?:from|import\(|import|new URL\()\s*'(\.[^']+\.js)'/g;
  const found = new Map();
  for (const file of await filesWith(['js'], /\.js$/, /./)) {
    const name = path.relative('js', file).replaceAll(path.sep, '/');
    const code = (await readFile(path.join(root, file), 'utf8')).replace(/\/\*[\s\S]*?\*\//g, '');
    const named = [...code.matchAll(imports)].map(([, to]) => path.posix.join(path.posix.dirname(name), to));
    found.set(
      name,
      named.filter((to) => to !== 'engine/worker.js' && to !== name),
    );
  }
  return found;
}

test('a module of js/ imports its own room and those before it', async () => {
  const roomOf = (/** @type {string} */ file) => (file.includes('/') ? file.slice(0, file.indexOf('/')) : '.');
  const found = await modules();
  assert.deepEqual([...new Set([...found.keys()].map(roomOf))].sort(), [...ROOMS].sort());
  const upward = [];
  for (const [file, imported] of found)
    for (const to of imported)
      if (ROOMS.indexOf(roomOf(to)) > ROOMS.indexOf(roomOf(file))) upward.push(`${file} imports ${to}`);
  assert.deepEqual(upward, []);
});

test('modules of js/ make no circle', async () => {
  const found = await modules();
  const isDone = (/** @type {string[]} */ imported) => imported.every((to) => !found.has(to));
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const [file, imported] of found) if (isDone(imported)) found.delete(file);
  }
  assert.deepEqual([...found.keys()], []);
});

test('only src/onnx/ (by its own header too), the wire and trainlet_checkpoint.c see protobuf', async () => {
  const including = (/** @type {string} */ header) =>
    filesWith(['src', 'wasm'], /\.[ch]$/, new RegExp(`#\\s*include\\s*[<"]([^>"]*/)?${header}[>"]`));
  const files = await including('[^>"/]*\\.pb-c\\.h');
  assert.ok(files.length > 0);
  const inside = /^src\/(onnx\/|checkpoint\/trainlet_checkpoint\.c$)/;
  for (const file of files) {
    assert.match(file, inside);
    if (file.endsWith('.h')) for (const user of await including(path.basename(file))) assert.match(user, inside);
  }
});

test('every operator has its line in ops.def, once, and every line its operator', async () => {
  const lines = [...(await readFile(path.join(root, 'src/ops/ops.def'), 'utf8')).matchAll(/^OP\((\w+)\)$/gm)].map(
    ([, name]) => name,
  );
  const defined = [];
  for (const file of await filesWith(['src/ops'], /\.c$/, /^OPERATOR\(/m)) {
    const text = await readFile(path.join(root, file), 'utf8');
    for (const [, name] of text.matchAll(/^OPERATOR\((\w+)\)/gm))
      defined.push({ name, file: path.basename(file, '.c') });
  }
  assert.deepEqual(defined.map(({ name }) => name).sort(), [...lines].sort());
  for (const { name, file } of defined) assert.equal(file, name, 'an operator is found by its name');
});

test('of the C library the engine calls what wasm/c_library.c has, in the ways that it knows', async () => {
  const known = /^%(?:0?\d*(?:z|ll)?[dux]|(?:\.(?:\d+|\*))?[sfeg]|c)/;
  const larger = /\b(?:v?sprintf|v?asprintf|v?f?printf|v?f?scanf|sscanf|atof|atoi|strtol|strtoul|strtold|log2|powf?)\(/;
  const strange = [];
  for (const file of await filesWith(['src', 'wasm'], /\.[ch]$/, /"|\(/)) {
    const text = (await readFile(path.join(root, file), 'utf8')).replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
    const calls = text.match(larger);
    if (calls) strange.push(`${file}: ${calls[0]}`);
    for (const [literal] of text.replace(/"\s+"/g, '').matchAll(/"(?:[^"\\\n]|\\.)*"/g))
      for (let at = literal.indexOf('%'); at >= 0; at = literal.indexOf('%', at + 1))
        if (!known.test(literal.slice(at))) strange.push(`${file}: ${literal}`);
  }
  assert.deepEqual(strange, []);
});

test('only abi.c exports', async () => {
  assert.deepEqual(await filesWith(['src', 'wasm'], /\.[ch]$/, /export_name/), [path.join('wasm', 'abi.c')]);
});

test('only engine.js touches wasm memory, and beside it three files know exports', async () => {
  const [checkpoint, core, engine, gpu] = [
    ...['cli/checkpoint.js', 'engine/core.js', 'engine/engine.js', 'gpu/core.js'],
  ].map((file) => path.join('js', file));
  assert.deepEqual(await filesWith(['js'], /\.js$/, /emory\.buffer/), [engine]);
  assert.deepEqual(await filesWith(['js'], /\.js$/, /\babi_\w+/), [checkpoint, core, engine, gpu]);
});

test('only storage/indexeddb.js touches IndexedDB', async () => {
  const indexeddb = path.join('js', 'storage', 'indexeddb.js');
  assert.deepEqual(await filesWith(['js'], /\.js$/, /indexedDB|IDBKeyRange/), [indexeddb]);
});

test('a drawing in a comment is not torn: no sentence follows it on the next line', async () => {
  const drawing = /^ *(?:\/?\*|\/\/) {3,}\S.*[─│┌┐└┘├┤┴┬┼▶◀▲▼]/;
  const sentence = /^ *(?:\*|\/\/) \S/;
  const torn = [];
  let drawings = 0;
  for (const file of await filesWith(['src', 'wasm', 'js', 'tests', 'web-demo'], /\.(c|h|m?js|ts)$/, /[─▶]/)) {
    const lines = (await readFile(path.join(root, file), 'utf8')).split('\n');
    lines.slice(1).forEach((line, i) => {
      if (!drawing.test(lines[i])) return;
      drawings++;
      if (!lines[i].trimEnd().endsWith('*/') && sentence.test(line)) torn.push(`${file}:${i + 2}: ${line}`);
    });
  }
  assert.ok(drawings > 50, `${drawings} lines of drawings`);
  assert.deepEqual(torn, []);
});

/** Folders whose code is held to the rules of layout and of comments. */
const CODE = ['src', 'js', 'models', 'wasm', 'tools', 'web-demo', 'examples', 'tests'];

test('no line of code is longer than 120 columns, but for a word that cannot be broken', async () => {
  const isLong = (/** @type {string} */ line) => line.length > 120 && !/^\W*\S+$/.test(line);
  const long = [];
  for (const file of await filesWith(CODE, /\.(c|h|def|cmake|m?js|ts|css|html|py)$/, /.{121}/)) {
    const lines = await linesOf(file);
    lines.forEach((line, i) => {
      if (isLong(line)) long.push(`${file}:${i + 1}: ${line}`);
    });
  }
  assert.deepEqual(long, []);
});

test('a comment begins with its subject, not with a clause about it', async () => {
  const opener = '(?:Of|What|Where|Whether|Those|By|As|How|Which|Beside) ';
  const first = new RegExp(`^.*?/\\*\\*? ?\\n? *(?:\\* )?${opener}`, 'gim');
  const inside = new RegExp(`^ *\\* ${opener}`, 'gm');
  const line = new RegExp(`(?<!^ *//.*\\n)^(?:.* )?// ${opener}`, 'gim');
  const found = [];
  for (const file of await filesWith(CODE, /\.(c|h|def|m?js|ts|css)$/, new RegExp(opener, 'i'))) {
    const text = await readFile(path.join(root, file), 'utf8');
    for (const pattern of [first, inside, line])
      for (const [comment] of text.matchAll(pattern)) found.push(`${file}: ${comment}`);
  }
  assert.deepEqual(found, []);
});

/** Helpers of many tests: how one is defined, and the file of tests/support that alone defines it. */
const SHARED = {
  'HERE, options of an engine': [/\bconst HERE\b/, 'engines.js'],
  onnxruntime: [/\bort = (?:require|createRequire)\b|require\(.*ort\.training/, 'ort.js'],
  'a comparison of numbers': [/\bfunction (?:\w*[nN]ear|\w*Close)\(/, 'near.js'],
};

for (const [what, [pattern, file]] of Object.entries(SHARED))
  test(`tests have ${what} from one file`, async () => {
    const found = await filesWith(
      ['tests/browser', 'tests/js', 'tests/support'],
      /\.js$/,
      /** @type {RegExp} */ (pattern),
    );
    assert.deepEqual(found, [path.join('tests', 'support', String(file))]);
  });

test('the files of the engine have the same names wherever they are named', async () => {
  for (const file of ['js/engine/compile.js', 'js/cli/shrink/index.js', 'package.json', 'wasm/README.md']) {
    const text = await readFile(path.join(root, file), 'utf8');
    const named = new Set(text.match(/\btrainlet(-\w+)*\.wasm\b/g));
    assert.deepEqual([...named].sort(), [...ENGINES].sort(), file);
  }
});

test('the first line of a file says what it is', async () => {
  const all = await filesWith(['js'], /\.(js|d\.ts)$/, /./);
  assert.deepEqual(await filesWith(['js'], /\.(js|d\.ts)$/, /^(#!.*\n)?\/\*\*[^@]+[.:]/), all);
});

const linesOf = async (/** @type {string} */ file) =>
  (await readFile(path.join(root, file), 'utf8')).trimEnd().split('\n');

/** The entries of the package: what each exports, the file of its types, and the folder that this one names. */
const ENTRIES = [
  { exported: trainlet, front: 'js/types.d.ts', folder: 'js/types' },
  { exported: layers, front: 'js/types/layers/index.d.ts', folder: 'js/types/layers' },
];

for (const { exported, front, folder } of ENTRIES) {
  const subjectsOf = async () =>
    (await filesWith([folder], /\.d\.ts$/, /./)).filter((file) => path.dirname(file) === folder && file !== front);

  test(`${front} only exports the files of ${folder}/`, async () => {
    const lines = await linesOf(front);
    const from = (/** @type {string} */ file) => path.relative(path.dirname(front), file).replace(/\.d\.ts$/, '.js');
    assert.ok(lines.length <= 30, `${lines.length} lines`);
    assert.deepEqual(
      lines.slice(lines.findIndex((line) => line.endsWith('*/')) + 1),
      (await subjectsOf()).map((file) => `export * from './${from(file)}';`),
    );
  });

  test(`what ${front} declares is exported`, async () => {
    const declared = [];
    for (const file of await subjectsOf())
      for (const line of await linesOf(file))
        declared.push(...(line.match(/(?<=^export (?:class|function|const) )\w+/) ?? []));
    assert.deepEqual(Object.keys(exported).sort(), [...new Set(declared)].sort());
  });
}

test('no file of types has more than 400 lines', async () => {
  for (const file of await filesWith(['js'], /\.d\.ts$/, /./)) {
    const { length } = await linesOf(file);
    assert.ok(length <= 400, `${file} has ${length} lines`);
  }
});
