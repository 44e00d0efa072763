/**
 * A model in the words of opset 9: it runs, trains and is exported as one of opset 13, which onnxruntime-web runs
 * alike.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { onnxFile } from '../../support/onnx-file.js';
import { batchUnit } from '../../support/recipe.js';
import { loadOrt } from '../../support/ort.js';
import { assertNear } from '../../support/near.js';

const ort = loadOrt();

const uniform = (seed, dims) => ({
  type: 'float32',
  dims,
  data: Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, i) => 2 * batchUnit(seed, i) - 1),
});
const node = (op, inputs, outputs, attributes = {}) => ({
  op,
  inputs: [inputs].flat(),
  outputs: [outputs].flat(),
  attributes,
});

/** Attributes that were to become inputs, Softmax over all dims from an axis on, Upsample. */
const MODEL = onnxFile({
  name: 'old',
  opset: 9,
  nodes: [
    node('Clip', 'x', 'clipped', { min: { float: -0.5 }, max: { float: 0.75 } }),
    node('Pad', 'clipped', 'padded', { pads: [0, 0, 1, 1, 0, 0, 1, 1], value: { float: 0.25 } }),
    node('Conv', ['padded', 'w', 'b'], 'y', { kernel_shape: [3, 3] }),
    node('Upsample', ['y', 'scales'], 'large', { mode: 'nearest' }),
    node('Slice', 'large', 'part', { axes: [2, 3], starts: [1, -7], ends: [7, 9999] }),
    node('Split', 'part', ['first', 'others'], { axis: 1, split: [1, 2] }),
    node('ReduceSum', 'others', 'sum', { axes: [1], keepdims: 1 }),
    node('Add', ['first', 'sum'], 'joined'),
    node('Squeeze', 'joined', 'plane', { axes: [1] }),
    node('Softmax', 'plane', 'shares', { axis: 1 }),
    node('Dropout', 'shares', 'kept', { ratio: { float: 0.25 } }),
    node('Unsqueeze', 'kept', 'again', { axes: [1] }),
    node('Flatten', 'again', 'flat', { axis: 1 }),
    node('Gemm', ['flat', 'v', 'c'], 'logits'),
  ],
  weights: new Map([
    ['w', uniform(1, [3, 2, 3, 3])],
    ['b', uniform(2, [3])],
    ['scales', { type: 'float32', dims: [4], data: Float32Array.of(1, 1, 2, 2) }],
    ['v', uniform(3, [42, 3])],
    ['c', uniform(5, [3])],
  ]),
  inputs: [{ name: 'x', type: 'float32', dims: ['N', 2, 4, 4] }],
  outputs: [{ name: 'logits', type: 'float32', dims: ['N', 3] }],
});
const X = uniform(4, [5, 2, 4, 4]);
const isNear = (a, b) => assertNear(a.data, b.data, { absolute: 1e-5 });

async function runThere(model) {
  const session = await ort.InferenceSession.create(model);
  const { logits } = await session.run({ x: new ort.Tensor('float32', X.data, X.dims) });
  await session.release();
  return logits;
}

test('opset 9 runs as in onnxruntime-web', async () => {
  const session = await InferenceSession.create(MODEL);
  isNear((await session.run({ x: new Tensor('float32', X.data, X.dims) })).logits, await runThere(MODEL));
  await session.release();
});

test('opset 9 trains, and what is exported is opset 13 throughout', async () => {
  const artifacts = await generateArtifacts(MODEL, { loss: 'cross-entropy', optimizer: { type: 'adam', lr: 0.02 } });
  const session = await TrainingSession.create(artifacts);
  assert.deepEqual(
    session.parameters.filter(({ trainable }) => trainable).map(({ name }) => name),
    ['w', 'b', 'v', 'c'],
  );
  const feeds = { x: new Tensor('float32', X.data, X.dims), labels: new Tensor('int64', [0, 1, 2, 1, 0]) };
  const before = (await session.runEvalStep(feeds)).loss.data[0];
  for (let i = 0; i < 30; i++) await session.step(feeds);
  const after = (await session.runEvalStep(feeds)).loss.data[0];
  assert.ok(after < 0.7 * before, `the loss went from ${before} to ${after}`);
  const { logits } = await session.predict({ x: feeds.x });
  isNear(logits, await runThere(await session.exportModel()));
  await session.release();
});

test('while opset 9 trains, its Dropout drops', async () => {
  const artifacts = await generateArtifacts(MODEL, { loss: 'cross-entropy', optimizer: { type: 'sgd', lr: 0 } });
  const session = await TrainingSession.create(artifacts);
  const feeds = { x: new Tensor('float32', X.data, X.dims), labels: new Tensor('int64', [0, 1, 2, 1, 0]) };
  const losses = [await session.step(feeds), await session.step(feeds)].map(({ loss }) => loss);
  assert.notEqual(losses[0], losses[1]);
  await session.release();
});
