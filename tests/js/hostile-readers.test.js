/** Damaged data files are read or refused by a TrainletError, soon. More of them: `npm run hostile`. */

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { damageAll } from '../hostile/readers.js';

test('150 damaged files of each kind end in arrays or a sentence', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'trainlet-hostile-'));
  try {
    for (const { name, faults } of await damageAll(folder, 150, 7)) assert.deepEqual(faults, [], name);
  } finally {
    await rm(folder, { recursive: true, maxRetries: 5 });
  }
});
