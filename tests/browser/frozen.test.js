// A page that is left while it trains and come back to: the browser freezes it with its worker, and both go on as if
// nothing had been, but for what was saved.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { startBrowser } from '../crash/browsers.js';
import { openRepository } from './repository.js';

const AWAY_MS = 4000;
const [LEFT_AT, STEPS] = [15, 60];
/** The page that trains leaves for one that goes back. */
const script = `
  if (location.search) setTimeout(() => history.back(), ${AWAY_MS});
  else {
    const tell = (told) => fetch('/talk/', { method: 'POST', body: JSON.stringify(told) });
    addEventListener('pageshow', ({ persisted }) => persisted && tell({ back: true }));
    const { CheckpointStore, generateArtifacts, Tensor, TrainingSession } = await import('./js/index.js');
    const model = new Uint8Array(await (await fetch('./tests/golden/data/w2.onnx')).arrayBuffer());
    const artifacts = await generateArtifacts(model, { loss: 'cross-entropy' });
    const count = ${(STEPS / 2) * 16};
    const x = new Tensor('float32', Float32Array.from({ length: count * 784 }, (_, i) => (i * 0.618) % 1), \
[count, 1, 28, 28]);
    const labels = new Tensor('int64', BigInt64Array.from({ length: count }, (_, i) => BigInt(i % 10)));
    const data = { inputs: { input: x }, labels: { labels } };
    const store = await CheckpointStore.open({ database: 'frozen' });
    const fit = async (more) => {
      const session = await TrainingSession.create(artifacts);
      const losses = [];
      await session.fit(data, { epochs: 2, batchSize: 16, ...more, onBatch: ({ step, loss }) => {
        losses.push(loss);
        more.onBatch?.({ step });
      } });
      await session.release();
      return losses;
    };
    const saved = [];
    try {
      const losses = await fit({
        checkpoint: { store, name: 'run' },
        onCheckpoint: ({ step, error }) => saved.push(error ? error.message : step),
        onBatch: ({ step }) => step === ${LEFT_AT} && (location.href = '?away'),
      });
      await tell({ losses, saved, plain: await fit({}) });
    } catch (error) {
      await tell({ error: \`\${error.code}: \${error.message}\` });
    }
  }`;

test('Chromium freezes a page that is left: it goes on to the bit, and what was learned is saved first', {
  timeout: 120_000,
}, async () => {
  const profile = await mkdtemp(path.join(tmpdir(), 'trainlet-frozen-'));
  const told = {};
  let hear;
  const over = new Promise((resolve) => {
    hear = resolve;
  });
  const site = await openRepository({
    script,
    kept: true,
    talk: async (request, response) => {
      Object.assign(told, await new Response(request).json());
      response.end();
      if (told.losses || told.error) hear();
    },
  });
  const browser = startBrowser('chromium', profile, site.url('plain'));
  try {
    await Promise.race([over, browser.ended]);
  } finally {
    await browser.kill();
    await site.close();
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }
  const { error, back, losses, plain, saved } = told;
  assert.deepEqual([error, back], [undefined, true]);
  assert.deepEqual(losses, plain);
  assert.equal(losses.length, STEPS);
  const [first, ...rest] = saved;
  assert.ok(first >= LEFT_AT && first < STEPS / 2, `the first save was at step ${first}`);
  assert.deepEqual(rest, [STEPS / 2, STEPS]);
});

/** A page with an open session and a checkpoint leaves for one that goes back. */
const idle = `
  const tell = (told) => fetch('/talk/', { method: 'POST', body: JSON.stringify(told) });
  const { CheckpointStore, generateArtifacts, TrainingSession } = await import('./js/index.js');
  const { slowInput, slowModel } = await import('./tests/support/slow-models.js');
  const store = await CheckpointStore.open({ database: 'frozen' });
  const found = async () => (await store.load('run'))?.bytes.length ?? 0;
  const again = performance.getEntriesByType('navigation')[0].type === 'back_forward';
  if (location.search) setTimeout(() => history.back(), 1000);
  else if (again) await tell({ back: false, found: await found() });
  else {
    const artifacts = await generateArtifacts(slowModel(3), { loss: 'cross-entropy', optimizer: 'sgd' });
    const session = await TrainingSession.create(artifacts);
    await store.save('run', await session.saveCheckpoint());
    addEventListener('pageshow', async ({ persisted }) => {
      if (!persisted) return;
      const { logits } = await session.predict(slowInput(2));
      tell({ back: true, found: await found(), dims: logits.dims });
    });
    location.href = '?away';
  }`;

for (const kind of ['chromium', 'firefox'])
  test(`${kind}: going back to a page with an open session finds what was saved`, { timeout: 120_000 }, async () => {
    const profile = await mkdtemp(path.join(tmpdir(), 'trainlet-frozen-'));
    let hear;
    const told = new Promise((resolve) => {
      hear = resolve;
    });
    const site = await openRepository({
      script: idle,
      kept: true,
      talk: async (request, response) => {
        hear(await new Response(request).json());
        response.end();
      },
    });
    const browser = startBrowser(kind, profile, site.url('isolated'));
    try {
      const { back, found, dims } = (await Promise.race([told, browser.ended])) ?? {};
      assert.ok(found > 4 * 1024 * 1024, `${found} bytes`);
      if (kind === 'chromium') assert.equal(back, true); // Firefox keeps no page whose locks are held
      if (back) assert.deepEqual(dims, [2, 3]);
    } finally {
      await browser.kill();
      await site.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    }
  });
