/**
 * The package with the real engine in Node: train, evaluate, predict, save, resume to the bit, export, and each session
 * function.
 */

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { compileEngine } from '../../../js/engine/compile.js';
import { Core } from '../../../js/engine/core.js';
import { Engine, instanceFor } from '../../../js/engine/engine.js';
import { CheckpointStore, generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import {
  attribute,
  attributeProto,
  graphProto,
  info,
  modelProto,
  node,
  opsetId,
  weight,
} from '../../support/onnx-file.js';
import { clusters, FEATURES, golden } from '../../support/clusters.js';
import { THREADED } from '../../support/engines.js';
import { loadOrt } from '../../support/ort.js';

const ADAM = { type: 'adam', lr: 0.01 };
const OPTIONS = { loss: 'cross-entropy', optimizer: ADAM, additionalOutputs: ['logits'] };
const artifacts = await generateArtifacts(golden('mlp_small.onnx'), OPTIONS);
const DATA = clusters(200, 1);

/** @type {TrainingSession[]} */
const open = [];
async function create(parts = artifacts, options = {}) {
  open.push(await TrainingSession.create(parts, options));
  return open.at(-1);
}
after(() => Promise.all(open.map((session) => session.release())));

const parametersOf = async (session) => (await session.getContiguousParameters(false)).data;

test('the artifacts are four files and the names are those of ONNX Runtime', async () => {
  for (const key of ['trainModel', 'evalModel', 'optimizerModel', 'checkpointState'])
    assert.ok(artifacts[key].length > 100, key);
  const session = await create();
  assert.deepEqual(session.trainingInputNames, ['input', 'labels']);
  assert.deepEqual(session.trainingOutputNames.slice(1), ['logits']);
  assert.deepEqual(session.evalOutputNames.slice(1), ['logits']);
  assert.equal(
    session.parameters.every(({ trainable }) => trainable),
    true,
  );
});

test('fit learns, evaluate and predict agree, and what is exported says the same', async () => {
  const session = await create();
  const before = await session.evaluate(DATA);
  const events = [];
  const history = await session.fit(DATA, {
    epochs: 12,
    batchSize: 16,
    seed: 1,
    validation: clusters(50, 2),
    onBatch: (e) => events.push(e),
  });
  assert.equal(history.stopped, 'completed');
  assert.equal(events.length, 12 * 13);
  const { loss, accuracy } = await session.evaluate(DATA, { batchSize: 64 });
  assert.ok(loss < before.loss / 3 && accuracy > 0.95, `loss ${before.loss} → ${loss}, accuracy ${accuracy}`);
  assert.ok(history.epochs.at(-1).metrics.val_accuracy > 0.9, JSON.stringify(history.epochs.at(-1).metrics));
  assert.ok(history.epochs.at(-1).metrics.accuracy > 0.9);

  const { logits } = await session.predict(DATA.inputs);
  assert.deepEqual(logits.dims, [200, 5]);
  const model = await session.exportModel();
  const inference = await InferenceSession.create(model);
  assert.deepEqual([inference.inputNames, inference.outputNames], [['input'], ['logits']]);
  assert.deepEqual((await inference.run(DATA.inputs)).logits.data, logits.data);
  await inference.release();

  const ort = loadOrt();
  const reference = await ort.InferenceSession.create(model);
  const { data, dims } = DATA.inputs.input;
  const theirs = (await reference.run({ input: new ort.Tensor('float32', data, dims) })).logits.data;
  logits.data.forEach((v, i) =>
    assert.ok(Math.abs(v - theirs[i]) < 1e-4 * Math.max(1, Math.abs(v)), `logit ${i}: ${v}, ONNX Runtime ${theirs[i]}`),
  );
});

test('a worker and this thread give the same bits', async () => {
  const [worker, here] = [await create(), await create(artifacts, { worker: false })];
  for (const session of [worker, here]) await session.fit(DATA, { epochs: 2, seed: 4 });
  assert.deepEqual(await parametersOf(worker), await parametersOf(here));
  assert.deepEqual(await worker.evaluate(DATA), await here.evaluate(DATA));
});

for (const [name, data] of [
  ['mlp_small.onnx', DATA],
  ['cnn_bn.onnx', undefined],
]) {
  test(`${name}: k steps, save, load and the rest are the same to the bit as all at once`, async () => {
    const parts =
      name === 'mlp_small.onnx'
        ? artifacts
        : await generateArtifacts(golden(name), { ...OPTIONS, additionalOutputs: [] });
    const set = data ?? (await imagesFor(parts));
    const options = {
      epochs: 2,
      batchSize: 32,
      seed: 9,
      accumulate: 2,
      schedule: { type: 'cosine', lr: 0.02, steps: 8 },
    };
    const whole = await create(parts);
    const { steps } = await whole.fit(set, options);
    const wanted = await whole.saveCheckpoint();
    for (const k of [1, 2, steps - 1]) {
      const first = await create(parts);
      await first.fit(set, { ...options, maxSteps: k });
      const second = await create({ ...parts, checkpointState: await first.saveCheckpoint() });
      assert.equal((await second.fit(set, options)).steps, steps - k);
      assert.deepEqual(await second.saveCheckpoint(), wanted, `cut after ${k} of ${steps}`);
    }
  });
}

/** Random images and labels in the shape a model wants. */
async function imagesFor(parts) {
  const session = await create(parts);
  const [{ name, dims }] = session.trainingInputs;
  const shape = [100, ...dims.slice(1)];
  const size = shape.reduce((a, b) => a * b);
  const data = Float32Array.from({ length: size }, (_, i) => Math.sin(i * 12.9898));
  return {
    inputs: { [name]: new Tensor('float32', data, shape) },
    labels: {
      labels: new Tensor(
        'int64',
        Array.from({ length: 100 }, (_, i) => i % 3),
      ),
    },
  };
}

test('a fit that is stopped leaves a checkpoint that another session continues', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'trainlet-fit-'));
  const store = await CheckpointStore.open({ directory });
  const options = { epochs: 2, seed: 3 };
  const whole = await create();
  await whole.fit(DATA, options);
  const session = await create();
  const stop = new AbortController();
  const fitting = session.fit(DATA, {
    ...options,
    checkpoint: { store, name: 'run' },
    signal: stop.signal,
    onBatch: ({ step }) => {
      if (step === 9) stop.abort();
    },
  });
  await assert.rejects(fitting, (error) => error.code === 'aborted' && error.history.steps === 9);
  const resumed = await create({ ...artifacts, checkpointState: (await store.load('run')).bytes });
  await resumed.fit(DATA, options);
  assert.deepEqual(await parametersOf(resumed), await parametersOf(whole));
  await rm(directory, { recursive: true });
});

for (const name of ['mlp_small.onnx', 'cnn_bn.onnx']) {
  test(`${name}: stopped after any batch, also in a group, or saved in a step, a fit has its bits`, async () => {
    const parts =
      name === 'mlp_small.onnx'
        ? artifacts
        : await generateArtifacts(golden(name), { ...OPTIONS, additionalOutputs: [] });
    const data = name === 'mlp_small.onnx' ? clusters(50, 3) : await imagesFor(parts);
    const options = {
      epochs: 3,
      batchSize: 16,
      seed: 9,
      accumulate: 3,
      validation: 0.2,
      schedule: { type: 'linear', lr: 0.05 },
      earlyStopping: { patience: 1, restoreBest: true },
    };
    const whole = await create(parts, THREADED);
    const { epochs, stopped } = await whole.fit(data, options);
    const wanted = [await whole.saveCheckpoint(), epochs.at(-1).metrics, stopped];
    const continueFrom = async (checkpointState, cut) => {
      const second = await create({ ...parts, checkpointState }, THREADED);
      const history = await second.fit(data, options);
      assert.deepEqual([await second.saveCheckpoint(), history.epochs.at(-1).metrics, history.stopped], wanted, cut);
    };
    const batches = epochs.length * Math.ceil((name === 'mlp_small.onnx' ? 40 : 80) / 16);
    for (let k = 1; k <= batches; k++) {
      const [first, stop] = [await create(parts, THREADED), new AbortController()];
      let left = k;
      const saving = [];
      const onBatch = () => {
        if (--left === 1) setTimeout(() => saving.push(first.saveCheckpoint()));
        if (!left) stop.abort();
      };
      await assert.rejects(
        first.fit(data, { ...options, onBatch, signal: stop.signal }),
        (error) => error.code === 'aborted',
        `${k}`,
      );
      await continueFrom(await first.saveCheckpoint(), `cut after ${k} of ${batches} batches`);
      for (const bytes of await Promise.all(saving)) await continueFrom(bytes, `saved about batch ${k}`);
    }
  });
}

test('stopped at any moment, amid a run of a group too, a fit goes on to the same bits', async (t) => {
  const parts = await generateArtifacts(golden('cnn_bn.onnx'), { ...OPTIONS, additionalOutputs: [] });
  const data = await imagesFor(parts);
  const options = { epochs: 30, batchSize: 50, seed: 9, accumulate: 2 };
  const whole = await create(parts);
  await whole.fit(data, options);
  const wanted = await whole.saveCheckpoint();
  let amid = 0;
  for (let k = 0; k < 12; k++) {
    const [first, stop] = [await create(parts), new AbortController()];
    let left = 2 + 4 * k;
    const onBatch = () => {
      if (!--left) setTimeout(() => stop.abort(), k % 4);
    };
    await first.fit(data, { ...options, onBatch, signal: stop.signal }).catch((error) => {
      assert.equal(error.code, 'aborted');
      amid += Number(/the run was stopped|amid/.test(error.message));
    });
    const second = await create({ ...parts, checkpointState: await first.saveCheckpoint() });
    await first.release();
    await second.fit(data, options);
    assert.deepEqual(await second.saveCheckpoint(), wanted, `stopped about batch ${2 + 4 * k}`);
    await second.release();
  }
  t.diagnostic(`${amid} of 12 were stopped amid a run`);
});

test('a fit whose parameters would become infinite says so, and leaves the last good checkpoint', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'trainlet-infinite-'));
  const store = await CheckpointStore.open({ directory });
  const session = await create(artifacts, { worker: false });
  const fitting = session.fit(DATA, {
    seed: 3,
    schedule: (step) => (step < 3 ? 0.01 : 3e38),
    checkpoint: { store, name: 'run', everySteps: 1 },
  });
  await assert.rejects(
    fitting,
    (error) =>
      error.code === 'non-finite-loss' &&
      error.history.steps === 3 &&
      /has \d+ values that are not finite/.test(error.message),
  );
  const { bytes, meta } = await store.load('run');
  assert.equal(meta.step, 3);
  const good = await create({ ...artifacts, checkpointState: bytes }, { worker: false });
  assert.ok((await parametersOf(good)).every(Number.isFinite));
  await good.fit(DATA, { seed: 3, maxSteps: 1 });
  await rm(directory, { recursive: true });
});

test('restoreBest brings the parameters of the best epoch back', async () => {
  const session = await create();
  const kept = [];
  const { epochs } = await session.fit(DATA, {
    epochs: 6,
    schedule: (step) => (step < 14 ? 0.01 : 1),
    earlyStopping: { monitor: 'val_loss', patience: 2, restoreBest: true },
    validation: 0.2,
    onEpoch: ({ metrics }) => kept.push(metrics.val_loss),
  });
  const rest = {
    inputs: { input: rows(DATA.inputs.input, 160, 200) },
    labels: { labels: rows(DATA.labels.labels, 160, 200) },
  };
  const { loss } = await session.evaluate(rest);
  assert.ok(epochs.length < 6);
  assert.ok(Math.abs(loss - Math.min(...kept)) < 1e-6, `${loss} of ${kept}`);
});
const rows = ({ type, data, dims: [n, ...rest] }, from, to) =>
  new Tensor(type, data.slice((from * data.length) / n, (to * data.length) / n), [to - from, ...rest]);

test('the state of a session is zero wherever in used memory it comes to lie', async () => {
  const module = await compileEngine({});
  const settings = [
    ['loss.type', 'cross-entropy'],
    ['optimizer.type', 'adam'],
    ['requiresGrad', '*'],
  ];
  const make = (core, model) => core.artifacts({ model: new Uint8Array(golden(model)), external: [], settings });
  const NAMES = { train: 'trainModel', eval: 'evalModel', optimizer: 'optimizerModel', checkpoint: 'checkpointState' };
  /**
   * A checkpoint with the state of an optimizer that took no step, from an engine that made artifacts of these models
   * before.
   */
  const saved = async (made, ...models) => {
    const core = await Core.create({ module });
    for (const model of models) make(core, model);
    core.load({
      parts: Object.entries(NAMES).map(([which, key]) => ({ which, bytes: made[key] })),
      external: [],
      maxMemoryBytes: 0,
    });
    core.optimize(); // with gradients that must be zero
    return core.save({ optimizerState: true, format: 'trainlet' });
  };
  for (const model of ['mlp_small.onnx', 'w1.onnx']) {
    const made = make(await Core.create({ module }), model);
    const clean = await saved(made);
    assert.ok(clean.length > 2 * made.checkpointState.length, 'the state of the optimizer is missing');
    for (const before of [['mlp_small.onnx'], ['w1.onnx'], ['w2.onnx', 'mlp_small.onnx']]) {
      assert.equal(Buffer.compare(await saved(made, ...before), clean), 0, `${model} after ${before}`);
    }
  }
});

test('step, and train, optimize and reset one by one, are the same', async () => {
  const [one, three] = [await create(), await create()];
  const feeds = { input: rows(DATA.inputs.input, 0, 16), labels: rows(DATA.labels.labels, 0, 16) };
  for (let i = 0; i < 3; i++) {
    const { loss } = await one.step(feeds);
    const outputs = await three.runTrainStep(feeds);
    assert.equal(Math.fround(loss), outputs[three.trainingOutputNames[0]].data[0]);
    await three.runOptimizerStep();
    await three.lazyResetGrad();
  }
  assert.deepEqual(await parametersOf(one), await parametersOf(three));
  assert.deepEqual(Object.keys(await three.runTrainStep(feeds, ['logits'])), ['logits']);
  assert.deepEqual(Object.keys(await three.runEvalStep(feeds, [three.evalOutputNames[0]])), [three.evalOutputNames[0]]);
});

test('accumulate adds gradients up over batches, the last group of an epoch being smaller', async () => {
  const [fitted, byHand] = [await create(), await create()];
  const data = {
    inputs: { input: rows(DATA.inputs.input, 0, 20) },
    labels: { labels: rows(DATA.labels.labels, 0, 20) },
  };
  const { steps } = await fitted.fit(data, { batchSize: 4, accumulate: 2, shuffle: false });
  assert.equal(steps, 3);
  for (let i = 0; i < 5; i++) {
    await byHand.runTrainStep({
      input: rows(DATA.inputs.input, 4 * i, 4 * i + 4),
      labels: rows(DATA.labels.labels, 4 * i, 4 * i + 4),
    });
    if (i % 2 === 0 && i < 4) continue;
    await byHand.runOptimizerStep();
    await byHand.lazyResetGrad();
  }
  assert.deepEqual(await parametersOf(fitted), await parametersOf(byHand));
});

test('parameters by name and as one buffer', async () => {
  const [a, b] = [await create(), await create()];
  await a.fit(DATA, { maxSteps: 3 });
  const size = await a.getParametersSize();
  assert.equal(
    size,
    a.parameters.reduce((sum, { dims }) => sum + dims.reduce((x, d) => x * d, 1), 0),
  );
  const all = await a.getContiguousParameters();
  assert.deepEqual(all.dims, [size]);
  await b.loadParametersBuffer(new Uint8Array(all.data.buffer));
  assert.deepEqual(await parametersOf(b), all.data);
  await assert.rejects(b.loadParametersBuffer(new Uint8Array(8)), /wanted a Uint8Array of \d+ bytes, not 8/);

  const [{ name, dims }] = a.parameters;
  const value = await a.getParameter(name);
  assert.deepEqual(value.dims, dims);
  const other = new Tensor(
    'float32',
    value.data.map((v) => v + 1),
    dims,
  );
  await a.setParameter(name, other);
  assert.deepEqual(await a.getParameter(name), other);
});

test('learning rate, seed and properties', async () => {
  const session = await create();
  assert.ok(Math.abs((await session.getLearningRate()) - 0.01) < 1e-8);
  await session.setLearningRate(0.5);
  await session.setSeed(7n);
  session.properties.set('epoch', -3n);
  session.properties.set('best', 0.1);
  session.properties.set('name', 'größer "7"\n');
  session.properties.set('gone', 1);
  session.properties.delete('gone');
  const loaded = await create({ ...artifacts, checkpointState: await session.saveCheckpoint() });
  assert.equal(await loaded.getLearningRate(), 0.5);
  assert.deepEqual(
    new Map(loaded.properties.entries()),
    new Map([
      ['epoch', -3n],
      ['best', Math.fround(0.1)],
      ['name', 'größer "7"\n'],
    ]),
  );
});

test('a property that would come back otherwise, or not at all, is refused, and every other comes back', async () => {
  const session = await create();
  const { properties } = session;
  const refused = (name, value, words) =>
    assert.throws(
      () => properties.set(name, value),
      (error) => error.code === 'invalid-argument' && words.test(error.message),
    );
  for (const [name, words] of [
    ['', /name must not be empty/],
    ['a\0b', /zero character/],
    ['a\uD800', /half of a surrogate/],
    ['\uDC00\uD800', /half of/],
    ['ß'.repeat(513), /1026 bytes or more, at most 1024/],
    [null, /must be a string, not null/],
    [7, /not number/],
    [Symbol('s'), /not symbol/],
  ]) {
    refused(name, 1n, words);
  }
  for (const [value, words] of [
    ['a\0b', /the value of property 'x' must not have a zero/],
    ['\uDFFF', /half of/],
    ['x'.repeat(2 ** 24 + 1), /at most 16777216/],
    [1e39, /finite number \(of float32\)/],
    [true, /bigint of 64 bits/],
    [Symbol('s'), /bigint of/],
    [null, /bigint of/],
  ]) {
    refused('x', value, words);
  }
  assert.deepEqual([...properties.entries()], []);
  assert.equal(properties.delete('a\0b'), false);
  const kept = new Map([
    ['n'.repeat(1024), 'v'.repeat(100_000)],
    ['😀 "\\\n\u0001', '\uFEFF😀\u2028'],
    ['__proto__', -(2n ** 63n)],
    ['a', ''],
    ['tiny', Math.fround(1e-45)],
  ]);
  for (const [name, value] of kept) properties.set(name, value);
  for (const options of [{}, { format: 'ort' }, { format: 'ort', version: 1 }]) {
    const loaded = await create({ ...artifacts, checkpointState: await session.saveCheckpoint(options) });
    assert.deepEqual(new Map(loaded.properties.entries()), kept);
  }
});

test('the types name the losses and optimizers that the engine has', async () => {
  const place = { threads: 1, reproducible: true };
  const { instance } = await instanceFor({ ...place, module: await compileEngine(place) });
  const { constants } = new Engine(instance);
  const types = await readFile(new URL('../../../js/types/loss-and-optimizer.d.ts', import.meta.url), 'utf8');
  const declared = (name) => {
    const [union] = types.match(new RegExp(`export type ${name} = [^;]+;`));
    return [...union.matchAll(/'([^']+)'/g)].map(([, word]) => word).sort();
  };
  assert.deepEqual(declared('LossType'), constants.losses.toSorted());
  assert.deepEqual(declared('OptimizerType'), constants.optimizers.toSorted());
});

test('an optimizer has what it is given, whether before its type or after', async () => {
  const [before, after] = [
    { lr: 0.25, betas: [0.8, 0.99], type: 'adam' },
    { type: 'adam', lr: 0.25, betas: [0.8, 0.99] },
  ];
  const made = [before, after].map((optimizer) =>
    generateArtifacts(golden('mlp_small.onnx'), { ...OPTIONS, optimizer }),
  );
  const [first, second] = await Promise.all(made);
  assert.deepEqual(first.optimizerModel, second.optimizerModel);
  const session = await create(first);
  assert.equal(await session.getLearningRate(), 0.25);
});

test('a step that would make parameters infinite is undone, and the sentence names one', async () => {
  const session = await create(await generateArtifacts(golden('mlp_small.onnx'), { ...OPTIONS, optimizer: 'adamw' }));
  const before = await parametersOf(session);
  const feeds = { ...clusters(16, 1).inputs, ...clusters(16, 1).labels };
  await session.setLearningRate(3e38);
  await assert.rejects(
    session.step(feeds),
    (error) =>
      error.code === 'non-finite-loss' &&
      /parameter '[\w.]+' has \d+ values that are not finite: the step is undone/.test(error.message),
  );
  assert.deepEqual(await parametersOf(session), before);
  await session.setLearningRate(0.01);
  assert.ok((await session.step(feeds)).loss > 0);
  await create({ ...artifacts, checkpointState: await session.saveCheckpoint({ optimizerState: false }) });
});

test('frozen parameters stay, and without optimizer state a checkpoint is smaller', async () => {
  const parts = await generateArtifacts(golden('mlp_small.onnx'), { ...OPTIONS, frozen: ['*weight*'] });
  const session = await create(parts);
  const frozen = session.parameters.filter(({ trainable }) => !trainable);
  assert.ok(frozen.length > 0 && frozen.length < session.parameters.length);
  const before = await session.getParameter(frozen[0].name);
  const all = await parametersOf(session);
  await session.fit(DATA, { maxSteps: 2 });
  assert.deepEqual(await session.getParameter(frozen[0].name), before);
  assert.notDeepEqual(await parametersOf(session), all);
  const [full, small] = [await session.saveCheckpoint(), await session.saveCheckpoint({ optimizerState: false })];
  assert.ok(small.length < full.length);
  await create({ ...parts, checkpointState: small });
});

test('predictions can be made while a fit runs', async () => {
  const session = await create();
  const fitting = session.fit(DATA, { epochs: 3 });
  const { logits } = await session.predict({ input: new Tensor('float32', new Float32Array(FEATURES), [1, FEATURES]) });
  assert.deepEqual(logits.dims, [1, 5]);
  await fitting;
});

test('the plan of memory is told', async () => {
  const session = await create();
  await session.fit(DATA, { maxSteps: 1 });
  const { stateBytes, arenaBytes, peakBytes, lowerBoundBytes } = await session.getMemoryPlan();
  assert.ok(stateBytes > 0 && arenaBytes > 0 && peakBytes > 0 && lowerBoundBytes > 0);
});

test('the input of a frozen convolution is not kept for its gradient, which does not read it', async () => {
  const ints = (/** @type {string} */ name, /** @type {number[]} */ values) =>
    attributeProto({ name, ints: values, type: 7 });
  const graph = graphProto({
    node: [
      node('Conv', ['x', 'w'], 'h', ints('pads', [1, 1, 1, 1])),
      node('AveragePool', ['h'], 'p', ints('kernel_shape', [2, 2]), ints('strides', [2, 2])),
      node('Conv', ['p', 'v'], 'y'),
    ],
    name: 'g',
    initializer: [weight('w', [16, 3, 3, 3], 27, 1), weight('v', [4, 16, 1, 1], 16, 2)],
    input: info('x', 1, ['N', 3, 32, 32]),
    output: info('y', 1, ['N', 4, 16, 16]),
  });
  const model = modelProto({ graph, opsetImport: opsetId(17) });
  const feeds = {
    x: new Tensor('float32', new Float32Array(8 * 3072), [8, 3, 32, 32]),
    target: new Tensor('float32', new Float32Array(8192), [8, 4, 16, 16]),
  };
  const [free, frozen] = await Promise.all(
    [[], ['v']].map(async (names) => {
      const session = await create(await generateArtifacts(model, { loss: 'mse', optimizer: 'sgd', frozen: names }));
      await session.step(feeds);
      return (await session.getMemoryPlan()).arenaBytes;
    }),
  );
  assert.ok(frozen < free, `${frozen} bytes, and ${free} where it is trained`);
});

test('sizes that the model leaves open become numbers when they are fed, and others the next time', async () => {
  const FLOAT = 1;
  const open = ['n', 8, 'h', 'w'];
  const halves = [attribute('kernel_shape', [2, 2]), attribute('strides', [2, 2])];
  /** @type {[Uint8Array[], number[][], number[][]][]} nodes, shapes that are fed, shapes that come out */
  const rows = [
    [
      [node('DepthToSpace', ['x'], 'y', attribute('blocksize', 2))],
      [
        [1, 8, 2, 3],
        [2, 8, 4, 5],
      ],
      [
        [1, 2, 4, 6],
        [2, 2, 8, 10],
      ],
    ],
    [
      [node('SpaceToDepth', ['x'], 'y', attribute('blocksize', 2))],
      [
        [1, 8, 2, 4],
        [1, 8, 4, 4],
      ],
      [
        [1, 32, 1, 2],
        [1, 32, 2, 2],
      ],
    ],
    [
      [node('LRN', ['x'], 'y', attribute('size', 3))],
      [
        [1, 8, 2, 4],
        [2, 8, 1, 1],
      ],
      [
        [1, 8, 2, 4],
        [2, 8, 1, 1],
      ],
    ],
    [
      [node('MaxPool', ['x'], ['p', 'i'], ...halves), node('MaxUnpool', ['p', 'i'], 'y', ...halves)],
      [
        [1, 8, 2, 4],
        [2, 8, 4, 4],
      ],
      [
        [1, 8, 2, 4],
        [2, 8, 4, 4],
      ],
    ],
  ];
  for (const [nodes, fed, wanted] of rows) {
    const modelOf = (/** @type {(string | number)[]} */ dims) =>
      modelProto({
        opsetImport: opsetId(17),
        graph: graphProto({
          node: nodes,
          input: info('x', FLOAT, dims),
          output: info('y', FLOAT, ['a', 'b', 'c', 'd']),
        }),
      });
    const session = await InferenceSession.create(modelOf(open), { worker: false });
    for (const [i, dims] of fed.entries()) {
      const x = new Tensor(
        'float32',
        Float32Array.from({ length: dims.reduce((a, b) => a * b) }, (_, k) => Math.sin(k)),
        dims,
      );
      const stated = await InferenceSession.create(modelOf(dims), { worker: false });
      const [{ y }, { y: same }] = [await session.run({ x }), await stated.run({ x })];
      assert.deepEqual([y.dims, y.data], [wanted[i], same.data]);
      await stated.release();
    }
    await session.release();
  }
});

test("sessions have tags of their own: Vue's reactive() puts proxies around '[object Object]' only", async () => {
  const session = await TrainingSession.create(artifacts, { worker: false });
  const inference = await InferenceSession.create(golden('mlp_small.onnx'), { worker: false });
  const kinds = [session, inference].map((each) => Object.prototype.toString.call(each));
  assert.deepEqual(kinds, ['[object TrainingSession]', '[object InferenceSession]']);
  for (const each of [session, inference]) await each.release();
});
