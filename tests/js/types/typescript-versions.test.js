// A user's program is compiled against the package's types by the TypeScript that users have: the oldest that we
// support, one between, and today's.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { root } from '../../support/engines.js';

const { resolve } = createRequire(import.meta.url);
const CONSUMER = path.join(import.meta.dirname, 'consumer');
const OPTIONS = { target: 'es2022', strict: true, noEmit: true, skipLibCheck: false, types: [] };
const PROJECTS = {
  'node16, without the DOM': { files: ['any.ts'], module: 'node16', lib: ['es2022'] },
  'bundler, with the DOM': { files: ['any.ts', 'page.ts'], module: 'esnext', lib: ['es2022', 'dom'] },
};
let folder = '';

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-types-'));
  const installed = path.join(folder, 'node_modules/trainlet');
  await cp(CONSUMER, folder, { recursive: true });
  await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }');
  for (const name of ['package.json', 'js/types.d.ts', 'js/types'])
    await cp(path.join(root, name), path.join(installed, name), { recursive: true });
});

after(() => rm(folder, { recursive: true }));

/** @param {string} name @param {{ files: string[], module: string, lib: string[] }} project */
async function compile(name, { files, module, lib }) {
  const moduleResolution = module === 'node16' ? 'node16' : 'bundler';
  const project = path.join(folder, `${name}-${module}.json`);
  const compilerOptions = { ...OPTIONS, module, moduleResolution, lib };
  await writeFile(project, JSON.stringify({ compilerOptions, files }));
  const tsc = path.join(path.dirname(resolve(`${name}/package.json`)), 'bin/tsc');
  return await new Promise((done) => execFile(process.execPath, [tsc, '-p', project], (_, out) => done(out)));
}

for (const name of ['typescript-5.0', 'typescript-5.9', 'typescript'])
  for (const [title, project] of Object.entries(PROJECTS))
    test(`${name} compiles a program: ${title}`, async () => assert.equal(await compile(name, project), ''));

test('the versions are what their names say', async () => {
  for (const name of ['typescript-5.0', 'typescript-5.9']) {
    const { version } = JSON.parse(await readFile(resolve(`${name}/package.json`), 'utf8'));
    assert.ok(`typescript-${version}`.startsWith(`${name}.`), version);
  }
});
