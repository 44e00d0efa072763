// A new head: the old classifier is cut off, the new one trains as PyTorch's, answers at once by the means of its
// classes, and keeps their names.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { HERE, root } from '../../support/engines.js';

const CLASSES = ['circle', 'square', '♥ "heart"'];
const golden = (name) => readFileSync(join(root, 'tests/golden/data', name));
const numbers = JSON.parse(golden('head.json'));
const mlp = golden('mlp_small.onnx');

const noise = (i) => {
  const x = Math.sin(12.9898 * i) * 43758.5453;
  return x - Math.floor(x);
};
const noises = (first, count) => Float32Array.from({ length: count }, (_, i) => 2 * noise(first + i) - 1);
const shift = noises(5000, 60);
/** Rows of 20, each moved to where its class is. */
const examples = (first, count) =>
  new Tensor(
    'float32',
    noises(first, count * 20).map((x, i) => x + shift[(Math.floor(i / 20) % 3) * 20 + (i % 20)]),
    [count, 20],
  );
const labelsOf = (count) =>
  new Tensor(
    'int64',
    BigInt64Array.from({ length: count }, (_, i) => BigInt(i % 3)),
  );
const taught = { inputs: { input: examples(0, 18) }, labels: { labels: labelsOf(18) } };
const asked = examples(1000, 30);

const withHead = (model, head, more) => generateArtifacts(model, { ...HERE, loss: 'cross-entropy', head, ...more });
const sessionOf = async (model, head, more) => TrainingSession.create(await withHead(model, head, more), HERE);
const largest = (scores) =>
  Array.from({ length: scores.dims[0] }, (_, i) => {
    const row = [...scores.data.subarray(i * 3, i * 3 + 3)];
    return row.indexOf(Math.max(...row));
  });

test('the head trains as in PyTorch, and nothing else does', async () => {
  const session = await sessionOf(mlp, { classes: CLASSES }, { optimizer: { type: 'sgd', lr: numbers.lr } });
  assert.deepEqual(
    session.parameters.filter(({ trainable }) => trainable).map(({ name, dims }) => [name, ...dims]),
    [
      ['head.weight', 3, 17],
      ['head.bias', 3],
    ],
  );
  assert.ok(!session.parameters.some(({ name }) => name.startsWith('fc3')), 'the old classifier is gone');
  for (const [i, wanted] of numbers.losses.entries()) {
    const { loss } = await session.step({ ...taught.inputs, ...taught.labels });
    assert.ok(Math.abs(loss - wanted) < 1e-5, `loss ${i + 1}: ${loss}, PyTorch has ${wanted}`);
  }
  const { data } = await session.getParameter('head.weight');
  data.forEach((x, i) => assert.ok(Math.abs(x - numbers.weight[i]) < 1e-5, `weight ${i}: ${x}`));
});

test('class means answer before any step, as scikit-learn does', async () => {
  const session = await sessionOf(mlp, { classes: CLASSES });
  await session.initializeHead(taught);
  const { scores } = await session.predict({ input: asked });
  assert.deepEqual(largest(scores), numbers.nearest);
  const { loss } = await session.evaluate(taught);
  assert.ok(loss < Math.log(3) / 2, `likelier than by chance: ${loss}`);
  const { loss: first } = await session.step({ ...taught.inputs, ...taught.labels });
  assert.ok(Math.abs(first - loss) < 1e-5);
});

test('one example a class, and a class without any, are enough to begin', async () => {
  const session = await sessionOf(mlp, { classes: CLASSES });
  const two = { input: new Tensor('float32', taught.inputs.input.data.slice(0, 40), [2, 20]) };
  await session.initializeHead({ inputs: two, labels: { labels: labelsOf(2) } });
  const { labels, scores } = await session.predict(two, { labels: true });
  assert.deepEqual(labels.data, CLASSES.slice(0, 2));
  assert.ok(scores.data.every(Number.isFinite));
});

test('class names go through predict, checkpoint and export', async () => {
  const artifacts = await withHead(mlp, { classes: CLASSES });
  const session = await TrainingSession.create(artifacts, HERE);
  await session.initializeHead(taught);
  const { labels } = await session.predict({ input: asked }, ['scores'], { labels: true });
  assert.deepEqual(labels.dims, [30]);
  assert.deepEqual(
    labels.data,
    numbers.nearest.map((c) => CLASSES[c]),
  );
  const again = await TrainingSession.create({ ...artifacts, checkpointState: await session.saveCheckpoint() }, HERE);
  assert.deepEqual(again.classNames, CLASSES);
  assert.deepEqual((await again.predict({ input: asked }, { labels: true })).labels.data, labels.data);
  const exported = await InferenceSession.create(await again.exportModel(), HERE);
  assert.deepEqual([exported.classNames, exported.outputNames], [CLASSES, ['scores']]);
  const [{ scores }, { scores: same }] = [await exported.run({ input: asked }), await again.predict({ input: asked })];
  assert.deepEqual(scores.data, same.data);
  const plain = await InferenceSession.create(mlp, HERE);
  assert.equal(plain.classNames, null);
});

test('a head is put on a head: an exported model learns other classes', async () => {
  const first = await sessionOf(mlp, { classes: CLASSES });
  const session = await sessionOf(await first.exportModel(), { classes: ['a', 'b'] });
  assert.deepEqual(session.classNames, ['a', 'b']);
  assert.deepEqual(
    session.parameters.map(({ name }) => name),
    ['fc1.weight', 'fc1.bias', 'fc2.weight', 'fc2.bias', 'head.weight', 'head.bias'],
  );
  assert.deepEqual(Object.keys(await session.predict({ input: asked })), ['scores']);
});

test('features of a convolution are averaged, or taken where one says', async () => {
  const net = golden('resnet_folded.onnx');
  const picture = { input: new Tensor('float32', noises(0, 2 * 784), [2, 1, 28, 28]) };
  const at = '/blocks/blocks.1/Relu_1_output_0';
  const pooled = await sessionOf(net, { classes: CLASSES, at });
  const flat = await sessionOf(net, { classes: CLASSES });
  const [shape, wide] = [pooled, flat].map(
    ({ parameters }) => parameters.find((p) => p.name === 'head.weight').dims[1],
  );
  const map = (await pooled.predict(picture, [at]))[at];
  assert.deepEqual([map.dims[1], map.size / 2], [shape, wide]);
  const ones = new Tensor('float32', new Float32Array(3 * shape).fill(1), [3, shape]);
  await pooled.setParameter('head.weight', ones);
  const { scores } = await pooled.predict(picture);
  const [area, of] = [map.size / 2 / shape, map.size / 2];
  const mean = (i) => map.data.subarray(i * of, (i + 1) * of).reduce((a, b) => a + b, 0) / area;
  for (const i of [0, 1]) assert.ok(Math.abs(scores.data[3 * i] - mean(i)) < 1e-4 * Math.abs(mean(i)));
});

test('a hidden layer begins as torch.nn.Linear does, and learns', async () => {
  const session = await sessionOf(mlp, { classes: CLASSES, hidden: 16 }, { optimizer: { type: 'sgd', lr: 0.05 } });
  const { data } = await session.getParameter('head.hidden.weight');
  const bound = 1 / Math.sqrt(17);
  assert.ok(data.every((x) => Math.abs(x) <= bound) && data.some((x) => Math.abs(x) > 0.9 * bound));
  assert.ok(Math.abs(data.reduce((a, b) => a + b) / data.length) < 0.2 * bound);
  await session.initializeHead(taught);
  const before = await session.evaluate(taught);
  for (let i = 0; i < 100; i++) await session.step({ ...taught.inputs, ...taught.labels });
  assert.ok((await session.evaluate(taught)).loss < before.loss / 2);
});

test('what does not fit is refused in a sentence', async () => {
  const said = [
    [{ classes: [] }, /head\.classes must be an array of names/],
    [{ classes: ['a', 'a'] }, /head\.classes: 'a' is not a name of one class alone/],
    [{ classes: ['a', ''] }, /head\.classes: '' is not a name/],
    [{ classes: ['a'], at: 'nowhere' }, /head\.at: the model computes no value 'nowhere'/],
    [{ classes: ['a'], at: 'input' }, /head\.at: the model computes no value 'input'/],
    [{ classes: ['a'], hidden: -1 }, /head\.hidden: '-1' is not a whole number/],
    [{ classes: ['a'], width: 3 }, /no option 'head\.width'; it knows classes, at and hidden/],
  ];
  for (const [head, message] of said)
    await assert.rejects(withHead(mlp, head), { code: 'invalid-argument', message }, JSON.stringify(head));
  await assert.rejects(
    withHead(mlp, { classes: ['a'] }, { lossInputs: ['logits'] }),
    /a head goes with a loss of its own/,
  );
  const none = await TrainingSession.create(await generateArtifacts(mlp, { ...HERE, loss: 'cross-entropy' }), HERE);
  await assert.rejects(none.predict({ input: asked }, { labels: true }), /labels are for models with class names/);
  await assert.rejects(none.initializeHead(taught), /the model has no head of ours/);
  const session = await sessionOf(mlp, { classes: ['a', 'b'] });
  await assert.rejects(session.initializeHead(taught), /label 2 in row 2, and the classes are 0 to 1/);
  const short = { inputs: { input: examples(0, 4) }, labels: { labels: labelsOf(2) } };
  await assert.rejects(session.initializeHead(short), /input 'input' has 4 examples, and there are 2 labels/);
});
