// A fit whose loss explodes, though it stays finite, saves beside what was good before, and drops none of it.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { CheckpointStore, generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { HERE } from '../../support/engines.js';

const row = (size) =>
  new Tensor(
    'float32',
    Float32Array.from({ length: 8 * size }, (_, i) => Math.sin(i * i)),
    [8, size],
  );
const data = { inputs: { input: row(9) }, labels: { target: row(3) } };

test('a fit that diverges keeps the versions from before', async (t) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'trainlet-diverged-'));
  t.after(() => rm(directory, { recursive: true }));
  const model = await readFile(new URL('../../golden/data/regression.onnx', import.meta.url));
  const artifacts = await generateArtifacts(model, { ...HERE, loss: 'mse', optimizer: { type: 'sgd', lr: 0.01 } });
  const store = await CheckpointStore.open({ directory, keep: 1 });
  const options = { epochs: 6, batchSize: 4, schedule: (step) => (step < 6 ? 0.01 : 100), shuffle: false };
  const open = async (checkpointState = artifacts.checkpointState) =>
    await TrainingSession.create({ ...artifacts, checkpointState }, HERE);
  const seen = async () =>
    (await store.versions('run')).map(({ meta: { epoch, diverged = false } }) => [epoch, diverged]);

  const whole = await open();
  const { epochs } = await whole.fit(data, { ...options, checkpoint: { store, name: 'run' } });
  const losses = epochs.map(({ loss }) => loss);
  assert.ok(losses[2] < 1 && losses[5] > 1000 && losses[5] < Infinity, String(losses));
  assert.deepEqual(await seen(), [
    [2, false],
    [5, true],
  ]);
  const [good] = await store.versions('run');
  const restored = await open((await store.load('run', { version: good.version })).bytes);
  assert.ok((await restored.evaluate(data)).loss < 1);

  await store.delete('run');
  const cut = await open();
  await cut.fit(data, { ...options, maxSteps: 6, checkpoint: { store, name: 'run' } });
  const resumed = await open((await store.load('run')).bytes);
  await resumed.fit(data, { ...options, checkpoint: { store, name: 'run' } });
  assert.deepEqual((await seen()).at(-1), [5, true], 'a resumed fit knows the smallest loss from before');
  assert.deepEqual((await seen())[0][1], false);
  for (const session of [whole, restored, cut, resumed]) await session.release();
});
