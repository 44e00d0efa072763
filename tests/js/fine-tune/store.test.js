// fineTune with a store: cut short at any step it goes on to the bit, and ends in the time that it has.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { CheckpointStore, fineTune, forgetSamples, SampleStore, Tensor, TrainingSession } from '../../../js/index.js';
import { golden } from '../../support/clusters.js';
import { pick } from '../../support/hands.js';

const engine = { worker: false, threads: 1 };
const taught = golden('resnet_folded.onnx'); // the digits 0 to 4
const named = (data) => ({ ...data, labels: data.labels.map(String) });
const weightsOf = async ({ session }) => (await session.getContiguousParameters(false)).data;

let folder, store, data;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'trainlet-fine-tune-'));
  store = await CheckpointStore.open({ directory: folder, keep: 40 });
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
  const [name, checkpoint] = ['run', { store, name: 'run', everySteps: 1, everyEpochs: 1 }];
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

test('a call that is finished gives its session and report again, without training', async () => {
  const asked = { engine, epochs: 4, unknown: true, checkpoint: { store, name: 'finished' } };
  const first = await fineTune(taught, data, asked);
  const phases = [];
  const onProgress = ({ phase }) => phases.push(phase);
  const again = await fineTune(taught, data, { ...asked, onProgress });
  assert.deepEqual(phases, ['done']);
  assert.deepEqual(again.report, JSON.parse(JSON.stringify(first.report)));
  assert.deepEqual(await again.session.saveCheckpoint(), await first.session.saveCheckpoint());
  for (const { session, artifacts } of [first, again]) {
    const checkpointState = await session.saveCheckpoint();
    const other = await TrainingSession.create({ ...artifacts, checkpointState }, engine);
    assert.deepEqual(await weightsOf({ session: other }), await weightsOf(first));
  }
  for (const tuned of [first, again]) await tuned.rollback();
  assert.deepEqual(await weightsOf(again), await weightsOf(first));
  for (const more of [{ accept: { lossRise: 1 } }, { unknown: undefined }, { seed: 1 }]) {
    await fineTune(taught, data, { ...asked, ...more, onProgress });
    assert.ok(phases.includes('head'), 'another call trains');
    phases.length = 0;
  }
});

test('what was learned is not lost where it cannot be saved in the end', async () => {
  const full = { load: async () => undefined, save: () => Promise.reject(new Error('no room')) };
  const told = [];
  const { session, report } = await fineTune(taught, data, {
    engine,
    epochs: 2,
    checkpoint: { store: full, name: 'run', everyEpochs: 1 },
    onCheckpoint: ({ error }) => told.push(error?.code),
  });
  assert.deepEqual([report.accepted, report.checkpoint.error.code, told[0]], [true, 'store-failed', 'store-failed']);
  assert.ok((await session.predict(data.inputs)).scores);
});

/** Each example by itself. */
const each = ({ inputs: { input }, labels }) =>
  labels.map((label, i) => ({
    inputs: { input: new Tensor('float32', input.data.slice(i * 784, (i + 1) * 784), [1, 1, 28, 28]) },
    label,
  }));
async function storeOf(name, samples) {
  const made = await SampleStore.open({ directory: folder, name });
  const ids = [];
  for (const sample of samples) ids.push(await made.add(sample));
  return { made, ids };
}

test('a sample is forgotten: the weights are to the bit those of a training that never saw it', async () => {
  const samples = each(data);
  const [gone, replayed] = [11, 3];
  const [{ made, ids }, { made: never }] = [
    await storeOf('all', samples),
    await storeOf(
      'never',
      samples.filter((_, i) => i !== gone),
    ),
  ];
  const known = named(pick('train', [7, 8], 20));
  known.inputs.input.data.set(samples[gone].inputs.input.data, replayed * 784); // it is among the replay samples too
  const others = {
    inputs: {
      input: new Tensor(
        'float32',
        known.inputs.input.data.filter((_, i) => Math.floor(i / 784) !== replayed),
        [39, 1, 28, 28],
      ),
    },
    labels: known.labels.filter((_, i) => i !== replayed),
  };
  const options = { engine, epochs: 5, checkpoint: { store, name: 'person', everySteps: 1 } };
  const classes = await never.classes();
  const knew = await fineTune(taught, await made.dataset(), { ...options, classes, replay: known });
  const before = await store.versions('person');

  const { session, report } = await forgetSamples(taught, made, ids[gone], { ...options, replay: known });
  const plain = { ...options, checkpoint: undefined, classes, replay: others };
  const without = await fineTune(taught, await never.dataset(), plain);
  assert.deepEqual(report.forgotten, { samples: [ids[gone]], checkpoints: before.length, replay: 1, left: [] });
  assert.deepEqual(await weightsOf({ session }), await weightsOf(without));
  assert.notDeepEqual(await weightsOf({ session }), await weightsOf(knew));
  assert.equal(await made.get(ids[gone]), undefined);
  const [was, is] = [knew, { report }].map(({ report: { phases } }) => phases[0].history.features.bytes);
  const row = 256 * 4;
  assert.deepEqual(
    [was, is],
    [(24 + 20 + 6 + 20) * row, (23 + 19 + 6 + 20) * row],
    'of what is learned, held out or judges, and of nothing else',
  );
  const fresh = await store.versions('person');
  assert.ok(before.length > 0 && fresh.length > 0);
  const newest = await store.load('person', { version: report.checkpoint.version });
  assert.deepEqual(newest.bytes, await session.saveCheckpoint());
  assert.ok(fresh.every(({ meta }) => meta.fineTune.key === newest.meta.fineTune.key));
  assert.ok(before.every(({ meta }) => meta.fineTune.key !== newest.meta.fineTune.key));
});

test('what is left of a forgotten sample is told, and a call that was cut short is made again', async () => {
  const samples = each(data);
  const { made, ids } = await storeOf('twice', [...samples, samples[4]]);
  const checkpoint = { store, name: 'twice' };
  await store.save('twice', new Uint8Array(9));
  let others = 0;
  const other = {
    ...checkpoint,
    store: {
      versions: (name) => store.versions(name),
      load: (name) => store.load(name),
      delete: async (name) => {
        await store.delete(name);
      },
      save: async (...given) => {
        if (!others++) await store.save(given[0], new Uint8Array(9)); // like another tab
        return await store.save(...given);
      },
    },
  };
  const options = { engine, epochs: 2, checkpoint: other };
  const { report } = await forgetSamples(taught, made, [ids[4]], options);
  assert.equal(report.forgotten.left.length, 2);
  assert.match(report.forgotten.left[0], /^1 other sample has the same inputs$/);
  assert.match(report.forgotten.left[1], /^version 1 of checkpoint 'twice' was saved by another call$/);

  const stop = new AbortController();
  const onProgress = ({ done }) => done === 3 && stop.abort();
  const whole = { ...options, epochs: 5, checkpoint: { ...checkpoint, everyEpochs: 1 } };
  const again = { ...whole, signal: stop.signal, onProgress };
  await assert.rejects(forgetSamples(taught, made, ids[30], again), { code: 'aborted' });
  assert.equal((await made.list()).length, 29);
  await store.save('twice', new Uint8Array(9)); // saved by a call that may know them
  const anew = await forgetSamples(taught, made, ids[30], whole);
  assert.ok(anew.report.forgotten.checkpoints > 0);
  assert.deepEqual([anew.report.phases[0].history.epochs.length, anew.report.forgotten.left], [5, []]);
  const cut = new AbortController();
  const cutting = {
    ...whole,
    signal: cut.signal,
    onProgress: ({ phase, done }) => phase === 'head' && done === 3 && cut.abort(),
  };
  await assert.rejects(forgetSamples(taught, made, ids[20], cutting), { code: 'aborted' });
  const rest = await forgetSamples(taught, made, ids[20], whole);
  assert.deepEqual(rest.report.forgotten, { samples: [], checkpoints: 0, replay: 0, left: [] });
  assert.equal(rest.report.phases[0].history.epochs.length, 2, 'it goes on');
  await assert.rejects(forgetSamples(taught, made, [], options), /wanted the id of a sample, or an array of ids, not/);
  await assert.rejects(forgetSamples(taught, made, ids[5], { epoch: 1 }), /epoch/);
  assert.ok(await made.get(ids[5]), 'nothing is deleted by a call that is refused');
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
