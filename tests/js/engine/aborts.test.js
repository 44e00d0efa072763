/** Aborts amid long runs are heard soon, as is a release; `npm run aborts` does so by the hundred. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { abortRuns, figures, KINDS, releaseAmid } from '../../aborts/aborts.js';

for (const [kind, { most }] of Object.entries(KINDS)) {
  test(`aborts amid ${kind} are heard`, { timeout: 120_000 }, async (t) => {
    const { median, most: worst } = figures(await abortRuns(kind, 5));
    t.diagnostic(`${median} ms, at the most ${worst}`);
    assert.ok(median < most, `${median} ms`);
  });
}

for (const kind of ['strings', 'MatMul']) {
  test(`release amid ${kind} ends at once, and every call with it`, { timeout: 120_000 }, async (t) => {
    const { median, most: worst } = figures(await releaseAmid(kind, 3));
    t.diagnostic(`${median} ms, at the most ${worst}`);
    assert.ok(median < 600, `${median} ms`);
  });
}

test('helpers of a pool stop amid their part of a product, too', { timeout: 120_000 }, async () => {
  const { median } = figures(await abortRuns('MatMul', 5, Math.random, 2));
  assert.ok(median < KINDS.MatMul.most, `${median} ms`);
});
