/**
 * A batch over which BatchNormalization finds a single value for each channel is refused, as in PyTorch; a last batch
 * of one example is left out by `fit`, or all smaller ones by `dropLast`. An empty batch makes no step, nor does one
 * that would make running statistics infinite.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { graphProto, info, message, modelProto, node, opsetId, tensor } from '../../support/onnx-file.js';
import { HERE } from '../../support/engines.js';

const NO_VARIANCE = /^BatchNormInternal 'norm': X is \(1, 3(, 1, 1)?\), a single value for each channel/;

const floats = (/** @type {string} */ name, /** @type {number[]} */ dims, /** @type {(i: number) => number} */ of) =>
  tensor(name, {
    type: 'float32',
    dims,
    data: Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, i) => of(i)),
  });

/** x (N, 4) ─ MatMul ─ BatchNormalization ─ Relu ─ MatMul ─▶ y (N, 2); `norm`: another node in its place. */
function modelOf(norm = node('BatchNormalization', ['a', 's', 'b', 'm', 'v'], 'norm')) {
  const graph = graphProto({
    node: [
      node('MatMul', ['x', 'w'], 'a'),
      new Uint8Array([...norm, ...message([3, 'norm'])]),
      node('Relu', ['norm'], 'r'),
      node('MatMul', ['r', 'u'], 'y'),
    ],
    name: 'g',
    initializer: [
      floats('w', [4, 3], (i) => Math.sin(i)),
      floats('u', [3, 2], (i) => Math.cos(i)),
      floats('s', [3], () => 1),
      floats('b', [3], () => 0.1),
      floats('m', [3], () => 0),
      floats('v', [3], () => 1),
    ],
    input: info('x', 1, ['N', 4]),
    output: info('y', 1, ['N', 2]),
  });
  return modelProto({ graph, opsetImport: opsetId(17) });
}

const artifactsOf = (options = {}, model = modelOf()) =>
  generateArtifacts(model, { loss: 'cross-entropy', optimizer: { type: 'adamw', lr: 0.01 }, ...options, ...HERE });
const sessionOf = async (options = {}, model = modelOf()) =>
  await TrainingSession.create(await artifactsOf(options, model), HERE);

const rows = (/** @type {number} */ count) => ({
  inputs: {
    x: new Tensor(
      'float32',
      Float32Array.from({ length: count * 4 }, (_, i) => Math.sin(i * i)),
      [count, 4],
    ),
  },
  labels: {
    labels: new Tensor(
      'int64',
      Array.from({ length: count }, (_, i) => i % 2),
    ),
  },
});
const batch = (/** @type {number} */ count) => ({ ...rows(count).inputs, ...rows(count).labels });
const weights = async (/** @type {TrainingSession} */ session) => [...(await session.getParameter('w')).data];
const refused = (/** @type {RegExp} */ message) => ({ code: 'invalid-feed', message });

test('a step on one example is refused and changes nothing; evaluation and frozen statistics are not', async () => {
  const session = await sessionOf();
  const before = await weights(session);
  await assert.rejects(session.step(batch(1)), refused(NO_VARIANCE));
  await assert.rejects(session.fit(rows(1)), refused(NO_VARIANCE));
  await assert.rejects(session.fit(rows(6), { batchSize: 1 }), refused(NO_VARIANCE));
  assert.deepEqual(await weights(session), before);
  assert.ok((await session.evaluate(rows(1))).loss > 0);
  assert.deepEqual((await session.predict(rows(1).inputs)).y.dims, [1, 2]);
  assert.ok((await session.step(batch(2))).loss > 0);
  await session.release();

  const frozen = await sessionOf({ requiresGrad: ['u'] });
  assert.ok((await frozen.step(batch(1))).loss > 0);
  await frozen.release();

  const layer = await sessionOf({}, modelOf(node('LayerNormalization', ['a', 's', 'b'], 'norm')));
  assert.ok((await layer.step(batch(1))).loss > 0);
  await layer.release();
});

test('fit leaves out a last batch of one example and says so once; the rest is as if it were not there', async () => {
  for (const accumulate of [1, 2, 3]) {
    const told = /** @type {string[]} */ ([]);
    const options = { batchSize: 4, epochs: 3, shuffle: false, accumulate };
    const session = await sessionOf();
    const history = await session.fit(rows(9), { ...options, onWarning: (text) => void told.push(text) });
    assert.equal(told.length, 1, String(told));
    assert.match(told[0], /^fit: the last batch of each epoch, one example, is left out: BatchNormInternal 'norm'/);
    const without = await sessionOf();
    const wanted = await without.fit(rows(8), options);
    assert.deepEqual(await weights(session), await weights(without));
    assert.deepEqual(
      history.epochs.map(({ loss }) => loss),
      wanted.epochs.map(({ loss }) => loss),
    );
    assert.deepEqual([history.steps, history.skipped], [wanted.steps, 0]);
    await Promise.all([session.release(), without.release()]);
  }
});

test('dropLast leaves out every smaller last batch, without a warning', async () => {
  const session = await sessionOf();
  const options = { batchSize: 4, epochs: 2, shuffle: false, onWarning: assert.fail };
  const history = await session.fit(rows(11), { ...options, dropLast: true });
  const without = await sessionOf();
  const wanted = await without.fit(rows(8), options);
  assert.deepEqual(await weights(session), await weights(without));
  assert.deepEqual([history.steps, history.epochs[1].loss], [4, wanted.epochs[1].loss]);
  await assert.rejects(session.fit(rows(3), { batchSize: 4, dropLast: true }), {
    code: 'invalid-feed',
    message: 'data set: dropLast leaves no batch of 4: it has 3 examples',
  });
  await assert.rejects(session.fit([batch(4)], { dropLast: true }), /fit: dropLast is for whole arrays/);
  await assert.rejects(session.fit(rows(8), /** @type {any} */ ({ dropLast: 1 })), /dropLast must be true or false/);
  await Promise.all([session.release(), without.release()]);
});

for (const dropLast of [true, undefined])
  test(`a fit that is cut in the middle of an epoch ends with the same bits: dropLast ${dropLast}`, async () => {
    const data = rows(13);
    const options = { batchSize: 4, epochs: 3, seed: 3, dropLast, onWarning: () => {} };
    const whole = await sessionOf();
    const { epochs } = await whole.fit(data, options);
    for (const maxSteps of [1, 2, 3, 4, 5, 8]) {
      const first = await sessionOf();
      await first.fit(data, { ...options, maxSteps });
      const checkpointState = await first.saveCheckpoint();
      const second = await TrainingSession.create({ ...(await artifactsOf()), checkpointState }, HERE);
      const rest = await second.fit(data, options);
      assert.deepEqual(await weights(second), await weights(whole), String(maxSteps));
      assert.equal(rest.epochs.at(-1)?.loss, epochs[2].loss);
      await Promise.all([first.release(), second.release()]);
    }
    await whole.release();
  });

test('an empty batch is refused in steps, forward and fit, and weights do not decay', async () => {
  const session = await sessionOf({}, modelOf(node('Identity', ['a'], 'norm')));
  await session.step(batch(4));
  const before = await weights(session);
  const nothing = { x: new Tensor('float32', [], [0, 4]), labels: new Tensor('int64', [], [0]) };
  const empty = refused(/^the batch is empty: no input has an example to train on$/);
  await assert.rejects(session.step(nothing), empty);
  await assert.rejects(session.runTrainStep(nothing), empty);
  await assert.rejects(session.fit([nothing]), refused(/^data set: a batch has no examples$/));
  await assert.rejects(session.evaluate([nothing]), refused(/^data set: a batch has no examples$/));
  assert.deepEqual(await weights(session), before);
  assert.deepEqual((await session.predict({ x: nothing.x })).y.dims, [0, 2]);
  await session.release();

  const outside = await sessionOf({ loss: 'outside' }, modelOf(node('Identity', ['a'], 'norm')));
  await assert.rejects(outside.forward({ x: nothing.x }), empty);
  await outside.release();
});

test('a batch that would make running statistics infinite is undone: what was learned can be saved', async () => {
  const session = await sessionOf();
  const data = rows(12);
  data.inputs.x.data.set(
    Float32Array.from({ length: 16 }, (_, i) => (i % 3 ? 1e20 : -1e20)),
    16,
  );
  const options = { batchSize: 4, epochs: 2, shuffle: false };
  const history = await session.fit(data, { ...options, onNaN: 'skip' });
  assert.deepEqual([history.steps, history.skipped], [4, 2]);
  await session.saveCheckpoint();
  const error = { code: 'non-finite-loss', message: /running statistic 'v' has 3 values that are not finite/ };
  await assert.rejects(session.fit(data, options), error);
  await session.saveCheckpoint();
});
