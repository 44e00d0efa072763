/** Loads and data sets are never told that there is nothing while another process saves. Longer: `npm run soak`. */

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { soak } from '../../soak/soak.js';

test('a reader beside a writer that keeps 1 or 2 always finds something', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'trainlet-soak-'));
  try {
    const rows = await soak(folder, { checkpoints: 5000, samples: 4000 });
    for (const { what, reads, saves, nothing, older } of rows) {
      assert.deepEqual([nothing, older ?? 0], [0, 0], `${what}: ${reads} reads`);
      assert.ok(reads > 0 && saves > 0, `${what}: ${reads} reads, ${saves} saves`);
    }
  } finally {
    await rm(folder, { recursive: true, maxRetries: 5 });
  }
});
