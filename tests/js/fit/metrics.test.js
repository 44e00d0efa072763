// Metrics by name, held to scikit-learn's (tests/golden/scripts/make_metrics.py), and metrics of one's own.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { measureNamed } from '../../../js/fit/measures.js';
import { countRight, isHigherBetter } from '../../../js/fit/metrics.js';
import { generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { batchTensor, batchUnit } from '../../support/recipe.js';
import { HERE } from '../../support/engines.js';
import { assertNear } from '../../support/near.js';

const golden = new URL('../../golden/data/', import.meta.url);
const wanted = JSON.parse(readFileSync(new URL('metrics.json', golden), 'utf8'));
const { n: N, classes: C } = wanted;

const scores = Float32Array.from({ length: N * C }, (_, i) => (i % C === 3 ? -3 : 4 * batchUnit(1, i) - 2));
const prediction = { type: 'float32', data: scores, dims: [N, C] };
const labels = { data: BigInt64Array.from(wanted.labels, BigInt), dims: [N] };

const near = (found, want, what) => assertNear([found].flat(Infinity), [want].flat(Infinity), { absolute: 1e-6 }, what);

for (const [what, of] of [
  ['all', {}],
  ['ignoring1', { ignoreIndex: 1 }],
])
  test(`named metrics are scikit-learn's: ${what}`, () => {
    const { right, counted } = countRight(prediction, labels, of);
    near(right / counted, wanted[what].accuracy, 'accuracy');
    const { accuracy, ...others } = wanted[what];
    assert.equal(Object.keys(others).length, 11);
    for (const [name, want] of Object.entries(others)) {
      const { count, tell } = measureNamed(name);
      near(tell(count(prediction, labels, of)), want, name);
      // the same for classes along the last axis, or images
      const places = [
        { prediction: { ...prediction, dims: [1, N, C] }, labels: { ...labels, dims: [1, N] }, axis: -1 },
        { prediction: transposed(), labels: { ...labels, dims: [1, N] }, axis: 1 },
      ];
      for (const { axis, ...at } of places) near(tell(count(at.prediction, at.labels, { ...of, axis })), want, name);
    }
  });

function transposed() {
  const data = scores.map((_, i) => scores[(i % N) * C + Math.floor(i / N)]);
  return { type: 'float32', data, dims: [1, C, N] };
}

test('metrics of numbers are scikit-learn’s, over batches as well', () => {
  const targets = Float32Array.from({ length: N * C }, (_, i) => 2 * batchUnit(4, i) - 1);
  for (const name of ['mae', 'mape', 'r2']) {
    const { count, tell } = measureNamed(name);
    near(tell(count(prediction, { data: targets, dims: [N, C] }, {})), wanted[name], name);
    const [half, rest] = [
      [0, 100],
      [100, N],
    ].map(([from, to]) =>
      count(
        { type: 'float32', data: scores.subarray(from * C, to * C), dims: [to - from, C] },
        { data: targets.subarray(from * C, to * C), dims: [to - from, C] },
        {},
      ),
    );
    near(tell(half.map((sum, i) => sum + rest[i])), wanted[name], name);
    assert.throws(() => count(prediction, { data: targets.subarray(1), dims: [1] }, {}), /targets \[1\] do not fit/);
  }
});

test('r2 of targets that are all equal is 1 or 0, as in scikit-learn', () => {
  const { count, tell } = measureNamed('r2');
  const seven = { type: 'float32', data: new Float32Array(5).fill(0.7), dims: [5] };
  assert.equal(tell(count(seven, seven, {})), 1);
  assert.equal(tell(count({ ...seven, data: Float32Array.of(0.7, 0.7, 1, 0.7, 0.7) }, seven, {})), 0);
});

test('what a larger number means is known of every metric, and asked of a custom one', () => {
  const larger = ['accuracy', 'top-5-accuracy', 'precision', 'recall', 'f1', 'auc', 'r2'];
  const smaller = ['loss', 'perplexity', 'bits-per-byte', 'calibration-error', 'mae', 'mape'];
  for (const name of [...larger, ...smaller])
    for (const monitor of [name, `val_${name}`])
      assert.equal(isHigherBetter('here', monitor), larger.includes(name), monitor);
  const custom = { name: 'my_accuracy', updateState() {}, result: () => 1, resetState() {} };
  for (const higherIsBetter of [true, false])
    assert.equal(isHigherBetter('here', 'val_my_accuracy', [{ ...custom, higherIsBetter }]), higherIsBetter);
  assert.throws(() => isHigherBetter('earlyStopping', 'val_my_accuracy', ['f1', custom]), {
    code: 'invalid-argument',
    message: "earlyStopping: the metric 'my_accuracy' needs higherIsBetter, true or false, to be monitored",
  });
});

test("classWeight 'balanced' is scikit-learn's", async () => {
  const { weigh } = await import('../../../js/data/example-weights.js');
  const inputs = [
    { name: 'labels', type: 'int64', dims: ['N'], labels: { classes: C, axis: 1 } },
    { name: 'sample_weight', type: 'float32', dims: ['N'], sampleWeight: true },
  ];
  const tensors = weigh([['labels', { type: 'int64', ...labels }]], inputs, { classWeight: 'balanced', whole: true });
  tensors.at(-1)[1].data.forEach((weight, i) => {
    near(weight, wanted.balanced[wanted.labels[i]], `weight ${i}`);
  });
});

// ── In sessions ──

const input = { name: 'input', type: 'float32', dims: [20], seed: 1, low: -1, high: 1 };
const label = { name: 'labels', type: 'int64', dims: [], seed: 2, low: 0, high: 5 };
const tensorOf = ({ type, data, dims }) => new Tensor(type, data, dims);
const data = {
  inputs: { input: tensorOf(batchTensor(input, 53, 0)) },
  labels: { labels: tensorOf(batchTensor(label, 53, 0)) },
};
const NUMBERS = ['accuracy', 'top-2-accuracy', 'precision', 'recall', 'f1', 'calibration-error'];
const ARRAYS = ['precision-per-class', 'recall-per-class', 'f1-per-class', 'confusion-matrix'];

/** A metric of one's own: the mean score of the label. */
class MeanScore {
  name = 'mean-score';
  resetState() {
    [this.sum, this.count] = [0, 0];
  }
  updateState({ data: classes }, { data: all, dims: [rows, columns] }) {
    for (let i = 0; i < rows; i++) this.sum += all[i * columns + Number(classes[i])];
    this.count += rows;
  }
  result() {
    return this.sum / this.count;
  }
}

async function create(t, model, options) {
  const made = await generateArtifacts(readFileSync(new URL(model, golden)), { optimizer: 'sgd', ...options, ...HERE });
  const open = async (artifacts = made) => {
    const session = await TrainingSession.create(artifacts, HERE);
    t.after(() => session.release());
    return session;
  };
  return { artifacts: made, open, session: await open() };
}

test('evaluate gives them whatever the batch size, and those of one’s own', async (t) => {
  const { session } = await create(t, 'mlp_small.onnx', { loss: { type: 'cross-entropy', ignoreIndex: 4 } });
  const predicted = Object.values(await session.predict(data.inputs))[0];
  const own = data.labels.labels;
  const metrics = [...NUMBERS, ...ARRAYS, new MeanScore()];
  const [few, many] = [
    await session.evaluate(data, { metrics, batchSize: 7 }),
    await session.evaluate(data, { metrics, batchSize: 100 }),
  ];
  assert.deepEqual(Object.keys(few).sort(), ['loss', 'mean-score', ...NUMBERS, ...ARRAYS].sort());
  for (const name of [...NUMBERS, ...ARRAYS].filter((name) => name !== 'accuracy')) {
    near(few[name], many[name], name);
    const { count, tell } = measureNamed(name);
    near(few[name], tell(count(predicted, own, { ignoreIndex: 4 })), name);
  }
  const mean = Array.from(own.data, (at, i) => predicted.data[i * 5 + Number(at)]).reduce((a, b) => a + b) / 53;
  near(few['mean-score'], mean, 'mean-score');
  assert.equal(few['confusion-matrix'].length, 5);
});

test('fit tells them of training and validation, resumed to the bit', async (t) => {
  const { artifacts, open, session } = await create(t, 'mlp_small.onnx', {
    loss: 'cross-entropy',
    additionalOutputs: ['logits'],
  });
  const options = { epochs: 3, batchSize: 8, validation: 0.25, seed: 3, metrics: [...NUMBERS, new MeanScore()] };
  const batches = [];
  const whole = await session.fit(data, { ...options, onBatch: ({ metrics }) => batches.push(metrics) });
  const names = NUMBERS.flatMap((name) => [name, `val_${name}`]);
  for (const { metrics } of whole.epochs)
    assert.deepEqual(Object.keys(metrics).sort(), ['loss', 'val_loss', 'val_mean-score', ...names].sort());
  assert.deepEqual(Object.keys(batches[0]).sort(), ['loss', ...NUMBERS].sort());
  let cut = await open();
  const epochs = [];
  for (let stopped = ''; stopped !== 'completed'; ) {
    const history = await cut.fit(data, { ...options, maxSteps: 4 });
    stopped = history.stopped;
    epochs.push(...history.epochs);
    cut = await open({ ...artifacts, checkpointState: await cut.saveCheckpoint() });
  }
  assert.deepEqual(
    epochs.map(({ metrics }) => metrics),
    whole.epochs.map(({ metrics }) => metrics),
  );
  const stopped = await session.fit(data, {
    ...options,
    epochs: 9,
    resume: false,
    earlyStopping: { patience: 1, monitor: 'val_f1' },
  });
  const last = stopped.epochs.slice(-2).map(({ metrics }) => metrics.val_f1);
  if (stopped.stopped === 'early-stopping') assert.ok(last[1] <= last[0]);
});

test('metrics of a regression, of training and of validation, and monitors of one', async (t) => {
  const { session } = await create(t, 'regression.onnx', { loss: 'mse', additionalOutputs: ['logits'] });
  const x = tensorOf(batchTensor({ ...input, dims: [9] }, 20, 0));
  const target = tensorOf(batchTensor({ ...input, dims: [3], seed: 7 }, 20, 0));
  const predicted = Object.values(await session.predict({ input: x }))[0];
  const mean = predicted.data.reduce((sum, y, i) => sum + Math.abs(y - target.data[i]), 0) / 60;
  const given = { inputs: { input: x }, labels: { target } };
  near((await session.evaluate(given, { metrics: ['mae'], batchSize: 7 })).mae, mean, 'mae');
  const { epochs } = await session.fit(given, { metrics: ['mae'], validation: 0.5 });
  assert.ok(epochs[0].metrics.mae > 0 && epochs[0].metrics.val_mae > 0);
  const skill = { name: 'skill', updateState() {}, result: () => 1, resetState() {} };
  const monitors = (metric) =>
    session.fit(given, {
      epochs: 9,
      metrics: [metric],
      validation: 0.5,
      earlyStopping: { patience: 2, monitor: 'val_skill' },
    });
  await assert.rejects(monitors(skill), /^TrainletError: earlyStopping: the metric 'skill' needs higherIsBetter/);
  let result = 0; // it grows, so smaller is better ends early
  const grows = { ...skill, result: () => ++result };
  assert.equal((await monitors({ ...grows, higherIsBetter: true })).stopped, 'completed');
  assert.equal((await monitors({ ...grows, higherIsBetter: false })).stopped, 'early-stopping');
});

test('metrics that cannot be are refused in a sentence', async (t) => {
  const { session } = await create(t, 'mlp_small.onnx', { loss: 'cross-entropy' });
  const { session: regression } = await create(t, 'regression.onnx', { loss: 'mse' });
  const fit = (metrics, options) => session.fit(data, { metrics, ...options });
  for (const [asked, message] of [
    [
      () => session.evaluate(data, { metrics: ['top-0-accuracy'] }),
      /^there is no metric 'top-0-accuracy'; there are loss, acc/,
    ],
    [
      () => session.evaluate(data, { metrics: [{ name: 'f' }] }),
      /^a metric is a name, or an object with name, updateState, re/,
    ],
    [() => session.evaluate(data, { metrics: ['mae'] }), /^mae needs a prediction, and numbers as labels/],
    [() => session.evaluate(data, { metrics: ['mae', 'f1'] }), /^mae needs numbers as labels/],
    [() => regression.evaluate(data, { metrics: ['f1'] }), /^f1 needs class indices as labels/],
    [() => fit(['confusion-matrix']), /^fit: confusion-matrix is not one number; evaluate gives it/],
    [() => fit(['f1']), /^fit: f1 needs validation, or artifacts with additionalOutputs: \['logits'\]/],
    [() => fit([new MeanScore()]), /^fit: 'mean-score' is a metric of validation, which is not given/],
  ])
    await assert.rejects(asked(), { code: 'invalid-argument', message });
  const odd = Object.assign(new MeanScore(), { result: () => 'high' });
  await assert.rejects(session.evaluate(data, { metrics: [odd] }), /the metric 'mean-score' gave 'high', not a number/);
});
