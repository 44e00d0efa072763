/** Nothing that a page loads grows by 2 % unnoticed; who grew it is named. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROWS } from '../../sizes/rows.js';
import { complaintOf, readTable, weigh } from '../../sizes/weigh.js';
import { root } from '../../support/engines.js';

const read = (/** @type {string} */ file) => readFileSync(path.join(root, file));
const FINISHED = 'build/wasm/finished/trainlet.wasm';
/** Why the wasm files are others than the table's. */
const otherWasm = !existsSync(path.join(root, `${FINISHED}.named.wasm`))
  ? 'not linked by lld'
  : !read('js/engine/trainlet.wasm').equals(read(FINISHED)) && 'built with --fast';
const table = readTable();

for (const row of ROWS) {
  const skip = /\.wasm$|^examples/.test(row.name) && otherWasm;
  test(`${row.name} weighs as the table says`, { skip }, async () => {
    assert.equal(complaintOf(row, await weigh(row), table[row.name]), '');
  });
}

test('the table has these rows alone', () => {
  assert.deepEqual(
    Object.keys(table),
    ROWS.map(({ name }) => name),
  );
});

const before = { files: 1, raw: 1000, gzip: 500, brotli: 400, parts: { conv: 300, gemm: 200 } };

test('growth of 2 % is told with the functions that grew, less is not', () => {
  const row = { name: 'a.wasm' };
  assert.equal(complaintOf(row, { ...before, raw: 1019, gzip: 509, brotli: 407 }, before), '');
  assert.equal(complaintOf(row, { ...before, raw: 500, brotli: 100 }, before), '');
  const now = { ...before, raw: 1060, parts: { conv: 290, gemm: 250, softmax: 20 } };
  assert.deepEqual(complaintOf(row, now, before).split('\n'), [
    'a.wasm grew by 6.0 % (raw: 1000 → 1060 bytes)',
    '  gemm: +50, 250 bytes',
    '  softmax: 20 bytes, not in the table',
    'where that is wanted: npm run sizes -- --take',
  ]);
});

test('a limit holds whatever the table says, and a row must be in it', () => {
  assert.match(complaintOf({ name: 'page', most: 399 }, before, before), /^page has 400 bytes by brotli; at most 399/);
  assert.match(complaintOf({ name: 'page', mostFiles: 0 }, before, before), /^page is 1 files; at most 0 are allowed/);
  assert.match(complaintOf({ name: 'page' }, before, undefined), /^page is not in the table: npm run sizes -- --take$/);
});
