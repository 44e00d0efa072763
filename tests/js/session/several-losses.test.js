/** Several losses in one model: their weighted sum trains, and each is told. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { onnxFile } from '../../support/onnx-file.js';
import { batchUnit } from '../../support/recipe.js';
import { REPRODUCIBLE } from '../../support/engines.js';

const SGD = { type: 'sgd', lr: 0.5 };
const uniform = (seed, dims) => ({
  type: 'float32',
  dims,
  data: Float32Array.from({ length: dims.reduce((a, b) => a * b) }, (_, i) => 2 * batchUnit(seed, i) - 1),
});

/** classes = x · w, value = tanh(x · w) · v: two outputs that share their weights. */
const MODEL = onnxFile({
  name: 'heads',
  nodes: [
    { op: 'MatMul', inputs: ['x', 'w'], outputs: ['classes'], attributes: {} },
    { op: 'Tanh', inputs: ['classes'], outputs: ['bent'], attributes: {} },
    { op: 'MatMul', inputs: ['bent', 'v'], outputs: ['value'], attributes: {} },
  ],
  weights: new Map([
    ['w', uniform(1, [4, 3])],
    ['v', uniform(2, [3, 2])],
  ]),
  inputs: [{ name: 'x', type: 'float32', dims: ['N', 4] }],
  outputs: [
    { name: 'classes', type: 'float32', dims: ['N', 3] },
    { name: 'value', type: 'float32', dims: ['N', 2] },
  ],
});
const LOSSES = [
  { type: 'cross-entropy', input: 'classes', label: 'kind', weight: 0.25 },
  { type: 'mse', input: 'value', label: 'height' },
];
const tensor = ({ type, data, dims }) => new Tensor(type, data, dims);
const x = tensor(uniform(3, [5, 4]));
const height = tensor(uniform(4, [5, 2]));
const kind = new Tensor('int64', [0n, 2n, 1n, 1n, 0n]);

const open = [];
async function create(options) {
  open.push(
    await TrainingSession.create(
      await generateArtifacts(MODEL, { optimizer: SGD, ...options, ...REPRODUCIBLE }),
      REPRODUCIBLE,
    ),
  );
  return open.at(-1);
}
after(() => Promise.all(open.map((session) => session.release())));

/** Both losses of the outputs, and their gradients, each times its weight. */
function byHand({ classes, value }) {
  const toClasses = new Float32Array(15);
  const losses = [0, 0];
  for (let i = 0; i < 5; i++) {
    const row = Array.from(classes.data.subarray(3 * i, 3 * i + 3), Math.exp);
    const sum = row.reduce((a, b) => a + b);
    const label = Number(kind.data[i]);
    losses[0] -= Math.log(row[label] / sum) / 5;
    for (let c = 0; c < 3; c++) toClasses[3 * i + c] = (0.25 * (row[c] / sum - Number(c === label))) / 5;
  }
  const toValue = value.data.map((y, i) => (2 * (y - height.data[i])) / 10);
  value.data.forEach((y, i) => {
    losses[1] += (y - height.data[i]) ** 2 / 10;
  });
  return {
    losses,
    gradients: { classes: new Tensor('float32', toClasses, [5, 3]), value: new Tensor('float32', toValue, [5, 2]) },
  };
}

test('the sum of two losses trains, each part is an output, and the labels have their names', async () => {
  const session = await create({ losses: LOSSES });
  const outside = await create({ loss: 'outside' });
  assert.deepEqual(session.trainingInputNames, ['x', 'kind', 'height']);
  assert.deepEqual(session.trainingOutputNames, ['loss', 'classes_loss', 'value_loss']);
  assert.deepEqual(session.evalOutputNames, session.trainingOutputNames);
  for (let step = 0; step < 3; step++) {
    const { outputs, backward } = await outside.forward({ x });
    const { losses, gradients } = byHand(outputs);
    const told = await session.runTrainStep({ x, kind, height });
    assert.ok(Math.abs(told.classes_loss.data[0] - losses[0]) < 1e-6);
    assert.ok(Math.abs(told.value_loss.data[0] - losses[1]) < 1e-6);
    assert.ok(Math.abs(told.loss.data[0] - (0.25 * losses[0] + losses[1])) < 1e-6);
    await backward(gradients);
    for (const each of [session, outside]) {
      await each.runOptimizerStep();
      await each.lazyResetGrad();
    }
  }
  const [came, wanted] = await Promise.all([session, outside].map((each) => each.getContiguousParameters()));
  came.data.forEach((value, i) => {
    assert.ok(Math.abs(value - wanted.data[i]) < 1e-6);
  });
});

test('fit tells the sum, and labels without names get numbers', async () => {
  const session = await create({
    losses: [
      { type: 'mse', input: 'classes' },
      { type: 'l1', input: 'value' },
    ],
  });
  const [, first, second] = session.trainingInputNames;
  assert.match(`${first} ${second}`, /^target target_\d+$/);
  const data = { inputs: { x }, labels: { [first]: tensor(uniform(5, [5, 3])), [second]: height } };
  const before = await session.evaluate(data);
  await session.fit(data, { epochs: 20 });
  const { loss } = await session.evaluate(data);
  assert.ok(loss < before.loss);
});

test('what cannot be is refused in a sentence', async () => {
  const refusals = [
    [{ losses: LOSSES, loss: 'mse' }, /one loss or several losses, not both/],
    [{ losses: [] }, /an array of objects, each with the type/],
    [{ losses: [{ input: 'value' }] }, /an array of objects, each with the type/],
    [{ losses: [{ type: 'hinge' }] }, /losses\.0\.type: 'hinge' is not cross-entropy, mse/],
    [{ losses: [{ type: 'outside' }] }, /losses\.0\.type: 'outside'/],
    [
      { losses: [LOSSES[0], { type: 'mse', colour: 'red' }] },
      /'losses\.1\.colour'; it knows input, label, weight, type/,
    ],
    [{ losses: [{ type: 'mse', input: 'nowhere' }] }, /losses: the model has no value 'nowhere'/],
    [{ losses: [{ type: 'mse', weight: -1 }] }, /losses\.0\.weight: '-1' is not a number from 0/],
    [{ losses: [{ type: 'mse', label: 'x' }] }, /label 'x': a value of that name is there already/],
    [{ losses: [{ type: 'none', input: 'value' }] }, /the loss 'value' \(of MatMul '.*'\) must be one number/],
    [{ losses: LOSSES, lossInputs: ['value'] }, /each of the losses has its own input/],
  ];
  for (const [options, words] of refusals)
    await assert.rejects(generateArtifacts(MODEL, { ...options, ...REPRODUCIBLE }), {
      code: 'invalid-argument',
      message: words,
    });
});
