/** docs/guides/tables.md: its two programs run as pasted and learn, with the package and models of their inputs. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { readTable } from '../../../js/index.js';
import { buildDist } from '../../../tools/dist.mjs';
import { attribute, info, message, node, weight } from '../../bench/models/onnx_file.js';
import { batchUnit } from '../../support/recipe.js';
import { root } from '../../support/engines.js';

const page = await readFile(path.join(root, 'docs/guides/tables.md'), 'utf8');
const [regression, classification] = [...page.matchAll(/^```js\n(.*?)^```/gms)].map(([, code]) => code);
const HIDDEN = 16;
const unit = (row, column) => batchUnit(column + 1, row);

const HOUSES = Array.from({ length: 240 }, (_, i) => {
  const [rooms, area, city] = [1 + Math.floor(7 * unit(i, 0)), 30 + Math.round(150 * unit(i, 1)), i % 3];
  const price = 50 * rooms + 4 * area + [0, 300, -100][city] + Math.round(20 * unit(i, 2));
  return `${rooms},${i % 17 ? area : ''},${['Bern', 'Genf', 'Chur'][city]},"${price.toLocaleString('en')}"`;
});
const FLOWERS = Array.from({ length: 150 }, (_, i) => {
  const kind = i % 3;
  return `${(2 + kind + unit(i, 0)).toFixed(1)},${(6 - 2 * kind + unit(i, 1)).toFixed(1)},${['lily', 'iris', 'rose'][kind]}`;
});
const TABLES = {
  houses: ['rooms,area,city,price', ...HOUSES].join('\n'),
  flowers: ['width,length,kind', ...FLOWERS].join('\n'),
};

/** x, standardized, through two layers; with `target` turned back to its mean and variance. */
function model({ mean, variance }, outputs, name, target) {
  const constant = (output, data) =>
    node(
      'Constant',
      [],
      output,
      attribute('value', { type: 'float32', dims: [data.length], data: Float32Array.from(data) }),
    );
  const raw = target ? 'raw' : name;
  const graph = message(
    [1, constant('mean', mean)],
    [1, constant('std', variance.map(Math.sqrt))],
    [1, node('Sub', ['x', 'mean'], 'centred')],
    [1, node('Div', ['centred', 'std'], 'standard')],
    [1, node('Gemm', ['standard', 'fc1.weight', 'fc1.bias'], 'a')],
    [1, node('Relu', ['a'], 'b')],
    [1, node('Gemm', ['b', 'fc2.weight', 'fc2.bias'], raw)],
    ...(target
      ? [
          [1, constant('target_std', [Math.sqrt(target.variance)])],
          [1, constant('target_mean', [target.mean])],
          [1, node('Mul', ['raw', 'target_std'], 'wide')],
          [1, node('Add', ['wide', 'target_mean'], name)],
        ]
      : []),
    [2, 'table'],
    [5, weight('fc1.weight', [mean.length, HIDDEN], mean.length, 3)],
    [5, weight('fc1.bias', [HIDDEN], mean.length, 5)],
    [5, weight('fc2.weight', [HIDDEN, outputs], HIDDEN, 4)],
    [5, weight('fc2.bias', [outputs], HIDDEN, 6)],
    [11, info('x', 1, ['N', mean.length])],
    [12, info(name, 1, ['N', outputs])],
  );
  return message([1, 8], [7, graph], [8, message([1, ''], [2, 17])]);
}

let folder;
before(async () => {
  await buildDist();
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-tables-'));
  await mkdir(path.join(folder, 'node_modules'));
  await symlink(root, path.join(folder, 'node_modules', 'trainlet'), 'junction');
  const houses = await readTable(TABLES.houses, { target: 'price' });
  const flowers = await readTable(TABLES.flowers, { target: 'kind' });
  const price = houses.columns.find(({ role }) => role === 'target');
  const models = { houses: model(houses, 1, 'price', price), flowers: model(flowers, 3, 'scores') };
  for (const name of ['houses', 'flowers']) {
    await writeFile(path.join(folder, `${name}.csv`), TABLES[name]);
    await writeFile(path.join(folder, `${name}.onnx`), models[name]);
  }
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
