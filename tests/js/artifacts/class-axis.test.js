/** The class axis of a cross-entropy: last in a product's output, axis 1 elsewhere, or the one in the options. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { countRight } from '../../../js/fit/metrics.js';
import { generateArtifacts, TrainingSession } from '../../../js/index.js';
import { onnxFile } from '../../support/onnx-file.js';
import { artifactOptions, batchFeeds, batchUnit } from '../../support/recipe.js';
import { ALONE } from '../../support/engines.js';

const golden = (name) => readFileSync(new URL(`../../golden/data/${name}`, import.meta.url));
const recipe = JSON.parse(golden('causal.json'));
/** The (N, T, 17) of causal.onnx, before the Transpose that ends its export. */
const LOGITS = '/head/MatMul_output_0';

async function causal(options) {
  const settings = { ...artifactOptions(recipe), ...options, ...ALONE };
  const artifacts = await generateArtifacts(golden('causal.onnx'), settings);
  return TrainingSession.create(artifacts, ALONE);
}
const labelsOf = (session) => session.trainingInputs.find(({ name }) => name === 'labels');

/** The label input of a cross-entropy on the output `y` of nodes that begin at x. */
async function labelsFor(nodes, loss = 'cross-entropy') {
  const uniform = (seed, dims) => ({
    type: 'float32',
    dims,
    data: Float32Array.from({ length: dims.reduce((a, b) => a * b) }, (_, i) => batchUnit(seed, i)),
  });
  const bytes = onnxFile({
    name: 'g',
    nodes: nodes.map(([op, inputs, output, attributes = {}]) => ({ op, inputs, outputs: [output], attributes })),
    weights: [
      ['w', uniform(1, [5, 4])],
      ['left', uniform(2, [4, 5])],
      ['kernel', uniform(3, [4, 5, 1])],
      ['b', uniform(4, [4])],
      ['shape', { type: 'int64', dims: [3], data: BigInt64Array.of(2n, 3n, 4n) }],
      ['flat', { type: 'int64', dims: [2], data: BigInt64Array.of(-1n, 5n) }],
    ].filter(([name]) => nodes.some(([, inputs]) => inputs.includes(name))),
    inputs: [
      { name: 'x', type: 'float32', dims: nodes[0][0] === 'Conv' || nodes[0][1][0] === 'left' ? [2, 5, 3] : [2, 3, 5] },
    ],
    outputs: [{ name: 'y', type: 'float32', dims: [2, 'a', 'b'] }],
  });
  const session = await TrainingSession.create(
    await generateArtifacts(bytes, { loss, batch: 'fixed', ...ALONE }),
    ALONE,
  );
  const { dims, labels } = labelsOf(session);
  await session.release();
  return { dims, axis: labels.axis, classes: labels.classes };
}

test('logits (N, T, C) of a language model train as PyTorch trains them, without an option', async () => {
  const session = await causal({ lossInputs: [LOGITS] });
  assert.deepEqual(labelsOf(session).labels, { classes: 17, axis: -1 });
  for (const [step, want] of recipe.torch.losses32.entries()) {
    const { loss } = await session.step(batchFeeds(recipe, step));
    assert.ok(Math.abs(loss - want) <= 1e-5 * want, `step ${step}: ${loss}, in PyTorch ${want}`);
  }
  await session.release();
});

test('a product with a weight puts the classes last, whatever follows and leaves the axes in place', async () => {
  const last = { dims: [2, 3], axis: -1, classes: 4 };
  assert.deepEqual(await labelsFor([['MatMul', ['x', 'w'], 'y']]), last);
  assert.deepEqual(
    await labelsFor([
      ['MatMul', ['x', 'w'], 'p'],
      ['Add', ['b', 'p'], 'q'],
      ['Cast', ['q'], 'y', { to: 1 }],
    ]),
    last,
  );
  assert.deepEqual(
    await labelsFor([
      ['Reshape', ['x', 'flat'], 'rows'],
      ['Gemm', ['rows', 'w', 'b'], 'p'],
      ['Reshape', ['p', 'shape'], 'y'],
    ]),
    last,
  );
});

test('elsewhere they are along axis 1, and `axis` says so or otherwise', async () => {
  const second = { dims: [2, 3], axis: 1, classes: 4 };
  assert.deepEqual(await labelsFor([['Conv', ['x', 'kernel'], 'y']]), second);
  assert.deepEqual(await labelsFor([['MatMul', ['left', 'x'], 'y']]), second);
  const turned = [
    ['MatMul', ['x', 'w'], 'p'],
    ['Transpose', ['p'], 'y', { perm: [0, 2, 1] }],
  ];
  assert.deepEqual(await labelsFor(turned), second);
  const product = [['MatMul', ['x', 'w'], 'y']];
  assert.deepEqual(await labelsFor(product, { type: 'cross-entropy', axis: 1 }), { dims: [2, 4], axis: 1, classes: 3 });
  const conv = [['Conv', ['x', 'kernel'], 'y']];
  assert.deepEqual(await labelsFor(conv, { type: 'cross-entropy', axis: -1 }), { dims: [2, 4], axis: -1, classes: 3 });
  await assert.rejects(labelsFor(product, { type: 'cross-entropy', axis: 2 }), {
    code: 'invalid-argument',
    message: "option loss.axis: '2' is not 1 or -1 (the last axis)",
  });
});

test('labels of such logits: one-hot, and one that is no class', async () => {
  const session = await causal({
    lossInputs: [LOGITS],
    additionalOutputs: [LOGITS],
    optimizer: { type: 'sgd', lr: 0 },
  });
  const tokens = { ...batchFeeds({ ...recipe, input: { ...recipe.input, dims: [12] } }, 0) };
  const data = { inputs: { input: tokens.input }, labels: { labels: tokens.labels } };
  const { loss, accuracy } = await session.evaluate(data);
  assert.ok(accuracy >= 0 && accuracy <= 1);
  const hot = new Float32Array(tokens.labels.data.length * 17);
  tokens.labels.data.forEach((label, i) => {
    hot[17 * i + Number(label)] = 1;
  });
  const asHot = { type: 'float32', dims: [...tokens.labels.dims, 17], data: hot };
  assert.deepEqual(await session.evaluate({ ...data, labels: { labels: asHot } }), { loss, accuracy });
  const wrong = { ...tokens.labels, data: tokens.labels.data.with(2 * 12 + 7, 17n) };
  await assert.rejects(session.step({ ...tokens, labels: wrong }), {
    code: 'invalid-feed',
    message: /the labels 'labels' have 17 in row 2, element 7, but the scores have 17 classes, 0 to 16/,
  });
  await session.release();
});

test('accuracy looks along the axis of the loss where there are as many tokens as classes', () => {
  const prediction = { type: 'float32', dims: [1, 2, 2], data: Float32Array.of(1, 0, 3, 2) };
  const labels = { data: BigInt64Array.of(0n, 0n), dims: [1, 2] };
  assert.deepEqual(countRight(prediction, labels, { axis: -1 }), { right: 2, counted: 2 });
  assert.deepEqual(countRight(prediction, labels, { axis: 1 }), { right: 0, counted: 2 });
});
