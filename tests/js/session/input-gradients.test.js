// Gradients towards inputs, bounds of parameters and inputs that are bound once, through the package.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { artifactOptions, batchFeeds, batchUnit } from '../../support/recipe.js';

const golden = new URL('../../golden/data/', import.meta.url);
const readJson = (name) => JSON.parse(readFileSync(new URL(`${name}.json`, golden), 'utf8'));
const readModel = (name) => new Uint8Array(readFileSync(new URL(`${name}.onnx`, golden)));

async function make(name) {
  const recipe = readJson(name);
  return { recipe, artifacts: await generateArtifacts(readModel(recipe.model.slice(0, -5)), artifactOptions(recipe)) };
}

async function create(t, artifacts, options) {
  const session = await TrainingSession.create(artifacts, options);
  t.after(() => session.release());
  return session;
}

test('inputGradients: dL/dx in training and evaluation, as in PyTorch', async (t) => {
  for (const [name, wanted] of Object.entries(readJson('trainable/input_gradients'))) {
    const { recipe, artifacts } = await make(name);
    const session = await create(t, artifacts);
    const feeds = batchFeeds(recipe, 0);
    for (const [run, [sum, size]] of [
      ['runEvalStep', wanted.eval],
      ['runTrainStep', wanted.train],
    ]) {
      const { loss, input_grad: gradient, ...rest } = await session[run](feeds, { inputGradients: ['input'] });
      assert.deepEqual([gradient.type, gradient.dims, Object.keys(rest)], ['float32', feeds.input.dims, []]);
      const came = gradient.data.reduce((total, g, i) => total + g * (2 * batchUnit(7, i) - 1), 0);
      assert.ok(Math.abs(came - sum) <= 1e-5 * size, `${name}, ${run}: ${came}, in PyTorch ${sum} of ${size}`);
      if (name === 'conv1d') assert.deepEqual((await session[run](feeds)).loss.data, loss.data, 'without the option');
    }
  }
});

test('inputGradients: in every form of fetches', async (t) => {
  const { recipe, artifacts } = await make('conv1d');
  const session = await create(t, artifacts);
  const feeds = batchFeeds(recipe, 0);
  const options = { inputGradients: ['input'] };
  const { input_grad: gradient } = await session.runTrainStep(feeds, undefined, options);
  const { map, all } = await session.runTrainStep(feeds, { map: 'input_grad', all: ['loss'] }, options);
  assert.deepEqual([map.data, all.length], [gradient.data, 1], 'in a structure');
  const own = { loss: null, input_grad: new Tensor('float32', new Float32Array(gradient.size), gradient.dims) };
  const filled = await session.runTrainStep(feeds, own, options);
  assert.equal(filled.input_grad, own.input_grad, 'into a tensor of the caller');
  assert.deepEqual(own.input_grad.data, gradient.data);
  assert.deepEqual(Object.keys(await session.runTrainStep(feeds)), ['loss']);
});

test('inputGradients: the parameters get the same gradients beside them, also after setTrainable', async (t) => {
  const { recipe, artifacts } = await make('mlp_momentum');
  const [session, plain] = [await create(t, artifacts), await create(t, artifacts)];
  const options = { inputGradients: ['input'] };
  let before;
  for (let i = 0; i < 2; i++) {
    const feeds = batchFeeds(recipe, 0);
    const { input_grad: gradient } = await session.runTrainStep(feeds, options);
    await plain.runTrainStep(feeds);
    before ??= gradient.data;
    assert.deepEqual(gradient.data, before);
    for (const { name, trainable } of session.parameters)
      if (trainable)
        assert.deepEqual((await session.getGradient(name)).data, (await plain.getGradient(name)).data, name);
    for (const one of [session, plain]) await one.setTrainable([one.parameters.at(-1).name]);
  }
});

test('inputGradients: what cannot be is refused in a sentence', async (t) => {
  const { recipe, artifacts } = await make('tokens');
  const session = await create(t, artifacts);
  const feeds = batchFeeds(recipe, 0);
  for (const [inputGradients, code, message] of [
    [
      ['input'],
      'invalid-argument',
      "inputGradients: input 'input' is int64, there are gradients towards float32 inputs",
    ],
    [['inputs'], 'invalid-feed', /there is no input 'inputs'/],
    ['input', 'invalid-argument', /must be an array of names of inputs/],
  ])
    await assert.rejects(session.runTrainStep(feeds, undefined, { inputGradients }), { code, message });
  await assert.rejects(session.predict({ input: feeds.input }, undefined, { inputGradients: ['input'] }), {
    code: 'invalid-argument',
    message: /inputGradients/,
  });
});

test('bounds: clamped after each step, saved, replaced, refused', async (t) => {
  const { recipe, artifacts } = await make('mlp_momentum');
  const least = async (session, name) => Math.min(...(await session.getParameter(name)).data);
  const most = async (session, name) => Math.max(...(await session.getParameter(name)).data);
  const [first, second] = (await create(t, artifacts)).parameters.filter((p) => p.trainable).map((p) => p.name);
  const session = await create(t, artifacts, { bounds: { '*': [-Infinity, 0.05], [first]: [0, 0.1] } });
  await session.step(batchFeeds(recipe, 0));
  assert.deepEqual([await least(session, first), await most(session, first)], [0, Math.fround(0.1)]);
  assert.ok((await most(session, second)) <= Math.fround(0.05));
  const checkpointState = await session.saveCheckpoint();
  const resumed = await create(t, { ...artifacts, checkpointState });
  for (const one of [session, resumed]) await one.step(batchFeeds(recipe, 1));
  assert.deepEqual((await resumed.getParameter(first)).data, (await session.getParameter(first)).data);
  assert.equal(await least(resumed, first), 0);
  const free = await create(t, { ...artifacts, checkpointState }, { bounds: {} });
  for (let i = 1; i < 4; i++) await free.step(batchFeeds(recipe, i));
  assert.ok((await least(free, first)) < 0);
  for (const [bounds, message] of [
    [{ [first]: [1, 0] }, `bounds of '${first}': [1, 0] is no range: the least must not be above the most`],
    [{ [first]: [NaN, 0] }, /is no range/],
    [{ [first]: [Infinity, Infinity] }, /is no range/],
    [{ [first]: [1] }, `bounds of '${first}' must be two numbers, as [0, 10]`],
    [{ 'nothing*': [0, 1] }, "bounds: 'nothing*' matches no float32 parameter"],
    [[0, 1], /must be an object of ranges by name/],
  ])
    await assert.rejects(TrainingSession.create(artifacts, { bounds }), { code: 'invalid-argument', message });
});

const x = new Tensor('float32', Float32Array.of(1, 2, 3, 4, 5, 6), [2, 3]);
const LIMITS = { worker: false };

test('constants: an If is settled beforehand, and trains', async (t) => {
  const model = readModel('subgraphs/fed_if');
  for (const [condition, wanted] of [
    [true, [3, 5, 7, 6, 8, 10]],
    [false, [2, 6, 12, 8, 15, 24]],
    [new Tensor('bool', Uint8Array.of(0), []), [2, 6, 12, 8, 15, 24]],
  ]) {
    const session = await InferenceSession.create(model, { ...LIMITS, constants: { condition } });
    assert.deepEqual(session.inputNames, ['x']);
    assert.deepEqual([...(await session.run({ x })).y.data], wanted);
    assert.ok(!(await session.getGraphText()).includes('If'));
    await assert.rejects(
      session.run({ x, condition: new Tensor('bool', Uint8Array.of(1), []) }),
      /no input 'condition'/,
    );
  }
  const options = { loss: 'mse', optimizer: { type: 'sgd', lr: 0.01 }, requiresGrad: ['w'] };
  await assert.rejects(generateArtifacts(model, options), { code: 'unsupported-op' });
  const artifacts = await generateArtifacts(model, { ...options, constants: { condition: false } });
  const session = await create(t, artifacts, LIMITS);
  assert.deepEqual(session.trainingInputNames, ['x', 'target']);
  const target = new Tensor('float32', new Float32Array(6), [2, 3]);
  const { loss } = await session.step({ x, target });
  assert.equal(loss, Math.fround((4 + 36 + 144 + 64 + 225 + 576) / 6));
});

test('constants: in the models of a training session, with a free dim that they fix', async (t) => {
  const { recipe, artifacts } = await make('mlp_momentum');
  const { input, labels } = batchFeeds(recipe, 0);
  const session = await create(t, artifacts);
  const bound = await create(t, artifacts, { constants: { input } });
  assert.deepEqual(
    bound.trainingInputNames,
    session.trainingInputNames.filter((name) => name !== 'input'),
  );
  for (let i = 0; i < 2; i++)
    assert.equal((await bound.step({ labels })).loss, (await session.step({ input, labels })).loss);
});

test('constants: what cannot be is refused in a sentence', async () => {
  const model = readModel('subgraphs/fed_if');
  for (const [constants, message] of [
    [{ sr: 16000n }, "constants: there is no input 'sr'"],
    [{ condition: 1n }, "constants: input 'condition' is bool (), not int64 ()"],
    [{ x: 1 }, /input 'x' is float32 \(.*3\), not float32 \(\)/],
    [{ condition: 'yes' }, /'condition' must be a tensor/],
    [7, /constants: wanted an object, not 7/],
  ])
    for (const act of [InferenceSession.create, generateArtifacts])
      await assert.rejects(act(model, { ...LIMITS, constants }), { code: /invalid-(argument|feed)/, message });
});
