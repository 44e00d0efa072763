/** THIRD-PARTY-NOTICES.md names each library in the wasm files, and no other package is in the JavaScript. */

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

test('no code of another package is in dist/', async () => {
  const sources = [];
  for (const [name, bytes] of await buildDist()) {
    const text = new TextDecoder().decode(bytes);
    if (name.endsWith('.map')) sources.push(...JSON.parse(text).sources);
    if (/^(node|node-layers|cli)\.js$/.test(name)) sources.push(...(text.match(/^\/\/ \S+\.js$/gm) ?? []));
  }
  assert.ok(sources.length > 200, `${sources.length} modules`);
  assert.deepEqual(
    sources.filter((source) => !/^(?:\.\.\/js\/|\/\/ js\/|worker:)/.test(source)),
    [],
  );
});
