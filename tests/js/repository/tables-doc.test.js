/** docs/guides/tables.md: its two programs run as pasted and learn, with the package. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { buildDist } from '../../../tools/dist.mjs';
import { batchUnit } from '../../support/recipe.js';
import { root } from '../../support/engines.js';

const page = await readFile(path.join(root, 'docs/guides/tables.md'), 'utf8');
const [regression, classification] = [...page.matchAll(/^```js\n(.*?)^```/gms)].map(([, code]) => code);
const unit = (row, column) => batchUnit(column + 1, row);

const HOUSES = Array.from({ length: 240 }, (_, i) => {
  const [rooms, area, city] = [1 + Math.floor(7 * unit(i, 0)), 30 + Math.round(150 * unit(i, 1)), i % 3];
  const price = 50 * rooms + 4 * area + [0, 300, -100][city] + Math.round(20 * unit(i, 2));
  return `${rooms},${i % 17 ? area : ''},${['Bern', 'Genf', 'Chur'][city]},"${price.toLocaleString('en')}"`;
});
const FLOWERS = Array.from({ length: 150 }, (_, i) => {
  const kind = i % 3;
  const [length, width] = [2 + kind + unit(i, 0), 6 - 2 * kind + unit(i, 1)];
  return `${length.toFixed(1)},${width.toFixed(1)},${['lily', 'iris', 'rose'][kind]}`;
});
const TABLES = {
  houses: ['rooms,area,city,price', ...HOUSES].join('\n'),
  flowers: ['width,length,kind', ...FLOWERS].join('\n'),
};

let folder;
before(async () => {
  await buildDist();
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-tables-'));
  await mkdir(path.join(folder, 'node_modules'));
  await symlink(root, path.join(folder, 'node_modules', 'trainlet'), 'junction');
  for (const name of ['houses', 'flowers']) await writeFile(path.join(folder, `${name}.csv`), TABLES[name]);
});
after(() => rm(folder, { recursive: true }));

/** @param {string} program @returns {Promise<string>} what it prints */
async function pasted(program) {
  await writeFile(path.join(folder, 'example.mjs'), program);
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['example.mjs'], { cwd: folder });
  assert.equal(stderr, '');
  return stdout;
}

test('the regression: prices of houses, in twelve lines', async () => {
  assert.ok(regression.trim().split('\n').filter(Boolean).length <= 12);
  const printed = await pasted(regression);
  const [, r2] = /^held out: \{[^}]*r2: ([\d.]+)/m.exec(printed) ?? [];
  assert.ok(r2 > 0.95, printed);
  const [, price] = /^predicted: ([\d.]+)$/m.exec(printed) ?? [];
  assert.ok(Math.abs(price - (50 * 4 + 4 * 110 + 10)) < 100, printed);
});

test('the classification: kinds of flowers, in twelve lines', async () => {
  assert.ok(classification.trim().split('\n').filter(Boolean).length <= 12);
  const printed = await pasted(classification);
  const [, accuracy] = /^accuracy: ([\d.]+)$/m.exec(printed) ?? [];
  assert.ok(accuracy > 0.95, printed);
  assert.match(printed, /^predicted: iris$/m);
});
