/**
 * ONNX's own training representation: models made by onnx.helper train by their formulas, what we write is read back
 * and goes on, and ONNX's cases of its training operators.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { batchBits, batchFeeds, batchUnit } from '../../support/recipe.js';
import { ALONE } from '../../support/engines.js';
import { loadOrtTraining } from '../../support/ort.js';
import { assertNear } from '../../support/near.js';

const golden = new URL('../../golden/data/', import.meta.url);
const folder = new URL('training_info/', golden);
const json = (name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8'));
const LOSSES = json('losses.json');
const modelOf = (name) => readFileSync(new URL(`${name}.onnx`, folder));

/** The batch of make_training_info.py. */
const feedsAt = (step) => ({
  x: new Tensor(
    'float32',
    Float32Array.from({ length: 8 * 6 }, (_, i) => batchUnit(100 + step, i) * 2 - 1),
    [8, 6],
  ),
  labels: new Tensor(
    'int64',
    BigInt64Array.from({ length: 8 }, (_, i) => BigInt(batchBits(200 + step, i) % 4)),
    [8],
  ),
});

const open = async (model, options = {}) =>
  await TrainingSession.create(await generateArtifacts(model, { ...ALONE, ...options }), ALONE);

/** The losses of steps `from` to `to`. */
async function train(session, from, to, feeds = feedsAt) {
  const losses = [];
  for (let i = from; i < to; i++) losses.push((await session.step(feeds(i))).loss);
  return losses;
}

const assertClose = (got, want, relative, what) => assertNear(got, want, { relative }, what);

test('every model has its losses, but the one that begins at random', () => {
  assert.deepEqual(
    [...Object.keys(LOSSES), 'random'].map((name) => `${name}.onnx`).sort(),
    readdirSync(folder)
      .filter((name) => name.endsWith('.onnx'))
      .sort(),
  );
});

for (const name of Object.keys(LOSSES)) {
  test(`${name}: the training_info alone trains as its formulas say`, async () => {
    const session = await open(modelOf(name));
    assertClose(await train(session, 0, 10), LOSSES[name], 1e-5, 'loss');
    await session.release();
  });

  test(`${name}: 5 steps, exported with its training, and 5 more are 10`, async () => {
    const first = await open(modelOf(name));
    const before = await train(first, 0, 5);
    const model = await first.exportModel({ trainingInfo: true });
    const straight = await train(first, 5, 10);
    const second = await open(model);
    assertClose(await train(second, 5, 10), straight, 1e-6, 'loss');
    assertClose([...before, ...straight], LOSSES[name], 1e-5, 'loss');
    await Promise.all([first.release(), second.release()]);
  });
}

test('what each optimizer of ours exports goes on as it would have', async () => {
  const recipe = JSON.parse(readFileSync(new URL('mlp_momentum.json', golden), 'utf8'));
  const feeds = (step) => batchFeeds(recipe, step);
  const optimizers = [
    { type: 'sgd', lr: 0.1 },
    { type: 'sgd', lr: 0.1, weightDecay: 0.01 },
    { type: 'sgd', lr: 0.05, momentum: 0.9, dampening: 0.3 },
    { type: 'sgd', lr: 0.05, momentum: 0.9, nesterov: true },
    { type: 'adam', lr: 0.01, weightDecay: 0.02 },
    { type: 'adam', lr: 0.01 },
    { type: 'adamw', lr: 0.01, betas: [0.8, 0.99], eps: 1e-3 },
    { type: 'adagrad', lr: 0.05, lrDecay: 0.1, weightDecay: 0.01 },
  ];
  for (const optimizer of optimizers) {
    const first = await open(readFileSync(new URL(recipe.model, golden)), {
      loss: 'cross-entropy',
      optimizer,
      frozen: ['fc2.bias'],
    });
    await train(first, 0, 5, feeds);
    const model = await first.exportModel({ trainingInfo: true });
    const second = await open(model);
    const what = `${JSON.stringify(optimizer)}: loss`;
    assertClose(await train(second, 5, 10, feeds), await train(first, 5, 10, feeds), 1e-6, what);
    assert.deepEqual(
      second.parameters.filter(({ trainable }) => !trainable).map(({ name }) => name),
      ['fc2.bias'],
      what,
    );
    const plain = await InferenceSession.create(model, ALONE);
    assert.deepEqual(plain.inputNames, ['input']);
    await Promise.all([first.release(), second.release(), plain.release()]);
  }
});

for (const run of ['cnn_bn', 'transformer', 'tokens']) {
  test(`${run} goes on from its export`, async () => {
    const recipe = JSON.parse(readFileSync(new URL(`${run}.json`, golden), 'utf8'));
    const feeds = (step) => batchFeeds(recipe, step);
    const first = await open(readFileSync(new URL(recipe.model, golden)), {
      loss: recipe.loss,
      optimizer: { type: 'adam', lr: 0.01 },
    });
    await train(first, 0, 5, feeds);
    const second = await open(await first.exportModel({ trainingInfo: true }));
    assertClose(await train(second, 5, 10, feeds), await train(first, 5, 10, feeds), 1e-6, 'loss');
    await Promise.all([first.release(), second.release()]);
  });
}

test('initialize: false keeps the values of the file', async () => {
  const [initialized, kept] = await Promise.all([open(modelOf('sgd')), open(modelOf('sgd'), { initialize: false })]);
  const [{ data: half }, { data: whole }] = await Promise.all([
    initialized.getParameter('w1'),
    kept.getParameter('w1'),
  ]);
  assert.deepEqual(
    [...half],
    [...whole].map((value) => value / 2),
  );
  assert.ok(half.some((value) => value !== 0));
  await Promise.all([initialized.release(), kept.release()]);
});

test('an initialization may draw its values, the same in every run', async () => {
  const [first, again] = await Promise.all([open(modelOf('random')), open(modelOf('random'))]);
  const valuesOf = async (session) =>
    Object.fromEntries(
      await Promise.all(['w1', 'b1', 'w2', 'b2'].map(async (name) => [name, (await session.getParameter(name)).data])),
    );
  const values = await valuesOf(first);
  assert.deepEqual(values, await valuesOf(again));
  const mean = (data) => data.reduce((a, b) => a + b, 0) / data.length;
  const deviation = Math.sqrt(mean(values.w1.map((value) => (value - mean(values.w1)) ** 2)));
  assert.ok(
    Math.abs(mean(values.w1) - 1) < 0.05 && deviation > 0.07 && deviation < 0.13,
    `mean ${mean(values.w1)}, deviation ${deviation}`,
  );
  assert.ok(values.b1.every((value) => value >= 2 && value < 3) && values.w2.every((value) => Math.abs(value) <= 0.5));
  assert.ok(values.b2.every((value) => value !== 0 && Math.abs(value) < 2));
  assert.equal(new Set([...values.w1, ...values.b1, ...values.w2]).size, 54 + 9 + 36);
  await train(first, 0, 2);
  await Promise.all([first.release(), again.release()]);
});

for (const { name, model, words } of json('refused.json')) {
  test(`${name} is refused in one sentence`, async () => {
    await assert.rejects(generateArtifacts(Buffer.from(model, 'base64'), ALONE), (error) => {
      assert.ok(['unsupported-op', 'invalid-model'].includes(error.code), error.code);
      assert.match(error.message, new RegExp(words));
      return true;
    });
    const { trainModel } = await generateArtifacts(Buffer.from(model, 'base64'), {
      ...ALONE,
      loss: 'cross-entropy',
    });
    assert.ok(trainModel.length > 0); // with a loss of its own the training_info does not matter
  });
}

test('the command line reads and writes it', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'trainlet-info-'));
  const at = (name) => path.join(directory, name);
  const run = promisify(execFile);
  const cli = fileURLToPath(new URL('../../../js/cli/index.js', import.meta.url));
  try {
    await run(process.execPath, [cli, 'artifacts', fileURLToPath(new URL('adam.onnx', folder)), '-o', at('artifacts')]);
    await run(process.execPath, [cli, 'export', at('artifacts'), '-o', at('model.onnx'), '--training-info']);
    const session = await open(at('model.onnx'));
    assertClose(await train(session, 0, 10), LOSSES.adam, 1e-5, 'loss');
    await session.release();
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('an optimizer among the options takes the place of the one in the file, a loss the place of all', async () => {
  const session = await open(modelOf('adam'), { optimizer: { type: 'sgd', lr: 0.5 } });
  const reference = await open(modelOf('adam'), { loss: 'cross-entropy', optimizer: { type: 'sgd', lr: 0.5 } });
  assert.equal(await session.getLearningRate(), 0.5);
  assertClose(await train(session, 0, 10), await train(reference, 0, 10), 1e-6, 'loss');
  await Promise.all([session.release(), reference.release()]);
});

test('frozen wins over the parameters of the training_info', async () => {
  const session = await open(modelOf('adam'), { frozen: ['w1'] });
  assert.deepEqual(session.parameters.map(({ name, trainable }) => [name, trainable]).sort(), [
    ['b1', true],
    ['b2', true],
    ['w1', false],
    ['w2', true],
  ]);
  await session.release();
});

test('what has no training_info, or cannot say its training, is one sentence', async () => {
  const plain = readFileSync(new URL('mlp_small.onnx', golden));
  const refuses = (promise, words) =>
    assert.rejects(promise, (error) => error.code === 'invalid-argument' && words.test(error.message));
  await refuses(generateArtifacts(plain, ALONE), /holds no training_info, so a loss is needed/);
  await refuses(generateArtifacts(modelOf('adam'), { ...ALONE, lossInputs: ['scores'] }), /lossInputs/);
  await refuses(generateArtifacts(modelOf('adam'), { ...ALONE, optimizer: { lr: 0.1 } }), /need its type/);
  const clipped = await open(plain, { loss: 'cross-entropy', optimizer: { type: 'sgd', clipGradNorm: 1 } });
  await refuses(clipped.exportModel({ trainingInfo: true }), /clipped/);
  await clipped.release();
});

// ---- ONNX Runtime runs what was made of it ----

const ort = loadOrtTraining();

test('ONNX Runtime trains the artifacts of a training_info, its state included', async () => {
  const first = await open(modelOf('adam'));
  await train(first, 0, 5);
  const { warnings, ...artifacts } = await generateArtifacts(await first.exportModel({ trainingInfo: true }), ALONE);
  assert.deepEqual(warnings, []);
  const theirs = await ort.TrainingSession.create(artifacts, { executionProviders: ['wasm'] });
  const losses = [];
  for (let i = 5; i < 10; i++) {
    const feeds = Object.fromEntries(
      Object.entries(feedsAt(i)).map(([name, { type, data, dims }]) => [name, new ort.Tensor(type, data, dims)]),
    );
    losses.push((await theirs.runTrainStep(feeds)).loss.data[0]);
    await theirs.runOptimizerStep();
    await theirs.lazyResetGrad();
  }
  const ours = await TrainingSession.create(artifacts, ALONE);
  await ours.setLearningRate(0.001); // onnxruntime-web knows no other
  assertClose(losses, await train(ours, 5, 10), 1e-5, 'loss');
  await Promise.all([first.release(), ours.release(), theirs.release()]);
});

// ---- PyTorchAdam is a function of ONNX's operators ----

/** The number of a varint, and where it ends. @param {Uint8Array} bytes @param {number} at */
function varint(bytes, at) {
  let value = 0;
  for (let shift = 0; ; shift += 7, at++) {
    value += (bytes[at] & 127) * 2 ** shift;
    if (bytes[at] < 128) return [value, at + 1];
  }
}

/** The fields of a model with those numbers, as they stand. @param {Uint8Array} bytes @param {number[]} numbers */
function fieldsOf(bytes, numbers) {
  const found = [];
  for (let at = 0; at < bytes.length; ) {
    const start = at;
    let tag, length;
    [tag, at] = varint(bytes, at);
    [length, at] = varint(bytes, at);
    if (tag % 8 === 2) at += length;
    if (numbers.includes(Math.floor(tag / 8))) found.push(bytes.subarray(start, at));
  }
  return Buffer.concat(found);
}

const lengthOf = (count) => (count < 128 ? [count] : [(count & 127) | 128, ...lengthOf(count >> 7)]);
/** A field of bytes: text, or the fields of a message. */
const field = (number, content) => {
  const bytes = typeof content === 'string' ? Buffer.from(content) : Buffer.concat(content);
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...lengthOf(bytes.length)]), bytes]);
};
const whole = (number, value) => Buffer.from([...lengthOf(number << 3), value]);
const float = (number, value) =>
  Buffer.concat([Buffer.from([(number << 3) | 5]), Buffer.from(new Float32Array([value]).buffer)]);

const SETTINGS = { alpha: 0.8, beta: 0.99, epsilon: 1e-3, norm_coefficient: 0.02, weight_decay: 0.1 };
const STEP = { R: [0.1], T: [3n], X: [1, -2, 0.5], G: [0.3, 0.1, -0.7], V: [0.2, -0.4, 0.1], H: [0.5, 0.3, 0.01] };

/** A model of one PyTorchAdam with the function that an export brings. @param {Uint8Array} exported */
function stepModel(exported) {
  const attributes = Object.entries(SETTINGS).map(([name, value]) =>
    field(5, [field(1, name), float(2, value), whole(20, 1)]),
  );
  const outputs = ['X_new', 'V_new', 'H_new'];
  const node = [
    ...Object.keys(STEP).map((name) => field(1, name)),
    ...outputs.map((name) => field(2, name)),
    field(4, 'PyTorchAdam'),
    field(7, 'com.trainlet'),
    ...attributes,
  ];
  const value = (number, name) => {
    const dims = name === 'R' || name === 'T' ? [] : [field(1, [whole(1, 3)])];
    return field(number, [field(1, name), field(2, [field(1, [whole(1, name === 'T' ? 7 : 1), field(2, dims)])])]);
  };
  const graph = [
    field(1, node),
    field(2, 'step'),
    ...Object.keys(STEP).map((name) => value(11, name)),
    ...outputs.map((name) => value(12, name)),
  ];
  return Buffer.concat([fieldsOf(exported, [1, 8, 25]), field(7, graph)]);
}

/** torch.optim's formulas. */
function adamByHand() {
  const { alpha, beta, epsilon, norm_coefficient: coupled, weight_decay: decay } = SETTINGS;
  const [lr, t] = [STEP.R[0], Number(STEP.T[0])];
  const X = STEP.X.map((x) => x - lr * decay * x);
  const g = STEP.G.map((value, i) => value + coupled * X[i]);
  const V = STEP.V.map((v, i) => alpha * v + (1 - alpha) * g[i]);
  const H = STEP.H.map((h, i) => beta * h + (1 - beta) * g[i] ** 2);
  const rate = lr / (1 - alpha ** t);
  return {
    X_new: X.map((x, i) => x - (rate * V[i]) / (Math.sqrt(H[i] / (1 - beta ** t)) + epsilon)),
    V_new: V,
    H_new: H,
  };
}

test('an exported PyTorchAdam is the same here, in ONNX Runtime by its function, and by hand', async () => {
  const session = await open(readFileSync(new URL('mlp_small.onnx', golden)), {
    loss: 'cross-entropy',
    optimizer: 'adamw',
  });
  const model = stepModel(await session.exportModel({ trainingInfo: true }));
  const [here, there] = [
    await InferenceSession.create(model, ALONE),
    await ort.InferenceSession.create(model, { executionProviders: ['wasm'] }),
  ];
  const feedsOf = (Tensor) =>
    Object.fromEntries(
      Object.entries(STEP).map(([name, data]) => [
        name,
        name === 'T'
          ? new Tensor('int64', BigInt64Array.from(data), [])
          : new Tensor('float32', Float32Array.from(data), name === 'R' ? [] : [3]),
      ]),
    );
  const [ours, theirs, wanted] = [await here.run(feedsOf(Tensor)), await there.run(feedsOf(ort.Tensor)), adamByHand()];
  for (const [name, values] of Object.entries(wanted)) {
    assertClose([...ours[name].data], values, 1e-6, `our ${name}`);
    assertClose([...theirs[name].data], values, 1e-6, `their ${name}`);
  }
  await Promise.all([session.release(), here.release(), there.release()]);
});

test('a random operator draws anew in every run', async () => {
  const shape = field(5, [field(1, 'shape'), whole(8, 3), whole(20, 7)]);
  const output = field(12, [field(1, 'y'), field(2, [field(1, [whole(1, 1)])])]);
  const graph = [field(1, [field(2, 'y'), field(4, 'RandomNormal'), shape]), field(2, 'draw'), output];
  const session = await InferenceSession.create(
    Buffer.concat([whole(1, 8), field(8, [whole(2, 17)]), field(7, graph)]),
    ALONE,
  );
  const draw = async () => [...(await session.run({})).y.data];
  const [first, second] = [await draw(), await draw()];
  assert.equal(first.length, 3);
  assert.notDeepEqual(first, second);
  await session.release();
});

// ---- ONNX's own cases ----

const ARRAYS = { float32: Float32Array, int64: BigInt64Array };
const tensorOf = ({ type, data, dims }) =>
  new Tensor(type, ARRAYS[type].from(data, type === 'int64' ? BigInt : undefined), dims);

for (const { name, model, inputs, outputs } of json('onnx-cases.json')) {
  test(`ONNX's ${name}`, async () => {
    const session = await InferenceSession.create(Buffer.from(model, 'base64'), ALONE);
    assert.deepEqual(session.inputNames.length, inputs.length);
    const results = await session.run(
      Object.fromEntries(session.inputNames.map((input, i) => [input, tensorOf(inputs[i])])),
    );
    outputs.forEach((want, i) => {
      const got = results[session.outputNames[i]];
      assert.deepEqual(got.dims, want.dims);
      want.data.forEach((value, k) =>
        assert.ok(
          Math.abs(got.data[k] - value) <= 1e-6 + 1e-5 * Math.abs(value),
          `output ${i}, element ${k}: ${got.data[k]}, wanted ${value}`,
        ),
      );
    });
    await session.release();
  });
}
