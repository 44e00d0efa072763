/**
 * The benchmark's own parts: its statistics, and that its networks are the ones they are called and train alike
 * wherever they train.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as graphContender from '../../bench/contenders/ort_graph.js';
import * as trainingContender from '../../bench/contenders/ort_training.js';
import * as trainletContender from '../../bench/contenders/trainlet.js';
import { cnn, conv1d, gpt, mlp, mobileNetV2 } from '../../bench/models/networks.js';
import { ZOO } from '../../bench/models/zoo.js';
import { lossDifference, outputDifference, quantile, roundRatio, spread } from '../../bench/statistics.js';
import { task, taskNames, taskOf } from '../../bench/tasks.js';
import { loadOrtTraining } from '../../support/ort.js';

const ort = loadOrtTraining();

test('quantiles lie between elements, and a ratio is that of the rounds both were in', () => {
  assert.equal(quantile([4, 1, 3, 2], 0.5), 2.5);
  assert.deepEqual(spread([5, 1, 2, 4, 3]), { median: 3, low: 2, high: 4, best: 1 });
  assert.equal(roundRatio([1, 2, 10], [2, 4, undefined]), 2);
  assert.equal(roundRatio([1], []), undefined);
});

test('losses that differ are seen, and so is one that is no number', () => {
  assert.ok(Math.abs(lossDifference([2, 1.01], [2, 1]) - 0.01) < 1e-12);
  assert.equal(lossDifference([2, Number.NaN], [2, 1]), Number.POSITIVE_INFINITY);
  assert.equal(lossDifference([2, 5], [2]), 0, 'a slow contender made one step');
});

test('results differ by their largest difference, and wholly where one is no number', () => {
  assert.equal(outputDifference([1, -3.5], [1, -4]), 0.125);
  assert.equal(outputDifference([1, Number.NaN], [1, 1]), Number.POSITIVE_INFINITY);
  assert.equal(outputDifference([1], [1, 1]), Number.POSITIVE_INFINITY);
});

test('the networks of the zoo have the parameters and the arithmetic of their papers, and fixed statistics', () => {
  const known = {
    'Inception-v1': [6_998_552, 1_583],
    'DenseNet-121': [7_978_856, 2_834],
    SqueezeNet: [1_248_424, 819],
    'ResNet-50': [25_557_032, 4_089],
  };
  for (const [name, [parameters, millions]] of Object.entries(known)) {
    const { graph, mflop } = task(name);
    const learned = [...graph.weights].filter(([weight]) => !weight.includes('running'));
    const count = learned.reduce((sum, [, { data }]) => sum + data.length, 0);
    assert.equal(count, parameters, name);
    assert.equal(Math.round(mflop / 2), millions, name);
    assert.deepEqual(graph.shapes.logits, [1, 1000]);
  }
  assert.equal(Object.keys(ZOO).length, 9);
});

test('the networks have the parameters and the arithmetic that they are known by', () => {
  const count = ({ weights }) => [...weights.values()].reduce((sum, { data }) => sum + data.length, 0);
  assert.equal(
    count(mobileNetV2(1)),
    2_236_682 - 17_056,
    "torchvision's with 10 classes; of a folded normalization's two numbers a channel one is left",
  );
  assert.equal(count(mlp(1)), 784 * 512 + 512 + 512 * 256 + 256 + 256 * 10 + 10);
  assert.deepEqual(mobileNetV2(2).shapes.logits, [2, 10]);
  assert.deepEqual(conv1d(3).shapes.logits, [3, 10]);
  assert.deepEqual(gpt(2).shapes.logits, [128, 256]);
  const known = { W1: 154, W2: 1_600, W3: 2_819, W4: 881, LSTM: 5_369, UNET: 5_272, 'ORT-64': 102 };
  for (const [name, mflop] of Object.entries(known)) assert.equal(Math.round(task(name).mflop), mflop, name);
  assert.ok(taskNames.length >= 10);
  assert.ok(Math.abs(count(task('size:10000').graph) / 10_000 - 1) < 0.05);
});

const adamw = { type: 'adamw', lr: 1e-3, betas: [0.9, 0.999], eps: 1e-8, weightDecay: 0.01 };
const sgd = { type: 'sgd', lr: 1e-3 };
const SMALL = [
  taskOf('gpt', ['', () => gpt(2, { width: 32, tokens: 16, vocabulary: 40 }), adamw]),
  taskOf('cnn', ['', () => cnn(3), { ...adamw, type: 'adam', weightDecay: 0 }]),
  taskOf('conv1d', ['', () => conv1d(2, 64), sgd]),
  taskOf('mobilenet', ['', () => mobileNetV2(2, 32), sgd]),
  taskOf('head', ['', () => mobileNetV2(2, 32), sgd, { trainable: ['classifier.*'] }]),
];

async function lossesOf(session) {
  const losses = [];
  for (let i = 0; i < 4; i++) losses.push(await session.step());
  return losses;
}

for (const work of SMALL)
  test(`${work.name}: our losses are onnxruntime-web 1.19.2's, by our artifacts and a hand-built graph`, async (t) => {
    const ours = await lossesOf(await trainletContender.open(work, { threads: 1 }));
    const training = lossDifference(await lossesOf(await trainingContender.openIn(ort, work)), ours);
    const graph = lossDifference(await lossesOf(await graphContender.openIn(ort, work)), ours);
    t.diagnostic(
      `losses ${ours.map((loss) => loss.toFixed(4))}; ` +
        `differences ${training.toExponential(1)}, ${graph.toExponential(1)}`,
    );
    assert.ok(ours[3] < ours[0]);
    assert.ok(training <= 1e-4 && graph <= 1e-4);
  });

test('the plan of a step needs no more than a twentieth above what is alive at its worst moment', async () => {
  for (const name of ['W1', 'W2', 'W3', 'W4', 'W4-full', 'LSTM', 'UNET']) {
    const session = await trainletContender.open(task(name), { threads: 1 });
    await session.step();
    const { arenaBytes, lowerBoundBytes } = await session.memory();
    assert.ok(
      arenaBytes >= lowerBoundBytes && arenaBytes <= 1.05 * lowerBoundBytes,
      `${name}: ${arenaBytes} bytes planned, ${lowerBoundBytes} alive`,
    );
  }
});
