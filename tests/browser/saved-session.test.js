// session.save killed at random moments, in a folder and in IndexedDB: what TrainingSession.load gives is the former or
// the new version, whole.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const RUN = fileURLToPath(new URL('../crash/run.js', import.meta.url));
const ROUNDS = 3;
const OTHERS = ['node', 'chromium', 'firefox', 'two', 'person'].flatMap((name) => [`--${name}`, '0']);

test('no kill leaves a mixture of two sessions', { timeout: 300_000 }, () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, ...OTHERS, '--sessions', `${ROUNDS}`], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  for (const where of ['Node', 'Chromium'])
    assert.match(stdout, new RegExp(`^${where}, sessions: ${ROUNDS} kills, [1-9]\\d* saves acknowledged, [1-9]`, 'm'));
});
