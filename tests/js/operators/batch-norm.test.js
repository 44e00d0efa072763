/**
 * BatchNormalization in training: with the outputs that it has before opset 14, and in the eval models of ONNX
 * Runtime's own artifacts, which want its running statistics too.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { onnxFile } from '../../support/onnx-file.js';
import { batchUnit } from '../../support/recipe.js';
import { THREADED } from '../../support/engines.js';
import { loadOrt } from '../../support/ort.js';
import { assertNear } from '../../support/near.js';

const ort = loadOrt();

const STATISTICS = ['mean_after', 'var_after', 'mean_of_batch', 'inverse_deviation'];
const vector = (/** @type {number[]} */ ...numbers) => ({
  type: 'float32',
  dims: [numbers.length],
  data: Float32Array.from(numbers),
});
const X = new Tensor(
  'float32',
  Float32Array.from({ length: 60 }, (_, i) => 4 * batchUnit(1, i)),
  [5, 2, 2, 3],
);

/**
 * y = the normalized x, averaged for each channel.
 * @param {number} opset @param {string[]} more outputs of the normalization @param {Record<string, number>} attributes
 * @param {string[]} [told] which of these the model gives
 */
const model = (opset, more, attributes = {}, told = []) =>
  onnxFile({
    name: 'normalized',
    opset,
    nodes: [
      {
        op: 'BatchNormalization',
        inputs: ['x', 'scale', 'shift', 'mean', 'var'],
        outputs: ['n', ...more],
        attributes: { momentum: { float: 0.75 }, ...attributes },
      },
      { op: 'GlobalMaxPool', inputs: ['n'], outputs: ['p'], attributes: {} },
      { op: 'Flatten', inputs: ['p'], outputs: ['y'], attributes: {} },
    ],
    weights: new Map([
      ['scale', vector(1.5, -0.5)],
      ['shift', vector(0.25, 1)],
      ['mean', vector(1, 2)],
      ['var', vector(0.5, 3)],
    ]),
    inputs: [{ name: 'x', type: 'float32', dims: ['N', 2, 2, 3] }],
    outputs: [
      { name: 'y', type: 'float32', dims: ['N', 2] },
      ...told.map((name) => ({ name, type: 'float32', dims: [2] })),
    ],
  });

const near = (/** @type {ArrayLike<number>} */ a, /** @type {ArrayLike<number>} */ b) =>
  assertNear(a, b, { absolute: 1e-5 });

/** @param {Uint8Array} bytes */
async function infer(bytes) {
  const session = await InferenceSession.create(bytes, THREADED);
  const outputs = await session.run({ x: X });
  await session.release();
  return outputs;
}

test('before opset 14, one with more outputs trains, and gives them as onnxruntime-web does', async () => {
  for (const opset of [7, 9, 13]) {
    const bytes = model(opset, STATISTICS, {}, STATISTICS);
    const [ours, there] = [await infer(bytes), await ort.InferenceSession.create(bytes)];
    const theirs = await there.run({ x: new ort.Tensor('float32', X.data, X.dims) });
    for (const name of ['y', ...STATISTICS]) near(ours[name].data, theirs[name].data);
    await there.release();
  }
});

test('its artifacts normalize by the batch in training and by the running statistics in evaluation', async () => {
  const [old, today] = [model(9, STATISTICS), model(15, STATISTICS.slice(0, 2), { training_mode: 1 })];
  const results = [];
  for (const bytes of [old, today]) {
    const made = await generateArtifacts(bytes, { loss: 'mse', optimizer: 'sgd', ...THREADED });
    const session = await TrainingSession.create(made, THREADED);
    const feeds = { x: X, target: new Tensor('float32', new Float32Array(10), [5, 2]) };
    const { loss } = await session.step(feeds);
    const statistics = await session.getParameter('var');
    results.push([loss, Array.from(statistics.data), (await session.predict({ x: X })).y.data]);
    await session.release();
  }
  assert.deepEqual(results[0], results[1]);
  near(results[0][1], (await infer(model(9, STATISTICS, {}, STATISTICS))).var_after.data);
});

test('outside of training the running statistics are those given, as in the eval models of ONNX Runtime', async () => {
  const outputs = await infer(model(15, ['mean_after', 'var_after'], { training_mode: 0 }, ['var_after']));
  assert.deepEqual(outputs.y.data, (await infer(model(15, []))).y.data);
  assert.deepEqual(Array.from(outputs.var_after.data), [0.5, 3]);
});

test('more outputs than its opset knows are refused', async () => {
  const wrong = model(15, STATISTICS, { training_mode: 1 });
  await assert.rejects(infer(wrong), {
    code: 'invalid-model',
    message: /^BatchNormalization '.*': has at most 3 outputs from opset 14 on, 5 are asked for$/,
  });
});
