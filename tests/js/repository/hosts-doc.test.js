/** docs/guides/hosts.md agrees with examples/hosts, and both with the package's version and with what is tried. */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { HOSTS } from '../../hosts/recipes.js';
import { root } from '../../support/engines.js';

const read = (/** @type {string} */ file) => readFileSync(path.join(root, file), 'utf8');
const FOLDERS = readdirSync(path.join(root, 'examples/hosts'));
const FILES = FOLDERS.flatMap((name) =>
  readdirSync(path.join(root, 'examples/hosts', name), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath ?? entry.path, entry.name))),
);
const guide = read('docs/guides/hosts.md');
const { version } = JSON.parse(read('package.json'));
/** The text without what a layout may change. @param {string} text */
const bare = (text) => text.replace(/\s+/g, '');

test('every example is tried, is linked from the guide, and has a README of at most 15 lines', () => {
  for (const name of FOLDERS) {
    assert.ok(HOSTS[name], `${name} is tried by npm run hosts`);
    assert.ok(guide.includes(`](../../examples/hosts/${name}/`), `${name} is linked from the guide`);
    assert.ok(read(`examples/hosts/${name}/README.md`).trimEnd().split('\n').length <= 15, name);
  }
  for (const [name, { example = name }] of Object.entries(HOSTS))
    assert.ok(example === false || existsSync(path.join(root, 'examples/hosts', example)), `${name} has a folder`);
});

test('every block of code of the guide stands in an example', () => {
  const code = FILES.map((file) => bare(read(file)));
  const blocks = [...guide.matchAll(/^```(?:js|html)\n(.*?)^```/gms)].map(([, block]) => block);
  const found = blocks.filter((block) => code.some((text) => text.includes(bare(block))));
  assert.ok(found.length >= 4, `${found.length} blocks`);
  assert.deepEqual(
    blocks.filter((block) => !found.includes(block)).map((block) => block.split('\n')[0]),
    ["import { configure } from 'trainlet';"],
  );
});

test('the hook of Next.js is that of React', () => {
  assert.equal(read('examples/hosts/next/app/useTrainlet.js'), read('examples/hosts/react/src/useTrainlet.js'));
});

test('examples name this version of the package', () => {
  const named = FILES.filter((file) => path.basename(file) === 'package.json').map((file) => [
    file,
    JSON.parse(read(file)).dependencies.trainlet,
  ]);
  assert.ok(named.length > 10, `${named.length} packages`);
  for (const [file, range] of named) assert.equal(range, `^${version}`, file);
  const addresses = FILES.flatMap((file) => read(file).match(/\/npm\/trainlet@[\d.]+/g) ?? []);
  assert.ok(addresses.length >= 2, 'the CDN example names one');
  for (const address of addresses) assert.equal(address, `/npm/trainlet@${version}`);
});

test('docs/measured/hosts.md has figures of every example', () => {
  const rows = [...read('docs/measured/hosts.md').matchAll(/^\| ([\w-]+) \| .*→/gm)].map(([, name]) => name);
  assert.deepEqual(
    FOLDERS.filter((name) => !rows.includes(name)),
    [],
  );
  assert.deepEqual(
    rows,
    Object.keys(HOSTS).filter((name) => rows.includes(name)),
  );
});
