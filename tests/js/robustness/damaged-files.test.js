/** Damaged files are read or refused by a TrainletError, soon. More of them: `npm run hostile`. */

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { Coverage } from '../../hostile/coverage.js';

const coverage = await Coverage.start(); // before the readers are imported
const { damageAll } = await import('../../hostile/readers.js');
const { executeAll, reachedBy } = await import('../../hostile/parsers.js');

test('150 damaged files of each kind end in arrays or a sentence', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'trainlet-hostile-'));
  try {
    for (const { name, faults } of await damageAll(folder, 150, 7)) assert.deepEqual(faults, [], name);
  } finally {
    await rm(folder, { recursive: true, maxRetries: 5 });
  }
});

test('500 executions of each reader end so, too, and reach its code', async () => {
  const rows = [];
  await executeAll(500, 7, coverage, (row) => rows.push(row));
  for (const { name, faults } of rows) assert.deepEqual(faults, [], name);
  assert.ok(rows.length > 12 && rows.filter(({ kept }) => kept > 0).length > 6);
  for (const { file, missed } of await reachedBy(coverage))
    if (/np[yz]|table|safetensors|onnx-adapter|sample-file/.test(file))
      assert.ok(missed.length < 30, `${file}: ${missed}`);
});
