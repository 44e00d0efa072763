/** THIRD-PARTY-NOTICES.md names each library in the wasm files, and the one package in the JavaScript. */

import assert from 'node:assert/strict';
import { execFileSync, execSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { buildDist } from '../../../tools/dist.mjs';
import { root } from '../../support/engines.js';

const BUILD = path.join(root, 'build/wasm');
const notices = readFileSync(path.join(root, 'THIRD-PARTY-NOTICES.md'), 'utf8');
const [, table] = /^## In the wasm files\n(.*?)^## /ms.exec(notices) ?? [];
const NAMED = [...table.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, cell]) =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
);

/** The command that links a wasm file, as the build has it; '' where Emscripten's own linker did. */
function linkCommand() {
  if (!existsSync(path.join(BUILD, 'build.ninja'))) return '';
  const commands = execFileSync('ninja', ['-C', BUILD, '-t', 'commands'], { encoding: 'utf8', maxBuffer: 1 << 26 });
  const line = commands.split('\n').find((command) => / -o trainlet\.wasm /.test(command)) ?? '';
  return /(\S*wasm-ld\S* .*?-o trainlet\.wasm .*?)(?: &&|$)/.exec(line)?.[1] ?? '';
}

/** Files that are linked, from the linker's map: LIBRARY(OBJECT), or an object. @param {string} command */
function linked(command) {
  const map = execSync(command.replace(/-o trainlet\.wasm/, '-o /dev/null --print-map'), {
    cwd: BUILD,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  return [...new Set([...map.matchAll(/^[\s\da-f-]+ +(\S+?\.(?:a\([^)]+\)|o)):/gm)].map(([, file]) => file))];
}

/** The name in the table of what an object is part of; none of the engine's own. @param {string} file */
function partOf(file) {
  const [, library, object] = /([\w-]+)\.a\(([^)]+)\)$/.exec(file) ?? ['', '', path.basename(file)];
  if (library === 'libtrainlet') return object.startsWith('protobuf-c') ? 'protobuf-c' : undefined;
  return library || (/^CMakeFiles\//.test(file) ? undefined : object.replace(/\.o$/, ''));
}

const command = linkCommand();

test('each library in the wasm files has its notice', { skip: !command && 'not linked by lld' }, () => {
  const files = linked(command);
  assert.ok(files.length > 100, `${files.length} objects are linked`);
  const found = new Set(files.map(partOf).filter((name) => name !== undefined));
  for (const known of ['protobuf-c', 'libc', 'libcompiler_rt']) assert.ok(found.has(known), `${known} is found`);
  assert.deepEqual(
    [...found].filter((name) => !NAMED.includes(name)),
    [],
  );
});

test('each library that the build may link has its notice', () => {
  const build = readFileSync(path.join(root, 'CMakeLists.txt'), 'utf8');
  const [, line] = /^ +set\(link_libraries (.*)\)$/m.exec(build) ?? [];
  const libraries = [...line.matchAll(/ -l([\w-]+)/g)].map(([, name]) => `lib${name}`);
  assert.ok(libraries.length > 3, line);
  assert.deepEqual([...libraries, 'crt1_reactor', 'protobuf-c'].sort(), [...NAMED].sort());
});

/** Files of dist/ with the modules in each. */
async function modulesInDist() {
  const found = new Map();
  for (const [name, bytes] of await buildDist()) {
    const text = new TextDecoder().decode(bytes);
    if (name.endsWith('.map')) found.set(name.slice(0, -4), JSON.parse(text).sources);
    if (/^(node|cli)\b.*\.js$/.test(name)) found.set(name, text.match(/^\/\/ \S+\.js$/gm) ?? []);
  }
  return found;
}

test('of other packages dist/ holds one, whose notice there is, for trainlet/federated alone', async () => {
  const found = await modulesInDist();
  const sources = [...found.values()].flat();
  assert.ok(sources.length > 200, `${sources.length} modules`);
  const own = /^(?:\.\.\/js\/|\/\/ js\/|worker:)/;
  const protobuf = /node_modules\/@bufbuild\/protobuf\/dist\/esm\/[\w/-]+\.js$/;
  assert.deepEqual(
    sources.filter((source) => !own.test(source) && !protobuf.test(source)),
    [],
  );
  assert.match(notices, /^## Apache-2\.0: @bufbuild\/protobuf$/m);
  const holding = [...found].filter(([, modules]) => modules.some((module) => protobuf.test(module)));
  const isFederated = (/** @type {string} */ module) => /js\/federated\//.test(module);
  for (const [name, modules] of holding) assert.ok(modules.some(isFederated), `${name} is of trainlet/federated`);
  assert.ok(holding.length >= 2);
});
