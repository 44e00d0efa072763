/**
 * A loss of one's own: forward and backward give what the same loss inside gives; several runs open at once; what is
 * refused.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { onnxFile } from '../../support/onnx-file.js';
import { batchFeeds, batchUnit } from '../../support/recipe.js';
import { golden } from '../../support/clusters.js';
import { slowInput, slowModel } from '../../support/slow-models.js';
import { REPRODUCIBLE } from '../../support/engines.js';
import { assertNear } from '../../support/near.js';

const SGD = { type: 'sgd', lr: 0.1 };

/** @type {TrainingSession[]} */
const open = [];
async function create(model, options, more = {}) {
  open.push(
    await TrainingSession.create(await generateArtifacts(model, { ...options, ...REPRODUCIBLE }), {
      ...REPRODUCIBLE,
      ...more,
    }),
  );
  return open.at(-1);
}
after(() => Promise.all(open.map((session) => session.release())));

const is =
  (code, message = /./) =>
  (error) =>
    error.name === 'TrainletError' && error.code === code && message.test(error.message);

/** Mean cross-entropy of scores (N, C), and its gradient. */
function crossEntropy({ data, dims: [n, classes] }, labels) {
  const gradient = new Float32Array(data.length);
  let loss = 0;
  for (let i = 0; i < n; i++) {
    const row = data.subarray(i * classes, (i + 1) * classes);
    const most = Math.max(...row);
    const sum = row.reduce((total, x) => total + Math.exp(x - most), 0);
    loss += (Math.log(sum) + most - row[Number(labels[i])]) / n;
    for (let c = 0; c < classes; c++)
      gradient[i * classes + c] = (Math.exp(row[c] - most) / sum - Number(c === Number(labels[i]))) / n;
  }
  return { loss, gradient: new Tensor('float32', gradient, [n, classes]) };
}

const parametersOf = async (session) => (await session.getContiguousParameters(false)).data;

/** Parameters or outputs that differ by rounding alone. */
const near = (came, wanted) => assertNear(came, wanted, { absolute: 1e-6 });

for (const name of ['w1', 'cnn_bn', 'tokens']) {
  test(`${name} trains as with the loss inside`, async () => {
    const recipe = JSON.parse(new TextDecoder().decode(golden(`${name}.json`)));
    const inside = await create(golden(`${name}.onnx`), { loss: 'cross-entropy', optimizer: SGD });
    const outside = await create(golden(`${name}.onnx`), { loss: 'outside', optimizer: SGD });
    const [output] = outside.trainingOutputNames;
    const before = await parametersOf(outside);
    for (let step = 0; step < 3; step++) {
      const { labels, ...feeds } = batchFeeds(recipe, step);
      const { loss } = await inside.step({ ...feeds, labels });
      const { outputs, backward } = await outside.forward(feeds);
      const own = crossEntropy(outputs[output], labels.data);
      assert.ok(Math.abs(own.loss - loss) < 1e-5, `${own.loss} and ${loss}`);
      assert.deepEqual(await backward({ [output]: own.gradient }), {});
      await outside.runOptimizerStep();
      await outside.lazyResetGrad();
    }
    const after = await parametersOf(outside);
    assert.ok(after.some((value, i) => Math.abs(value - before[i]) > 1e-3));
    near(after, await parametersOf(inside));
  });
}

/** y = dropout(x · w, 0.5) · v, elementwise, of 64 numbers; with ArgMax(y), which has no gradient. */
const dropping = onnxFile({
  name: 'dropping',
  opset: 17,
  nodes: [
    { op: 'Mul', inputs: ['x', 'w'], outputs: ['xw'], attributes: {} },
    { op: 'Dropout', inputs: ['xw'], outputs: ['dropped'], attributes: {} },
    { op: 'Mul', inputs: ['dropped', 'v'], outputs: ['y'], attributes: {} },
    { op: 'ArgMax', inputs: ['y'], outputs: ['place'], attributes: { axis: 1 } },
  ],
  weights: new Map([
    ['w', { type: 'float32', dims: [64], data: Float32Array.from({ length: 64 }, (_, i) => 1 + batchUnit(1, i)) }],
    ['v', { type: 'float32', dims: [64], data: Float32Array.from({ length: 64 }, (_, i) => 1 + batchUnit(2, i)) }],
  ]),
  inputs: [{ name: 'x', type: 'float32', dims: ['N', 64] }],
  outputs: [
    { name: 'y', type: 'float32', dims: ['N', 64] },
    { name: 'place', type: 'int64', dims: ['N', 1] },
  ],
});
const ones = (n) => new Tensor('float32', new Float32Array(64 * n).fill(1), [n, 64]);
const numbers = (n, seed) =>
  new Tensor(
    'float32',
    Float32Array.from({ length: 64 * n }, (_, i) => 0.5 + batchUnit(seed, i)),
    [n, 64],
  );

test('backward goes through what forward dropped, for runs open at once; gives gradients towards inputs', async () => {
  const session = await create(dropping, { loss: 'outside', optimizer: SGD, requiresGrad: ['w', 'v'] });
  assert.deepEqual(session.trainingOutputNames, ['y', 'place']);
  assert.deepEqual(session.outside, { outputs: ['y'], inputs: ['x'] });
  const feeds = [numbers(2, 3), numbers(3, 4), numbers(2, 5)];
  const runs = await Promise.all(feeds.map((x) => session.forward({ x })));
  const kept = runs.map(({ outputs }) => outputs.y.data.map((y) => Number(y !== 0)));
  assert.notDeepEqual(kept[0], kept[2]);
  for (const at of [2, 0, 1]) {
    const [n] = feeds[at].dims;
    const { x } = await runs[at].backward({ y: ones(n) }, { inputs: ['x'] });
    assert.deepEqual(x.dims, [n, 64]);
    for (let i = 0; i < x.data.length; i++)
      assert.ok(Math.abs(x.data[i] - runs[at].outputs.y.data[i] / feeds[at].data[i]) < 1e-5);
  }
});

test('what was left out of the gradients is zero, and a run can be dropped', async () => {
  const session = await create(dropping, {
    loss: 'outside',
    optimizer: SGD,
    additionalOutputs: ['xw'],
    requiresGrad: ['w', 'v'],
  });
  assert.deepEqual(session.trainingOutputNames, ['y', 'place', 'xw']);
  const before = await session.getParameter('v');
  const x = numbers(1, 6);
  await (await session.forward({ x })).drop();
  const run = await session.forward({ x });
  assert.deepEqual(run.outputs.place.dims, [1, 1]);
  await run[Symbol.asyncDispose]();
  await assert.rejects(run.backward({ y: ones(1) }), is('invalid-argument', /was dropped/));
  const { backward } = await session.forward({ x });
  const towards = await backward({ xw: ones(1) }, { inputs: ['x'] });
  near(towards.x.data, (await session.getParameter('w')).data);
  await session.runOptimizerStep();
  assert.deepEqual((await session.getParameter('v')).data, before.data);
});

test('setTrainable trains what the artifacts had frozen, with gradients towards inputs as before', async () => {
  const [both, one] = await Promise.all(
    [['w', 'v'], ['w']].map((requiresGrad) => create(dropping, { loss: 'outside', optimizer: SGD, requiresGrad })),
  );
  await one.setTrainable(['*']);
  assert.deepEqual(one.outside, both.outside);
  const x = numbers(2, 3);
  const [first, second] = await Promise.all(
    [both, one].map(async (session) => {
      const { backward } = await session.forward({ x });
      const towards = await backward({ y: ones(2) }, { inputs: ['x'] });
      return [towards.x.data, (await session.getGradient('w')).data, (await session.getGradient('v')).data];
    }),
  );
  assert.deepEqual(second, first);
  assert.ok(first.every((numbers) => numbers.some((number) => number !== 0)));
});

test('setTrainable switches normalizations as with the loss inside', async () => {
  const recipe = JSON.parse(new TextDecoder().decode(golden('trainable/cnn_bn.json')));
  const [{ trainable }] = recipe.phases;
  const options = { optimizer: SGD, requiresGrad: trainable };
  const [inside, outside] = await Promise.all(
    ['cross-entropy', 'outside'].map((loss) => create(golden('cnn_bn.onnx'), { loss, ...options })),
  );
  for (const [step, globs] of [...recipe.phases.map((phase) => phase.trainable), trainable].entries()) {
    for (const session of [inside, outside]) await session.setTrainable(globs);
    const { labels, ...feeds } = batchFeeds(recipe, step);
    await inside.step({ ...feeds, labels });
    const { outputs, backward } = await outside.forward(feeds);
    const [[name, scores]] = Object.entries(outputs);
    await backward({ [name]: crossEntropy(scores, labels.data).gradient });
    await outside.runOptimizerStep();
    await outside.lazyResetGrad();
    near(await parametersOf(outside), await parametersOf(inside));
  }
});

test('a loss among the outputs takes a gradient as any other, and its labels are looked at', async () => {
  const model = onnxFile({
    name: 'own',
    opset: 17,
    nodes: [
      { op: 'MatMul', inputs: ['x', 'w'], outputs: ['logits'], attributes: {} },
      { op: 'SoftmaxCrossEntropyLoss', inputs: ['logits', 'labels'], outputs: ['loss'], attributes: {} },
    ],
    weights: new Map([
      ['w', { type: 'float32', dims: [64, 3], data: Float32Array.from({ length: 192 }, (_, i) => batchUnit(1, i)) }],
    ]),
    inputs: [
      { name: 'x', type: 'float32', dims: ['N', 64] },
      { name: 'labels', type: 'int64', dims: ['N'] },
    ],
    outputs: [
      { name: 'loss', type: 'float32', dims: [] },
      { name: 'logits', type: 'float32', dims: ['N', 3] },
    ],
  });
  const [inside, outside] = await Promise.all(
    ['none', 'outside'].map((loss) => create(model, { loss, optimizer: SGD })),
  );
  const feeds = (last) => ({ x: numbers(2, 3), labels: new Tensor('int64', [1n, last]) });
  const { loss } = await inside.step(feeds(2n));
  const { outputs, backward } = await outside.forward(feeds(2n));
  assert.equal(outputs.loss.data[0], loss);
  await backward({ loss: new Tensor('float32', [1], []) });
  await outside.runOptimizerStep();
  assert.deepEqual(await parametersOf(outside), await parametersOf(inside));
  await assert.rejects(outside.forward(feeds(3n)), is('invalid-feed', /'labels' have 3 in row 1.*0 to 2/));
});

test('what cannot be is refused in a sentence', async () => {
  const session = await create(dropping, { loss: 'outside', optimizer: SGD, requiresGrad: ['w', 'v'] });
  const x = numbers(2, 7);
  const { backward, drop } = await session.forward({ x });
  await assert.rejects(backward({}), is('invalid-argument', /gradient of an output at least: y/));
  await assert.rejects(backward({ place: ones(2) }), is('invalid-argument', /no option 'place'; it knows y/));
  await assert.rejects(backward({ y: ones(2) }, { inputs: ['z'] }), is('invalid-argument', /towards 'z'.*towards x/));
  await assert.rejects(backward({ y: ones(3) }), is('invalid-feed', /float32 \(2, 64\), float32 \(3, 64\) came/));
  await backward({ y: ones(2) });
  await assert.rejects(backward({ y: ones(2) }), is('invalid-argument', /has had its backward/));
  await drop();

  const changed = [
    () => session.runOptimizerStep(),
    () => session.setParameter('w', new Tensor('float32', new Float32Array(64))),
  ];
  for (const change of changed) {
    const late = await session.forward({ x });
    await session.getParameter('w');
    await change();
    await assert.rejects(late.backward({ y: ones(2) }), is('invalid-argument', /inplace operation/));
  }
  await assert.rejects(session.step({ x }), is('invalid-argument', /loss inside/));
  await assert.rejects(session.fit({ inputs: { x } }), is('invalid-argument', /loss inside/));
  await assert.rejects(session.evaluate({ inputs: { x } }), is('invalid-argument', /loss inside/));
  await assert.rejects(session.runTrainStep({ x }), is('invalid-argument', /YieldOp/));
  await assert.rejects(session.exportModel({ trainingInfo: true }), is('invalid-argument', /first output is the loss/));
  const signal = AbortSignal.abort();
  await assert.rejects(session.forward({ x }, { signal }), is('aborted'));

  const inside = await create(golden('mlp_small.onnx'), { loss: 'cross-entropy', optimizer: SGD });
  assert.equal(inside.outside, null);
  await assert.rejects(inside.forward({}), is('invalid-argument', /the loss is inside/));
  await assert.rejects(
    generateArtifacts(dropping, { loss: 'outside', lossInputs: ['y'], ...REPRODUCIBLE }),
    is('invalid-argument', /every output takes a gradient/),
  );
});

test('what a backward waited for may have gone: other parameters train, the signal fired, a release', async () => {
  const options = { loss: 'outside', optimizer: SGD, requiresGrad: ['w', 'v'] };
  const session = await create(dropping, options);
  const x = numbers(2, 9);
  const first = await session.forward({ x });
  await session.setTrainable(['v']);
  await assert.rejects(first.backward({ y: ones(2) }), is('invalid-argument', /other parameters train now/));

  const frozen = await session.getParameter('w');
  const second = await session.forward({ x });
  const signal = AbortSignal.abort();
  await assert.rejects(second.backward({ y: ones(2) }, { signal }), is('aborted'));
  await second.backward({ y: ones(2) }); // nothing had run
  assert.deepEqual(
    (await session.getGradient('v')).data.map((g) => Number(g !== 0)),
    second.outputs.y.data.subarray(0, 64).map((y, i) => Number(y !== 0 || second.outputs.y.data[64 + i] !== 0)),
  );
  await session.runOptimizerStep();
  assert.deepEqual((await session.getParameter('w')).data, frozen.data);

  const last = await session.forward({ x });
  await session.release();
  await assert.rejects(last.backward({ y: ones(2) }), is('released'));
  await last.drop();
});

test('forward and backward are stopped while they compute', { timeout: 60_000 }, async () => {
  const session = await create(slowModel(40), { loss: 'outside', optimizer: SGD });
  const before = await parametersOf(session);
  const toLogits = (n) => ({ logits: new Tensor('float32', new Float32Array(3 * n).fill(1), [n, 3]) });
  await assert.rejects(session.forward(slowInput(), { signal: AbortSignal.timeout(100) }), is('aborted', /stopped/));
  const one = await session.forward(slowInput(1));
  const many = await session.forward(slowInput(256));
  await one.backward(toLogits(1));
  await assert.rejects(
    many.backward(toLogits(256), { signal: AbortSignal.timeout(100) }),
    is('aborted', /gradients that were added up so far are dropped, and so is its forward run/),
  );
  await assert.rejects(many.backward(toLogits(256)), is('invalid-argument', /has had its backward/));
  await session.runOptimizerStep();
  assert.deepEqual(await parametersOf(session), before);
  await (await session.forward(slowInput(1))).backward(toLogits(1));
  await session.runOptimizerStep();
  assert.notDeepEqual(await parametersOf(session), before);
});

test('a run that nobody has any more is dropped', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  const session = await create(golden('w1.onnx'), { loss: 'outside', optimizer: SGD });
  const input = new Tensor('float32', new Float32Array(256 * 784).fill(0.5), [256, 784]);
  await (await session.forward({ input })).drop();
  const taken = async () => (await session.getMemoryPlan()).takenBytes;
  const most = (await taken()) + 1e5; // the program of those that add to gradients is kept
  for (let i = 0; i < 3; i++) await session.forward({ input });
  assert.ok((await taken()) > most + 2e6, `${await taken()} bytes with three runs, at most ${most} with none`);
  for (let i = 0; i < 100 && (await taken()) > most; i++) {
    collect();
    await new Promise((done) => setTimeout(done, 10));
  }
  assert.ok((await taken()) <= most, `${await taken()} bytes are taken, at most ${most} without open runs`);
});

test('the eval model of a loss outside gives the outputs alone, and the export is the model', async () => {
  const session = await create(golden('mlp_small.onnx'), { loss: 'outside', optimizer: SGD });
  assert.deepEqual(session.evalOutputNames, ['logits']);
  assert.deepEqual(session.evalInputNames, ['input']);
  const input = new Tensor(
    'float32',
    Float32Array.from({ length: 40 }, (_, i) => batchUnit(8, i)),
    [2, 20],
  );
  const { logits } = await session.runEvalStep({ input });
  assert.deepEqual((await session.predict({ input })).logits.data, logits.data);
  const { outputs, drop } = await session.forward({ input });
  near(outputs.logits.data, logits.data);
  await drop();
  assert.ok((await session.exportModel()).length > 100);
});

test('a backward that finds no memory leaves its run open', async () => {
  const options = { loss: 'outside', optimizer: SGD };
  const { takenBytes } = await (await create(golden('w1.onnx'), options)).getMemoryPlan();
  const session = await create(golden('w1.onnx'), options, { maxMemoryBytes: takenBytes + 12e6 });
  const rows = (n) => new Tensor('float32', new Float32Array(n * 784).fill(0.5), [n, 784]);
  const gradient = { logits: new Tensor('float32', new Float32Array(2560).fill(0.1), [256, 10]) };
  const { backward } = await session.forward({ input: rows(256) });
  const runs = [];
  await assert.rejects(async () => {
    for (;;) runs.push(await session.forward({ input: rows(32) }));
  }, is('out-of-memory'));
  await assert.rejects(backward(gradient, { inputs: ['input'] }), is('out-of-memory'));
  for (const run of runs) await run.drop();
  const { input } = await backward(gradient, { inputs: ['input'] });
  assert.deepEqual(input.dims, [256, 784]);
  assert.ok(input.data.some((x) => x !== 0));
});

test('runs that are open count, and are refused where memory ends', async () => {
  const options = { loss: 'outside', optimizer: SGD };
  const first = await create(golden('w1.onnx'), options);
  const { takenBytes } = await first.getMemoryPlan();
  const session = await create(golden('w1.onnx'), options, { maxMemoryBytes: takenBytes + 8e6 });
  const input = new Tensor('float32', new Float32Array(256 * 784).fill(0.5), [256, 784]);
  const feeds = { [session.trainingInputNames[0]]: input };
  const runs = [];
  await assert.rejects(async () => {
    for (;;) runs.push(await session.forward(feeds));
  }, is('out-of-memory'));
  assert.ok(runs.length >= 1 && runs.length < 8, String(runs.length));
  await runs.pop()?.drop();
  const again = await session.forward(feeds);
  const { dims } = again.outputs[session.trainingOutputNames[0]];
  await again.backward({
    [session.trainingOutputNames[0]]: new Tensor('float32', new Float32Array(256 * dims[1]), dims),
  });
  for (const run of runs) await run.drop();
  assert.ok((await session.getMemoryPlan()).takenBytes <= takenBytes + 8e6);
});
