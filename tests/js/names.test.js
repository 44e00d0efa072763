/** Names are only names: those that JavaScript's objects have of their own arrive like any other, both ways and through a worker. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../js/index.js';
import { onnxFile } from '../bench/models/onnx_file.js';

const HERE = { worker: false };
const [X, WEIGHT, HIDDEN, LOGITS] = ['__proto__', 'constructor', 'hasOwnProperty', 'toString'];
const value = (name, dims) => ({ name, type: 'float32', dims });

/** x (N, 2) · weight (2, 3) = hidden, Relu of which = logits; both are outputs. */
function model({ input = X, parameter = WEIGHT, hidden = HIDDEN, logits = LOGITS, op = 'Relu' } = {}) {
  const data = Float32Array.of(1, 0, -1, 0, 1, 2);
  return onnxFile({
    name: 'prototype',
    nodes: [{ op: 'MatMul', inputs: [input, parameter], outputs: [hidden], attributes: {} }, { op, inputs: [hidden], outputs: [logits], attributes: {} }],
    weights: [[parameter, { type: 'float32', dims: [2, 3], data }]],
    inputs: [value(input, ['valueOf', 2])], outputs: [value(hidden, ['valueOf', 3]), value(logits, ['valueOf', 3])],
  });
}
const x = new Tensor('float32', [1, 2, 3, 4], [2, 2]);
const WANTED = [[1, 2, 3, 3, 4, 5], [1, 2, 3, 3, 4, 5]];
const labels = new Tensor('int64', [0, 2]);

test('an inference takes and gives them, in this thread and through a worker', async () => {
  for (const options of [HERE, {}]) {
    const session = await InferenceSession.create(model(), options);
    assert.deepEqual([session.inputNames, session.outputNames], [[X], [HIDDEN, LOGITS]]);
    const all = await session.run({ [X]: x });
    assert.equal(Object.getPrototypeOf(all), Object.prototype);
    assert.deepEqual(Object.keys(all), [HIDDEN, LOGITS]);
    assert.deepEqual([HIDDEN, LOGITS].map((name) => [...all[name].data]), WANTED);
    const turned = await InferenceSession.create(model({ input: LOGITS, parameter: HIDDEN, hidden: WEIGHT, logits: X }), options);
    const feeds = { [LOGITS]: x };
    for (const found of [await turned.run(feeds), await turned.run(feeds, [X]), await turned.run(feeds, { [X]: null })]) {
      assert.ok(Object.hasOwn(found, X) && Object.getPrototypeOf(found) === Object.prototype);
      assert.deepEqual([...found[X].data], WANTED[1]);
    }
    const own = new Tensor('float32', new Float32Array(6), [2, 3]);
    const filled = await turned.run(feeds, { [X]: own });
    assert.deepEqual([filled[X] === own, [...own.data]], [true, WANTED[1]]);
    const structured = await turned.run({ [LOGITS]: x }, { [X]: [X], deep: { [X]: WEIGHT } });
    assert.deepEqual([[...structured[X][0].data], [...structured.deep[X].data]], WANTED);
    await Promise.all([session.release(), turned.release()]);
  }
});

test('nested feeds and options of runs are not mistaken for them', async () => {
  const nested = await InferenceSession.create(model({ input: `a.${X}`, logits: 'tag', hidden: 'terminate' }), HERE);
  const feeds = { a: { [X]: x } };
  assert.deepEqual(Object.keys(await nested.run(feeds, { tag: null })), ['tag']);
  assert.deepEqual(Object.keys(await nested.run(feeds, { tag: new Tensor('float32', new Float32Array(6), [2, 3]), terminate: null })), ['tag', 'terminate']);
  assert.deepEqual(Object.keys(await nested.run(feeds, { tag: 'a run' })), ['terminate', 'tag']);
  await nested.release();
});

test('a training, its checkpoint, its export and its artifacts have them', async () => {
  const options = { loss: 'cross-entropy', optimizer: 'sgd', additionalOutputs: [LOGITS], ...HERE };
  const artifacts = await generateArtifacts(model(), options);
  const plain = { input: 'x', parameter: 'w', hidden: 'h', logits: 'y' };
  const [odd, usual] = await Promise.all([
    TrainingSession.create(artifacts, HERE), TrainingSession.create(await generateArtifacts(model(plain), { ...options, additionalOutputs: ['y'] }), HERE),
  ]);
  assert.deepEqual(odd.parameters.map(({ name }) => name), [WEIGHT]);
  const feeds = { [X]: x, labels };
  assert.deepEqual(await odd.step(feeds), await usual.step({ x, labels }));
  const found = await odd.runTrainStep(feeds);
  assert.deepEqual([...found[LOGITS].data], [...(await usual.runTrainStep({ x, labels })).y.data]);
  const [history, wanted] = await Promise.all([
    odd.fit({ inputs: { [X]: x }, labels: { labels } }, { batchSize: 1, validation: { inputs: { [X]: x }, labels: { labels } } }),
    usual.fit({ inputs: { x }, labels: { labels } }, { batchSize: 1, validation: { inputs: { x }, labels: { labels } } }),
  ]);
  assert.deepEqual(history.epochs.map(({ metrics }) => metrics), wanted.epochs.map(({ metrics }) => metrics));
  assert.deepEqual((await odd.predict({ [X]: x }))[LOGITS].data, (await usual.predict({ x })).y.data);
  assert.deepEqual((await odd.getParameter(WEIGHT)).data, (await usual.getParameter('w')).data);
  await assert.rejects(odd.fit({ inputs: { [X]: x }, labels: { labels } }, { earlyStopping: { patience: 1, monitor: 'toString' } }), /there is no 'toString' to monitor/);
  await odd.setParameter(WEIGHT, new Tensor('float32', new Float32Array(6), [2, 3]));
  for (const name of [X, WEIGHT, LOGITS]) odd.properties.set(name, name);
  for (const format of ['trainlet', 'ort']) {
    const resumed = await TrainingSession.create({ ...artifacts, checkpointState: await odd.saveCheckpoint({ format }) }, HERE);
    assert.deepEqual([[...(await resumed.getParameter(WEIGHT)).data], [X, WEIGHT, LOGITS].map((name) => resumed.properties.get(name))], [Array(6).fill(0), [X, WEIGHT, LOGITS]]);
    await resumed.release();
  }
  const inference = await InferenceSession.create(await odd.exportModel(), HERE);
  assert.deepEqual([...(await inference.run({ [X]: x }))[LOGITS].data], Array(6).fill(0));
  await Promise.all([odd, usual, inference].map((session) => session.release()));
});

test('names that no model has are refused, not taken for others', async () => {
  const session = await InferenceSession.create(model({ input: 'x\uFFFD', logits: 'y\uFFFD' }), HERE);
  const feeds = { 'x\uFFFD': x };
  assert.deepEqual([...(await session.run(feeds, ['y\uFFFD']))['y\uFFFD'].data], WANTED[1]);
  await assert.rejects(session.run({ 'x\ud800': x }), { code: 'invalid-feed', message: /there is no input/ });
  for (const name of ['y\ud800', 'y\uFFFD\0', `y\uFFFD\n${HIDDEN}`]) {
    for (const fetches of [[name], { [name]: null }, { a: [name] }]) {
      await assert.rejects(session.run(feeds, fetches), { name: 'TrainletError', message: /^[^\n\0]+$/ });
    }
  }
  assert.deepEqual([...(await session.run(feeds))['y\uFFFD'].data], WANTED[1]);
  await session.release();
});
