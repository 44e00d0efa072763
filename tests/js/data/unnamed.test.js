/** Data sets whose tensors have no names: the same numbers as by name, or a sentence that lists the names. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fineTune, generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { add, dense, input, model, sequential } from '../../../js/layers/index.js';
import { HERE } from '../../support/engines.js';
import { onnxFile } from '../../support/onnx-file.js';

const points = new Tensor(
  'float32',
  Array.from({ length: 80 }, (_, i) => Math.sin(7 * i)),
  [40, 2],
);
const classes = new Tensor(
  'int64',
  Array.from({ length: 40 }, (_, i) => Number(points.data[2 * i] > 0)),
);
const values = new Tensor(
  'float32',
  Array.from({ length: 40 }, (_, i) => points.data[2 * i + 1]),
  [40, 1],
);

const scores = (units) => sequential([input([2]), dense(4, { activation: 'relu' }), dense(units)], { seed: 3 });

async function sessionOf(network, options) {
  return await TrainingSession.create(await generateArtifacts(await network, { optimizer: 'adam', ...options }), HERE);
}

/** The results of a fit, an evaluation and a prediction. */
async function learn(session, data, feeds, options) {
  const history = await session.fit(data, { epochs: 3, batchSize: 8, seed: 1, validation: 0.25, ...options });
  const told = [
    history.epochs.map(({ metrics }) => metrics),
    await session.evaluate(data),
    await session.predict(feeds),
  ];
  await session.release();
  return told;
}

for (const [loss, units, labels, name] of [
  ['cross-entropy', 2, classes, 'labels'],
  ['mse', 1, values, 'target'],
])
  test(`fit, evaluate and predict take tensors without names: ${loss}`, async () => {
    const named = { inputs: { input_layer: points }, labels: { [name]: labels } };
    const wanted = await learn(await sessionOf(scores(units), { loss }), named, named.inputs);
    for (const data of [
      { inputs: points, labels },
      { inputs: points, labels: named.labels },
      { inputs: named.inputs, labels },
    ])
      assert.deepEqual(await learn(await sessionOf(scores(units), { loss }), data, points), wanted);
  });

test('a feature cache, a validation set and example weights go with them', async () => {
  const options = {
    loss: { type: 'cross-entropy', sampleWeights: true },
    requiresGrad: ['dense_1/kernel', 'dense_1/bias'],
  };
  const weights = Array.from({ length: 40 }, (_, i) => 1 + (i % 3));
  const named = { inputs: { input_layer: points }, labels: { labels: classes } };
  const wanted = await learn(await sessionOf(scores(2), options), { ...named, sampleWeight: weights }, named.inputs, {
    validation: named,
  });
  const alone = { inputs: points, labels: classes };
  const data = { ...alone, sampleWeight: weights };
  assert.deepEqual(await learn(await sessionOf(scores(2), options), data, points, { validation: alone }), wanted);
});

test('fineTune, replay, initializeHead and calibrate take them', async () => {
  const network = await scores(5);
  const labels = Array.from(classes.data, (label) => ['left', 'right'][Number(label)]);
  const options = { epochs: 2, engine: HERE, seed: 2 };
  const tune = async (inputs) => {
    const replay = { inputs, labels };
    const { session, report } = await fineTune(network, { inputs, labels }, { ...options, replay });
    await session.initializeHead({ inputs, labels: inputs === points ? classes : { labels: classes } });
    const calibrated = await session.calibrate({ inputs, labels: inputs === points ? classes : { labels: classes } });
    const outputs = await session.predict(points);
    await session.release();
    return [report.after, calibrated, outputs];
  };
  assert.deepEqual(await tune(points), await tune({ input_layer: points }));
});

const two = async () => {
  const [a, b] = [input([2], { name: 'a' }), input([2], { name: 'b' })];
  return await model({ inputs: [a, b], outputs: dense(1)(add()([a, b])) });
};

for (const [loss, wanted] of [
  ['cross-entropy', "'labels' wants a tensor: tensor(indices of classes, 'int64')"],
  ['mse', "'target' wants a tensor: tensor(numbers, 'float32')"],
])
  test(`an array of labels is refused in a sentence: ${loss}`, async () => {
    const session = await sessionOf(scores(2), { loss });
    const message = `data set: labels is an array; ${wanted}`;
    for (const labels of [
      ['a', 'b'],
      [0, 1],
    ])
      await assert.rejects(session.fit({ inputs: points, labels }), { code: 'invalid-feed', message });
    await session.release();
  });

test('of several inputs the names are told', async () => {
  const session = await sessionOf(two(), { loss: 'mse' });
  const [alone, whole] = [
    { inputs: points, labels: values },
    { inputs: { a: points, b: points }, labels: values },
  ];
  const sentence = "data set: inputs is a tensor without a name; wanted are tensors by name, of 'a', 'b'";
  for (const call of [() => session.fit(alone), () => session.evaluate(alone)])
    await assert.rejects(call(), { code: 'invalid-feed', message: sentence });
  await assert.rejects(session.predict(points), { code: 'invalid-feed', message: /tensors by name: 'a' .*'b'/ });
  assert.ok((await session.evaluate(whole)).loss > 0);
  await session.release();
});

test('labels of a loss of the model itself are not guessed', async () => {
  const network = onnxFile({
    name: 'distance',
    nodes: [
      { op: 'MatMul', inputs: ['wanted', 'w'], outputs: ['h'], attributes: {} },
      { op: 'Sub', inputs: ['h', 'seen'], outputs: ['d'], attributes: {} },
      { op: 'ReduceSumSquare', inputs: ['d'], outputs: ['distance'], attributes: { keepdims: 0 } },
    ],
    weights: new Map([['w', { type: 'float32', dims: [2, 2], data: Float32Array.of(1, 2, 0, 1) }]]),
    inputs: ['wanted', 'seen'].map((name) => ({ name, type: 'float32', dims: ['N', 2] })),
    outputs: [{ name: 'distance', type: 'float32', dims: [] }],
  });
  const session = await sessionOf(network, { loss: 'none' });
  const sentence = "data set: inputs is a tensor without a name; wanted are tensors by name, of 'wanted', 'seen'";
  await assert.rejects(session.evaluate({ inputs: points, labels: points }), { message: sentence });
  const { loss } = await session.evaluate({ inputs: { wanted: points, seen: points } });
  assert.equal((await session.evaluate({ inputs: { wanted: points }, labels: points })).loss, loss);
  await session.release();
});
