// fineTune with a store: cut short at any step it goes on to the bit, and ends in the time that it has.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { CheckpointStore, fineTune } from '../../js/index.js';
import { golden } from './clusters.js';
import { pick } from './hands.js';

const engine = { worker: false, threads: 1 };
const taught = golden('resnet_folded.onnx'); // the digits 0 to 4
const named = (data) => ({ ...data, labels: data.labels.map(String) });
const weightsOf = async ({ session }) => (await session.getContiguousParameters(false)).data;

let folder, store, data;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'trainlet-fine-tune-'));
  store = await CheckpointStore.open({ directory: folder });
  data = named(pick('train', [7, 8, 9], 10));
});
after(() => rmSync(folder, { recursive: true }));

/** A store that is as dead as after a kill once it has saved so often. */
const dyingStore = (saves, stop) => ({
  load: (...given) => store.load(...given),
  save: async (...given) => {
    if (!saves--) stop.abort();
    return stop.signal.aborted ? Promise.reject(new Error('dead')) : await store.save(...given);
  },
});

test('a fineTune that was cut short, in any phase, goes on to the bit', { timeout: 300_000 }, async () => {
  const options = { engine, epochs: 6, lastLayers: 2, replay: { ...named(pick('train', [7, 8], 20)), ratio: 0.3 } };
  const whole = await fineTune(taught, data, options);
  const [name, checkpoint] = ['run', { store, name: 'run', everySteps: 1 }];
  const phases = [];
  for (const saves of [1, 9, 24, 27]) {
    const stop = new AbortController();
    const dying = { ...checkpoint, store: dyingStore(saves, stop) };
    const killed = fineTune(taught, data, { ...options, checkpoint: dying, signal: stop.signal });
    await assert.rejects(killed);
    const { meta } = await store.load(name);
    phases.push(meta.fineTune.phase);
    const tuned = await fineTune(taught, data, { ...options, checkpoint });
    assert.deepEqual(await weightsOf(tuned), await weightsOf(whole), `after ${saves} saves`);
    assert.deepEqual(tuned.report.after, whole.report.after);
    const { history } = tuned.report.phases[meta.fineTune.phase];
    const full = whole.report.phases[meta.fineTune.phase].history;
    assert.ok(history.steps < full.steps, `${history.steps} steps of ${full.steps}`);
    const { version } = tuned.report.checkpoint;
    const { bytes, meta: last } = await store.load(name, { version });
    assert.equal(last.fineTune.phase, undefined);
    assert.deepEqual(bytes, await tuned.session.saveCheckpoint());
    await store.delete(name);
  }
  assert.deepEqual([...new Set(phases)], [0, 1]);
});

test('another call does not go on from it, nor does one that was done', async () => {
  const [name, stop] = ['other', new AbortController()];
  const options = { engine, epochs: 4, checkpoint: { store, name, everySteps: 1 } };
  const onProgress = ({ done, phase }) => phase === 'head' && done === 2 && stop.abort();
  await assert.rejects(fineTune(taught, data, { ...options, onProgress, signal: stop.signal }), { code: 'aborted' });
  const fewer = named(pick('train', [7, 8, 9], 9));
  for (const [given, more] of [
    [fewer, {}],
    [data, { lr: 2e-3 }],
  ]) {
    const [plain, tuned] = [
      await fineTune(taught, given, { ...options, ...more, checkpoint: undefined }),
      await fineTune(taught, given, { ...options, ...more, checkpoint: { store, name: 'beside' } }),
    ];
    const there = await fineTune(taught, given, { ...options, ...more });
    assert.deepEqual(await weightsOf(there), await weightsOf(plain));
    assert.deepEqual(await weightsOf(tuned), await weightsOf(plain));
    assert.equal((await fineTune(taught, given, { ...options, ...more })).report.phases[0].history.epochs.length, 4);
  }
});

test('what was learned is not lost where it cannot be saved in the end', async () => {
  const full = { load: async () => undefined, save: () => Promise.reject(new Error('no room')) };
  const told = [];
  const { session, report } = await fineTune(taught, data, {
    engine,
    epochs: 2,
    checkpoint: { store: full, name: 'run' },
    onCheckpoint: ({ error }) => told.push(error?.code),
  });
  assert.deepEqual([report.accepted, report.checkpoint.error.code, told[0]], [true, 'store-failed', 'store-failed']);
  assert.ok((await session.predict(data.inputs)).scores);
});

test('maxMs is for all of the call, and what there was time for is what is taken', async () => {
  const since = performance.now();
  const { report } = await fineTune(taught, data, {
    engine,
    epochs: 100_000,
    patience: 100_000,
    lastLayers: 1,
    budget: { maxMs: 1500 },
  });
  const ms = performance.now() - since;
  assert.ok(ms > 1000 && ms < 3000, `${ms} ms`);
  assert.deepEqual(
    report.phases.map(({ history }) => history.stopped),
    ['max-ms'],
  );
  const none = await fineTune(taught, data, { engine, budget: { maxMs: 1 } });
  assert.deepEqual([none.report.phases, none.report.accepted], [[], true]);
  await assert.rejects(fineTune(taught, data, { engine, budget: { maxMs: -1 } }), /fineTune: budget: maxMs/);
  await assert.rejects(fineTune(taught, data, { engine, checkpoint: { stor: store } }), /fineTune: checkpoint/);
});
