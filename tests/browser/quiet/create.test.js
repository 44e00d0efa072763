// TrainingSession.create in pages of headless Chromium, beside onnxruntime-web 1.19.2's.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openSite } from '../site.js';

let site;
before(async () => {
  site = await openSite();
});
after(() => site?.close());

test('TrainingSession.create, first in the page, takes a fraction of theirs', { timeout: 120_000 }, async (t) => {
  const times = { trainlet: [], ort: [] };
  for (let i = 0; i < 5; i++)
    for (const engine of ['trainlet', 'ort']) times[engine].push(await site.inPage('timeCreate', engine));
  const [ours, theirs] = ['trainlet', 'ort'].map((engine) => times[engine].sort((a, b) => a - b)[2]);
  t.diagnostic(
    `TrainingSession.create on mnist_web, median of 5 pages: ${ours.toFixed(0)} ms, ` +
      `onnxruntime-web ${theirs.toFixed(0)} ms`,
  );
  assert.ok(ours * 6 < theirs, `${ours} ms against ${theirs} ms`);
});
