// The overall progress of fineTune: one number that never falls, and is 1 once, at the end.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CheckpointStore, FeatureStore, fineTune } from '../../../js/index.js';
import { clusters, golden } from '../../support/clusters.js';

const engine = { worker: false, threads: 1 };
const mlp = golden('mlp_small.onnx'); // fc1, fc2, fc3
const names = ['a', 'b', 'c', 'd', 'e'];
const { inputs, labels } = clusters(50, 3);
const data = { inputs, labels: Array.from(labels.labels.data, (label) => names[Number(label)]) };
const folder = mkdtempSync(join(tmpdir(), 'trainlet-progress-'));
after(() => rmSync(folder, { recursive: true }));

/** Collects the events of a call, in order. @param {object} options @param {any} [model] */
async function toldBy(options, model = mlp) {
  const events = [];
  const onProgress = (event) => events.push(event);
  const { session, report } = await fineTune(model, data, { engine, epochs: 6, ...options, onProgress });
  await session.release();
  return { events, report };
}

/** @param {{ phase: string, progress: number }[]} events */
function checkRising(events) {
  const all = events.map(({ progress }) => progress);
  assert.ok(
    all.every((progress, i) => progress >= (all[i - 1] ?? 0) && progress <= 1),
    `${all}`,
  );
  assert.deepEqual([all.indexOf(1), events.at(-1).phase], [all.length - 1, 'done'], `${all}`);
}

/** @param {{ progress: number }[]} events */
const beforeTheEnd = (events) => events.at(-2).progress;

for (const [title, options] of Object.entries({
  'a new head': {},
  'a new head, then the layer below': { lastLayers: 1 },
  'a new head, features not cached': { cacheFeatures: false },
  'a new head and all layers, features not cached': { cacheFeatures: false, lastLayers: 2 },
  'the model as a whole': { head: false, classes: names },
  'the last layer of the model': { head: false, classes: names, lastLayers: 1 },
}))
  test(`it rises over all stages: ${title}`, async () => {
    const { events, report } = await toldBy({ validation: 0, ...options });
    checkRising(events);
    const epochs = report.phases.reduce((sum, { history }) => sum + history.epochs.length, 0);
    assert.ok(new Set(events.map(({ progress }) => progress)).size > epochs, 'each epoch moves it');
    assert.ok(beforeTheEnd(events) > 0.9, 'all but the end');
  });

test('it jumps to 1 where early stopping ends a phase', async () => {
  const { events, report } = await toldBy({ epochs: 200, patience: 1, lr: 0.5 });
  assert.equal(report.phases[0].history.stopped, 'early-stopping');
  checkRising(events);
  assert.ok(beforeTheEnd(events) < 0.9);
});

test('features of a store count, and so do those that are there already', async () => {
  const store = await FeatureStore.open({ directory: join(folder, 'features') });
  for (const computed of [50, 0]) {
    const { events, report } = await toldBy({ cacheFeatures: { store } });
    assert.equal(report.features.store.computed, computed);
    checkRising(events);
  }
});

test('a call that goes on is where it was, and one that is finished is at 1', async () => {
  const store = await CheckpointStore.open({ directory: join(folder, 'checkpoints') });
  const checkpoint = { store, name: 'mine', everyEpochs: 1 };
  const stop = new AbortController();
  const seen = [];
  const onProgress = (event) => {
    seen.push(event);
    if (event.phase === 'head' && event.done === 3) stop.abort();
  };
  const options = { engine, epochs: 6, validation: 0, checkpoint };
  await assert.rejects(fineTune(mlp, data, { ...options, signal: stop.signal, onProgress }), { code: 'aborted' });
  const { events } = await toldBy(options);
  checkRising(events);
  const first = events.find(({ phase }) => phase === 'head');
  assert.ok(first.done > 3 && first.progress > seen.at(-1).progress, 'the epochs before count');
  const again = await toldBy(options);
  assert.deepEqual(
    again.events.map(({ phase, progress }) => [phase, progress]),
    [['done', 1]],
  );
});

const served = () => new Response(mlp, { headers: { 'content-length': `${mlp.length}` } });

test('the bytes of a model that is fetched come first', async () => {
  const { events } = await toldBy({}, served());
  checkRising(events);
  const loading = events.filter(({ phase }) => phase === 'model');
  assert.deepEqual([events[0], loading.at(-1).done], [loading[0], mlp.length]);
});

test('a listener that rejects at the end, or while the model is loaded, rejects the call', async () => {
  for (const phase of ['model', 'done']) {
    const onProgress = async (event) => {
      if (event.phase === phase) throw new RangeError(phase);
    };
    await assert.rejects(fineTune(served(), data, { engine, epochs: 1, onProgress }), new RangeError(phase));
  }
});
