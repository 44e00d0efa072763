/**
 * ONNX Runtime's own artifacts: code written for onnxruntime-web/training runs on either package, only its import being
 * another.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import * as trainlet from '../../../js/index.js';
import { clusters, golden } from '../../support/clusters.js';
import { loadOrtTraining } from '../../support/ort.js';
import { assertNear } from '../../support/near.js';

const ort = loadOrtTraining();

const folder = new URL('../../golden/data/ort/mnist_web/', import.meta.url);
const bytesOf = (name) => new Uint8Array(readFileSync(new URL(name, folder)));
const json = (name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8'));
const LOSS = 'onnx::loss::8';
const ARTIFACTS = {
  checkpointState: bytesOf('checkpoint'),
  trainModel: bytesOf('training_model.onnx'),
  evalModel: bytesOf('eval_model.onnx'),
  optimizerModel: bytesOf('optimizer_model.onnx'),
};
/** The checkpoint is of version 1, which onnxruntime-web 1.19.2 refuses; version 2 has the same bytes. */
const theirArtifacts = { ...ARTIFACTS, checkpointState: withVersion(2, ARTIFACTS.checkpointState) };
const GOLDEN = json('golden.json');

/**
 * A FlatBuffer: the first field of the root table, found by its vtable.
 * @param {number} version
 * @param {Uint8Array} checkpoint
 */
function withVersion(version, checkpoint) {
  const view = new DataView(checkpoint.slice().buffer);
  const root = view.getUint32(0, true);
  const vtable = root - view.getInt32(root, true);
  view.setInt32(root + view.getUint16(vtable + 4, true), version, true);
  return new Uint8Array(view.buffer);
}

/** The recorded batch in the package's own tensors. */
function batchIn({ Tensor }) {
  const classes = { float32: Float32Array, int64: BigInt64Array };
  return Object.fromEntries(
    GOLDEN.feeds.map(({ name, type, dims, file }) => [
      name,
      new Tensor(type, new classes[type](bytesOf(file).buffer), dims),
    ]),
  );
}

/** The calls of ONNX Runtime's web demo, and those of federated learning after them. */
async function demo(ort, artifacts) {
  const session = await ort.TrainingSession.create(artifacts, {
    executionProviders: ['wasm'],
    graphOptimizationLevel: 'all',
  });
  const feeds = batchIn(ort);
  const losses = [],
    parameters = [];
  let output;
  for (let i = 0; i < 4; i++) {
    const results = await session.runTrainStep(feeds);
    losses.push(Number.parseFloat(results[LOSS].data));
    output ??= results.output.data.slice();
    await session.runOptimizerStep();
    await session.lazyResetGrad();
    if (i === 0 || i === 3) parameters.push((await session.getContiguousParameters(true)).data);
  }
  const accumulated = [];
  for (let i = 0; i < 2; i++) accumulated.push((await session.runTrainStep(feeds))[LOSS].data[0]);
  await session.runOptimizerStep();
  await session.lazyResetGrad();
  const kept = await session.getContiguousParameters(true);
  parameters.push(kept.data);
  const evaluated = await session.runEvalStep(feeds);

  const size = await session.getParametersSize(true);
  await session.loadParametersBuffer(new Uint8Array(size * 4), true);
  const [zeroed] = (await session.runEvalStep(feeds))[LOSS].data;
  await session.loadParametersBuffer(
    new Uint8Array(kept.data.buffer, kept.data.byteOffset, kept.data.byteLength),
    true,
  );
  const [restored] = (await session.runEvalStep(feeds))[LOSS].data;

  const names = {
    in: [...session.trainingInputNames],
    out: [...session.trainingOutputNames],
    evalIn: [...session.evalInputNames],
  };
  const sizes = [
    size,
    await session.getParametersSize(),
    await session.getParametersSize(false),
    kept.size,
    ...kept.dims,
  ];
  await session.release();
  return { losses, accumulated, output, evalLoss: evaluated[LOSS].data[0], zeroed, restored, parameters, names, sizes };
}

const ours = await demo(trainlet, ARTIFACTS);
const theirs = await demo(ort, theirArtifacts);

const difference = (a, b) => a.reduce((worst, v, i) => Math.max(worst, Math.abs(v - b[i])), 0);
const isNear = (a, b) => assertNear(a, b, { relative: 1e-5 }, 'the loss');

test("the demo's losses are those recorded from onnxruntime-web 1.19.2", () => {
  GOLDEN.losses.forEach((want, i) => {
    isNear(ours.losses[i], want);
  });
  GOLDEN.accumulated.forEach((want, i) => {
    isNear(ours.accumulated[i], want);
  });
  isNear(ours.evalLoss, GOLDEN.evalLoss);
});

test('run beside it, every parameter is the same after 1 and 4 steps and after accumulation', (t) => {
  const worst = ours.parameters.map((values, i) => {
    assert.equal(values.length, theirs.parameters[i].length);
    return difference(values, theirs.parameters[i]);
  });
  t.diagnostic(`largest differences ${worst.map((v) => v.toExponential(1)).join(', ')}`);
  assert.ok(Math.max(...worst, difference(ours.output, theirs.output)) <= 1e-5, `${worst}`);
});

test('names, sizes, and losses after a buffer was loaded are the same', () => {
  assert.deepEqual(ours.names, theirs.names);
  assert.deepEqual(ours.sizes, theirs.sizes);
  for (const key of ['evalLoss', 'zeroed', 'restored']) isNear(ours[key], theirs[key]);
  assert.equal(ours.restored, ours.evalLoss);
});

// ── what onnxruntime-web/training accepts beside it, and what it should ──

const session = await trainlet.TrainingSession.create(ARTIFACTS);
after(() => session.release());
const FEEDS = batchIn(trainlet);
const is = (code, words) => (error) =>
  error instanceof trainlet.TrainletError && error.code === code && words.test(error.message);

test("onnxruntime's tensors are fed, in any order of keys", async () => {
  const { input, labels } = batchIn(ort);
  assert.deepEqual(await session.runEvalStep({ labels, input }), await session.runEvalStep(FEEDS));
});

test('fetches are names, or tensors to be filled by name; options may follow or stand alone', async () => {
  const all = await session.runEvalStep(FEEDS);
  assert.deepEqual(await session.runEvalStep(FEEDS, { tag: 'all' }), all);
  assert.deepEqual(await session.runEvalStep(FEEDS, {}), all);
  assert.deepEqual(await session.runEvalStep(FEEDS, ['output'], { logSeverityLevel: 0 }), { output: all.output });
  assert.deepEqual(await session.runEvalStep(FEEDS, { output: null }, {}), { output: all.output });
  const room = new ort.Tensor('float32', new Float32Array(80), [8, 10]);
  const filled = await session.runEvalStep(FEEDS, { output: room, [LOSS]: null });
  assert.deepEqual([filled.output === room, filled[LOSS]], [true, all[LOSS]]);
  assert.deepEqual(room.data, all.output.data);
  const small = new trainlet.Tensor('float32', new Float32Array(8), [8]);
  await assert.rejects(
    session.runEvalStep(FEEDS, { output: small }),
    is('invalid-argument', /'output' is float32 \[8,10\]; the tensor given for it is float32 \[8\]/),
  );
  await assert.rejects(session.runEvalStep(FEEDS, { outptu: null }), is('invalid-feed', /outptu/));
  for (const wrong of ['output', [], null]) {
    await assert.rejects(
      session.runEvalStep(FEEDS, wrong),
      is('invalid-argument', /array of at least one output name, an object/),
    );
  }
  await assert.rejects(
    session.runEvalStep(FEEDS, ['output'], { tagg: 'x' }),
    is('invalid-argument', /no option 'tagg'/),
  );
});

test('a train step that is asked for some outputs leaves the same gradients', async () => {
  const losses = await Promise.all(
    [undefined, ['output'], [LOSS]].map(async (fetches) => {
      const other = await trainlet.TrainingSession.create(ARTIFACTS);
      await other.runTrainStep(FEEDS, fetches);
      await other.runOptimizerStep();
      const results = await other.runEvalStep(FEEDS);
      await other.release();
      return results[LOSS].data[0];
    }),
  );
  assert.deepEqual(losses, [losses[0], losses[0], losses[0]]);
  assert.notEqual(losses[0], GOLDEN.losses[0]);
});

test('a buffer of another length is one sentence, and the learning rate reads as it was written', async () => {
  const size = await session.getParametersSize();
  await assert.rejects(
    session.loadParametersBuffer(new Uint8Array(size)),
    is('invalid-argument', new RegExp(`wanted a Uint8Array of ${size * 4} bytes, not ${size}`)),
  );
  assert.equal(await session.getLearningRate(), 0.001);
  await session.setLearningRate(0.3);
  assert.equal(await session.getLearningRate(), 0.3);
});

// ── checkpoints of ONNX Runtime's format ──

/** Steps on the recorded batch. */
async function losses(session, Tensor, count) {
  const found = [];
  for (let i = 0; i < count; i++) {
    found.push((await session.runTrainStep(batchIn({ Tensor })))[LOSS].data[0]);
    await session.runOptimizerStep();
    await session.lazyResetGrad();
  }
  return found;
}

test('what is saved for ONNX Runtime goes on there and here alike, with the state of its optimizer', async () => {
  const first = await trainlet.TrainingSession.create(ARTIFACTS);
  await first.setLearningRate(0.002);
  first.properties.set('epoch', 3n);
  await losses(first, trainlet.Tensor, 2);
  const checkpointState = await first.saveCheckpoint({ format: 'ort' });
  const without = await first.saveCheckpoint({ format: 'ort', optimizerState: false });
  await first.setLearningRate(0.001); // onnxruntime-web knows no other
  const wanted = await losses(first, trainlet.Tensor, 3);
  await first.release();
  assert.ok(without.length < checkpointState.length / 2);

  const here = await trainlet.TrainingSession.create({ ...ARTIFACTS, checkpointState });
  assert.deepEqual([await here.getLearningRate(), here.properties.get('epoch')], [0.002, 3n]);
  await here.setLearningRate(0.001);
  assert.deepEqual(await losses(here, trainlet.Tensor, 3), wanted);
  await here.release();
  const there = await ort.TrainingSession.create({ ...ARTIFACTS, checkpointState: checkpointState.slice() });
  (await losses(there, ort.Tensor, 3)).forEach((loss, i) => {
    isNear(loss, wanted[i]);
  });
  await there.release();
});

const SUM_AT = 16;
/** The same without what our checksum makes of it. @param {Uint8Array} checkpoint */
const withoutSum = (checkpoint) => checkpoint.slice().fill(0, SUM_AT, SUM_AT + 4);

test('version 1 differs from version 2 in its number and checksum alone', async () => {
  const [one, two] = await Promise.all([1, 2].map((version) => session.saveCheckpoint({ format: 'ort', version })));
  assert.notDeepEqual(one, two);
  assert.deepEqual(withoutSum(withVersion(2, one)), withoutSum(two));
});

test('our checksum, which ONNX Runtime ignores, tells a turned bit; what another wrote anew is read', async () => {
  const [{ name }] = session.parameters;
  const whole = await session.saveCheckpoint({ format: 'ort' });
  // that ONNX Runtime would keep, and change the rest
  assert.ok(!new TextDecoder('latin1').decode(whole.subarray(20)).includes('sum'), 'it is a property');
  for (let bit = 0; bit < whole.length * 8; bit += Math.ceil((whole.length * 8) / 40) + 1) {
    const damaged = whole.slice();
    damaged[bit >> 3] ^= 1 << (bit & 7);
    await assert.rejects(
      trainlet.TrainingSession.create({ ...ARTIFACTS, checkpointState: damaged }, { worker: false }),
      is('checkpoint-corrupt', /./),
      `bit ${bit}`,
    );
  }
  const there = await ort.TrainingSession.create({ ...ARTIFACTS, checkpointState: whole.slice() });
  assert.deepEqual(
    (await there.getContiguousParameters(true)).data,
    (await session.getContiguousParameters(true)).data,
  );
  await there.release();
  const rewritten = whole.slice(); // a writer that knows nothing of the checksum has other bytes there
  rewritten.fill(0, 8, 20);
  const value = (await session.getParameter(name)).data;
  const at = Buffer.from(rewritten).indexOf(Buffer.from(value.buffer, 0, 16));
  rewritten[at] ^= 1;
  const here = await trainlet.TrainingSession.create({ ...ARTIFACTS, checkpointState: rewritten });
  assert.notDeepEqual((await here.getParameter(name)).data, value);
  await here.release();
});

test('a nominal checkpoint runs once all its values were brought', async () => {
  const model = golden('mlp_small.onnx');
  const options = { loss: 'cross-entropy' };
  const [full, nominal] = await Promise.all(
    [false, true].map((value) => trainlet.generateArtifacts(model, { ...options, nominal: value })),
  );
  assert.ok(nominal.checkpointState.length < full.checkpointState.length / 5);
  const [a, b] = await Promise.all([full, nominal].map((artifacts) => trainlet.TrainingSession.create(artifacts)));
  const data = clusters(8, 1);
  const feeds = { ...data.inputs, ...data.labels };
  await assert.rejects(b.step(feeds), is('checkpoint-mismatch', /nominal/));
  const { data: values } = await a.getContiguousParameters(false);
  await b.loadParametersBuffer(new Uint8Array(values.buffer), false);
  assert.deepEqual(await b.step(feeds), await a.step(feeds));
  await Promise.all([a.release(), b.release()]);
});

test('an optimizer that ONNX Runtime lacks matters only where its format is asked for', async () => {
  const made = (model, optimizer, ortFormat) =>
    trainlet.generateArtifacts(golden(model), { loss: 'cross-entropy', optimizer, ortFormat });
  assert.deepEqual((await made('mlp_small.onnx', 'sgd', true)).warnings, []);
  for (const [model, optimizer, lacks] of [
    ['cnn_bn.onnx', { type: 'sgd', momentum: 0.9 }, /no kernel for com.trainlet's SGDOptimizer/],
    ['mlp_small.onnx', { type: 'adam', weightDecay: 0.1 }, /no kernel for com.trainlet's AdamOptimizer/],
  ]) {
    assert.deepEqual((await made(model, optimizer, false)).warnings, []);
    await assert.rejects(made(model, optimizer, true), is('unsupported-op', lacks));
  }
});
