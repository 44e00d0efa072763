// Features of frozen layers are computed once per example: the same losses to the bit, in a fraction of the time, and
// not where they would differ each time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { onnxFile } from '../../support/onnx-file.js';
import { batchUnit } from '../../support/recipe.js';
import { clusters, golden } from '../../support/clusters.js';
import { HERE } from '../../support/engines.js';

const CLASSES = ['a', 'b', 'c', 'd', 'e'];
const HEAD = { head: { classes: CLASSES }, additionalOutputs: ['scores'] };

const uniform = (seed, dims) =>
  new Tensor(
    'float32',
    Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, i) => 2 * batchUnit(seed, i) - 1),
    dims,
  );
const labels = (count) => ({
  labels: new Tensor(
    'int64',
    BigInt64Array.from({ length: count }, (_, i) => BigInt(i % 5)),
  ),
});
const pictures = (count) => ({ inputs: { input: uniform(7, [count, 1, 28, 28]) }, labels: labels(count) });

const artifactsOf = (model, options) => generateArtifacts(model, { ...HERE, loss: 'cross-entropy', ...options });
const sessionOf = (artifacts, engine = HERE) => TrainingSession.create(artifacts, engine);

/** The losses of each batch, those of validation, and the history of a fit in a new session. */
async function fitted(artifacts, data, options, engine = HERE) {
  const session = await sessionOf(artifacts, engine);
  const losses = [];
  const history = await session.fit(data, { epochs: 3, ...options, onBatch: ({ loss }) => losses.push(loss) });
  return { session, losses, history, bytes: await session.saveCheckpoint() };
}

/** Fits to the same bits with and without features. Returns what was kept. */
async function sameAs(artifacts, data, options) {
  const [kept, anew] = [
    await fitted(artifacts, data, options),
    await fitted(artifacts, data, { ...options, cacheFeatures: false }),
  ];
  assert.deepEqual(kept.losses, anew.losses);
  assert.deepEqual(kept.bytes, anew.bytes);
  assert.deepEqual(
    kept.history.epochs.map(({ metrics }) => metrics),
    anew.history.epochs.map(({ metrics }) => metrics),
  );
  assert.equal(anew.history.features, undefined);
  return kept.history.features;
}

test('a head on frozen layers is trained on their features, the same to the bit', async () => {
  const artifacts = await artifactsOf(golden('resnet_folded.onnx'), HEAD);
  const told = [];
  const kept = await sameAs(artifacts, pictures(37), {
    batchSize: 8,
    validation: 0.2,
    onFeatures: (e) => told.push(e),
  });
  assert.deepEqual(kept.values, ['/Flatten_output_0']);
  assert.equal(kept.bytes, 37 * 256 * 4, 'those of held-out examples too');
  assert.deepEqual(told[0], { done: 8, examples: 30, bytes: 30 * 256 * 4 }, 'batches of one size');
  assert.equal(told.at(-1).done, 30);
});

test('features of examples that travel to a worker are those of examples that are read in place', async () => {
  const artifacts = await artifactsOf(golden('resnet_folded.onnx'), HEAD);
  const here = await fitted(artifacts, pictures(37), { batchSize: 8 });
  const there = await fitted(artifacts, pictures(37), { batchSize: 8 }, { threads: 1 });
  assert.deepEqual(there.losses, here.losses);
  assert.deepEqual(there.bytes, here.bytes);
  await there.session.release();
});

test('upper layers train on features of the lower ones, with weights of examples, in groups of batches', async () => {
  const options = { requiresGrad: ['fc2.*', 'fc3.*'], loss: { type: 'cross-entropy', sampleWeights: true } };
  const artifacts = await artifactsOf(golden('mlp_small.onnx'), options);
  const data = { ...clusters(48, 3), sampleWeight: uniform(5, [48]).data.map(Math.abs) };
  const kept = await sameAs(artifacts, data, { batchSize: 8, accumulate: 2, classWeight: 'balanced' });
  assert.equal(kept.values.length, 1);
});

test('a normalization of frozen layers uses its running statistics, and is part of the features', async () => {
  const artifacts = await artifactsOf(golden('cnn_bn.onnx'), { ...HEAD, optimizer: 'sgd' });
  const { dims } = (await sessionOf(artifacts)).trainingInputs.find(({ name }) => name !== 'labels');
  const name = (await sessionOf(artifacts)).trainingInputNames.find((it) => it !== 'labels');
  const data = { inputs: { [name]: uniform(3, [20, ...dims.slice(1)]) }, labels: labels(20) };
  assert.ok(await sameAs(artifacts, data, { batchSize: 6 }));
  const moving = await artifactsOf(golden('cnn_bn.onnx'), { ...HEAD, batchNorm: 'update' });
  const { history } = await fitted(moving, data, { batchSize: 6 });
  const below = history.features?.values ?? [];
  assert.ok(!below.some((value) => /Flatten|Gemm|Pool/.test(value)), `below what moves: ${below}`);
});

test('a fit that was cut short goes on to the bit', async () => {
  const artifacts = await artifactsOf(golden('resnet_folded.onnx'), HEAD);
  const options = { epochs: 3, batchSize: 8, schedule: { type: 'cosine', lr: 0.01 } };
  const whole = await fitted(artifacts, pictures(30), options);
  const first = await fitted(artifacts, pictures(30), { ...options, maxSteps: 6 });
  const second = await fitted({ ...artifacts, checkpointState: first.bytes }, pictures(30), options);
  assert.deepEqual([...first.losses, ...second.losses], whole.losses);
  assert.deepEqual(second.bytes, whole.bytes);
  assert.ok(second.history.features);
});

test('features are left off where there is nothing to gain, or no room', async () => {
  const head = await artifactsOf(golden('resnet_folded.onnx'), HEAD);
  const all = await artifactsOf(golden('resnet_folded.onnx'));
  const stream = () => [{ ...pictures(4).inputs, ...labels(4) }];
  const off = [
    [all, pictures(8), {}, 'everything trains'],
    [head, pictures(8), { epochs: 1 }, 'one epoch'],
    [head, stream, {}, 'a stream'],
    [head, pictures(8), { cacheFeatures: { maxBytes: 8 * 256 * 4 - 1 } }, 'too large'],
    [head, pictures(8), { cacheFeatures: false }, 'not wanted'],
  ];
  for (const [artifacts, data, options, why] of off) {
    const { history } = await fitted(artifacts, data, options);
    assert.equal(history.features, undefined, why);
  }
  const { history } = await fitted(head, pictures(8), { cacheFeatures: { maxBytes: 8 * 256 * 4 } });
  assert.ok(history.features, 'just fits');
});

test('weights of frozen layers that are set during a fit count from there on', async () => {
  const artifacts = await artifactsOf(golden('resnet_folded.onnx'), HEAD);
  const ways = {
    setParameter: async (session) => {
      const { type, data, dims } = await session.getParameter('onnx::Conv_84');
      await session.setParameter(
        'onnx::Conv_84',
        new Tensor(
          type,
          data.map((x) => 0.5 * x),
          dims,
        ),
      );
    },
    loadParametersBuffer: async (session) => {
      const { data } = await session.getContiguousParameters(false);
      await session.loadParametersBuffer(new Uint8Array(data.map((x) => 0.9 * x).buffer), false);
    },
  };
  for (const [name, change] of Object.entries(ways)) {
    const run = async (cacheFeatures) => {
      const session = await sessionOf(artifacts);
      const losses = [];
      const onBatch = async ({ step, loss }) => {
        losses.push(loss);
        if (step === 6) await change(session);
      };
      const { features } = await session.fit(pictures(32), { epochs: 4, batchSize: 8, cacheFeatures, onBatch });
      assert.equal(Boolean(features), cacheFeatures);
      return losses;
    };
    const [kept, anew, unchanged] = [
      await run(true),
      await run(false),
      await fitted(artifacts, pictures(32), { epochs: 4, batchSize: 8 }),
    ];
    assert.deepEqual(kept, anew, name);
    assert.notDeepEqual(kept, unchanged.losses, name);
  }
});

test('what trains later is asked for anew', async () => {
  const session = await sessionOf(await artifactsOf(golden('resnet_folded.onnx'), { ...HEAD, requiresGrad: ['*'] }));
  const fit = async () => (await session.fit(pictures(16), { epochs: 2, batchSize: 8 })).features?.values.length ?? 0;
  assert.equal(await fit(), 0);
  await session.setTrainable(['head.*']);
  assert.equal(await fit(), 1);
  await session.setTrainable(['onnx::Conv_8?', 'head.*']);
  assert.ok((await fit()) >= 1);
  await session.setTrainable(['onnx::Conv_69', 'head.*']);
  assert.equal(await fit(), 0);
});

/** x ─ Gemm ─ n, which `more` makes of h ─ Gemm ─ y. */
const twoLayers = (more) =>
  onnxFile({
    name: 'two',
    nodes: [
      { op: 'Gemm', inputs: ['x', 'w1'], outputs: ['h'], attributes: {} },
      ...more,
      { op: 'Gemm', inputs: ['n', 'w2'], outputs: ['y'], attributes: {} },
    ],
    weights: new Map([
      ['w1', uniform(1, [6, 7])],
      ['w2', uniform(2, [7, 5])],
      ['half', { type: 'float32', dims: [], data: Float32Array.of(0.5) }],
    ]),
    inputs: [{ name: 'x', type: 'float32', dims: ['N', 6] }],
    outputs: [{ name: 'y', type: 'float32', dims: ['N', 5] }],
  });
const rows = (count) => ({ inputs: { x: uniform(9, [count, 6]) }, labels: labels(count) });

test('what depends on the other examples of a batch, or on chance, is computed each time', async () => {
  const mixes = twoLayers([
    { op: 'ReduceMean', inputs: ['h'], outputs: ['m'], attributes: { axes: [0] } },
    { op: 'Sub', inputs: ['h', 'm'], outputs: ['n'], attributes: {} },
  ]);
  const options = { requiresGrad: ['w2'] };
  assert.equal(await sameAs(await artifactsOf(mixes, options), rows(20), { batchSize: 8 }), undefined);
  const plain = twoLayers([{ op: 'Tanh', inputs: ['h'], outputs: ['n'], attributes: {} }]);
  assert.deepEqual((await sameAs(await artifactsOf(plain, options), rows(20), { batchSize: 8 })).values, ['n']);
  const noise = twoLayers([
    { op: 'RandomNormalLike', inputs: ['h'], outputs: ['r'], attributes: {} },
    { op: 'Add', inputs: ['h', 'r'], outputs: ['n'], attributes: {} },
  ]);
  const kept = await sameAs(await artifactsOf(noise, options), rows(20), { batchSize: 8 });
  assert.deepEqual(kept?.values ?? ['h'], ['h'], 'what is drawn is drawn anew');
});

test('a signal stops the computing of features, and another fit is fine', async () => {
  const session = await sessionOf(await artifactsOf(golden('resnet_folded.onnx'), HEAD));
  const stop = new AbortController();
  const options = { epochs: 2, batchSize: 8, signal: stop.signal, onFeatures: () => stop.abort() };
  await assert.rejects(session.fit(pictures(16), options), { code: 'aborted' });
  assert.ok((await session.fit(pictures(16), { epochs: 2, batchSize: 8 })).features);
  await assert.rejects(session.fit(pictures(16), { cacheFeatures: 'yes' }), { code: 'invalid-argument' });
  await assert.rejects(session.fit(pictures(16), { cacheFeatures: { most: 1 } }), { code: 'invalid-argument' });
});
