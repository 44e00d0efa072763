// A model that an exporter wrote for one size of the batch: the batch becomes free where examples are kept apart, which
// changes no number of PyTorch's, and a sentence says why where they are not.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { generateArtifacts, parametersOf, Tensor, TrainingSession } from '../../../js/index.js';
import { onnxFile } from '../../support/onnx-file.js';
import { HERE, root } from '../../support/engines.js';
import { assertNear } from '../../support/near.js';

const folder = join(root, 'tests/golden/data/fixed_batch');
const numbers = JSON.parse(readFileSync(join(root, 'tests/golden/data/fixed_batch.json'), 'utf8'));
const optimizer = { type: 'sgd', lr: numbers.lr };
const made = (file, options) =>
  generateArtifacts(readFileSync(join(folder, file)), { ...HERE, loss: 'mse', optimizer, ...options });

const networkOf = (file) => file.split('_')[0];
const files = readdirSync(folder);
const apart = files.filter((file) => networkOf(file) !== 'together');
const together = files.filter((file) => networkOf(file) === 'together');

/** Networks that take words. */
const IDS = ['words', 'masked'];

/** Without its BatchNorm a network learns otherwise. */
const isFolded = (file) => file.startsWith('conv_dynamo');

const float32 = (data, dims) => new Tensor('float32', Float32Array.from(data), dims);
const examplesOf = ({ x, xDims }, name) =>
  IDS.includes(name) ? new Tensor('int64', BigInt64Array.from(x, BigInt), xDims) : float32(x, xDims);
const isClose = (got, wanted, absolute, what) => assertNear(got, wanted, { absolute }, what);

/** Names that train in PyTorch: the default ones, and those that only a name tells from other numbers. */
const trainedOf = async (file, { parameters }) =>
  (await parametersOf(readFileSync(join(folder, file)), HERE))
    .filter(({ name, trainable }) => (trainable && name !== 'token') || parameters.includes(name)) // it is a buffer
    .map(({ name }) => name);

test('there are networks of both kinds', () => assert.deepEqual([apart.length, together.length], [24, 3]));

for (const file of apart)
  test(`${file}: three examples at once, and three steps on them`, async () => {
    const own = numbers[networkOf(file)];
    const artifacts = await made(file, { requiresGrad: await trainedOf(file, own) });
    assert.match(artifacts.warnings.join('\n'), /was exported with a fixed batch, which is free now/);
    const session = await TrainingSession.create(artifacts, HERE);
    const inputs = { x: examplesOf(own, networkOf(file)) };
    assert.deepEqual(session.trainingInputs[0].dims, ['batch', ...own.xDims.slice(1)]);
    const { y } = await session.predict(inputs);
    assert.deepEqual(y.dims, own.yDims);
    isClose(y.data, own.y, 1e-5, 'outputs, in PyTorch one example at a time');
    const losses = [];
    for (const _ of own.losses)
      losses.push((await session.step({ ...inputs, target: float32(own.target, own.yDims) })).loss);
    if (!isFolded(file)) isClose(losses, own.losses, 1e-4, 'losses');
    await session.release();
  });

test('a new head takes any batch too, whatever the old one did', async () => {
  for (const file of ['transformer_dynamo_1.onnx', 'together_dynamo_2.onnx']) {
    const artifacts = await made(file, { loss: 'cross-entropy', head: { classes: ['a', 'b'] } });
    assert.match(artifacts.warnings.join('\n'), /was exported with a fixed batch, which is free now/);
    const session = await TrainingSession.create(artifacts, HERE);
    assert.equal(session.trainingInputs[0].dims[0], 'batch');
    await session.release();
  }
});

test('batch: fixed leaves the model as it is', async () => {
  const artifacts = await made('transformer_dynamo_1.onnx', { batch: 'fixed' });
  assert.doesNotMatch(artifacts.warnings.join('\n'), /batch/);
  const session = await TrainingSession.create(artifacts, HERE);
  assert.deepEqual(session.trainingInputs[0].dims, [1, 1, 6, 6]);
  await session.release();
  await assert.rejects(made('conv_script_1.onnx', { batch: 'loose' }), {
    code: 'invalid-argument',
    message: /batch.*loose.*free or fixed/,
  });
});

for (const file of together)
  test(`${file}: a softmax over the batch stays, and the warning names it`, async () => {
    const artifacts = await made(file);
    assert.match(
      artifacts.warnings.join('\n'),
      /with a fixed batch, and Softmax '[^']+' keeps that from being changed/,
    );
    const session = await TrainingSession.create(artifacts, HERE);
    assert.deepEqual(session.trainingInputs[0].dims, [file.includes('_2') ? 2 : 1, 4]);
    await session.release();
  });

const value = (name, ...dims) => ({ name, type: 'float32', dims });
const weight = (...dims) =>
  float32(
    Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, i) => Math.sin(i)),
    dims,
  );
const int64 = (...numbers) => new Tensor('int64', BigInt64Array.from(numbers, BigInt), [numbers.length]);
const node = (op, inputs, outputs, attributes = {}) => ({ op, inputs, outputs, attributes });
/** The warnings of a model whose output is (1, 2). */
async function warningsOf(nodes, weights, inputs) {
  const bytes = onnxFile({
    name: 'g',
    nodes,
    weights: Object.entries(weights),
    inputs,
    outputs: [value('y', 1, 2)],
    opset: 17,
  });
  return (await generateArtifacts(bytes, { ...HERE, loss: 'mse' })).warnings.join('\n');
}

test('a reshape of nothing keeps the batch as it is', async () => {
  const nodes = [
    node('Slice', ['x', 'zero', 'zero', 'one'], ['nothing']),
    node('Reshape', ['nothing', 'shape'], ['rows'], { allowzero: 1 }),
    node('MatMul', ['rows', 'v'], ['still']),
    node('ReduceSum', ['still'], ['sum'], { keepdims: 1 }),
    node('MatMul', ['x', 'w'], ['p']),
    node('Add', ['p', 'sum'], ['y']),
  ];
  const numbers = { zero: int64(0), one: int64(1), shape: int64(0, 3) };
  const told = await warningsOf(nodes, { ...numbers, v: weight(3, 2), w: weight(4, 2) }, [value('x', 1, 4)]);
  assert.match(told, /with a fixed batch, and Reshape '[^']*' keeps that from being changed/);
});

test('first states that are fed have layers before the batch: it stays as it is', async () => {
  const nodes = [
    node('Transpose', ['x'], ['steps'], { perm: [1, 0, 2] }),
    node('GRU', ['steps', 'wi', 'wh', '', '', 'h0'], ['', 'h'], { hidden_size: 2 }),
    node('Squeeze', ['h', 'first'], ['y']),
  ];
  const weights = { wi: weight(1, 6, 3), wh: weight(1, 6, 2), first: int64(0) };
  const told = await warningsOf(nodes, weights, [value('x', 1, 5, 3), value('h0', 1, 1, 2)]);
  assert.match(told, /with a fixed batch, and GRU '[^']*' keeps that from being changed/);
});

test('indices that look into other examples, or not at all of them in order, keep the batch', async () => {
  const picked = (/** @type {any} */ own, /** @type {number[]} */ ...indices) => {
    const at = { type: 'int64', dims: [2, 1, 2], data: BigInt64Array.from(indices, BigInt) };
    const nodes = [node('GatherND', ['x', 'at'], ['p']), node('MatMul', ['p', 'w'], ['y'])];
    return generateArtifacts(
      onnxFile({
        name: 'g',
        nodes,
        weights: Object.entries({ at, w: weight(1, 2) }),
        inputs: [value('x', 2, 3)],
        outputs: [value('y', 2, 2)],
        opset: 17,
      }),
      { ...HERE, loss: 'mse' },
    ).then(({ warnings }) => assert.match(warnings.join('\n'), own ? /which is free now/ : /GatherND '.*' keeps that/));
  };
  await picked(true, 0, 2, 1, 2);
  await picked(false, 0, 2, 0, 2);
  await picked(false, 1, 2, 0, 2);
  await picked(false, 0, 2, 1, 1);
  const flat = (/** @type {number[]} */ ...order) =>
    warningsOf(
      [
        node('Reshape', ['x', 'all'], ['flat']),
        node('Gather', ['flat', 'order'], ['rows']),
        node('MatMul', ['rows', 'w'], ['y']),
      ],
      {
        all: int64(-1),
        order: { type: 'int64', dims: [1, 3], data: BigInt64Array.from(order, BigInt) },
        w: weight(3, 2),
      },
      [value('x', 1, 3)],
    );
  assert.match(await flat(0, 1, 2), /which is free now/);
  assert.match(await flat(2, 1, 0), /Gather '.*' keeps that/);
});
