/**
 * Losses of models that end in probabilities: cross-entropy and bce-with-logits are taken of the scores before the last
 * activation, whatever stands behind it, as PyTorch computes them of the probabilities (make_probabilities.py), and
 * those of scikit-learn's classifiers are its log loss (make_ml_training.py); where no scores are known, a warning says
 * so.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { attribute, graphProto, info, modelProto, node, opsetId, tensor } from '../../support/onnx-file.js';
import { HERE } from '../../support/engines.js';
import { assertNear } from '../../support/near.js';

const GOLDEN = new URL('../../golden/data/', import.meta.url);
const CASES = JSON.parse(readFileSync(new URL('probabilities.json', GOLDEN), 'utf8'));
const CLASSIFIERS = JSON.parse(readFileSync(new URL('ml_training.json', GOLDEN), 'utf8'));
const LR = 0.5;

const near = (got, want, what) => assertNear(got, want, { absolute: 2e-5, relative: 2e-5 }, what);

const bytesOf = (/** @type {string} */ text) => new Uint8Array(Buffer.from(text, 'base64'));

for (const [name, { model, loss, x, target, weights, losses, after }] of Object.entries(CASES))
  test(name, async () => {
    const optimizer = { type: 'sgd', lr: LR };
    const artifacts = await generateArtifacts(bytesOf(model), { loss, optimizer, ...HERE });
    assert.deepEqual([...artifacts.warnings], []);
    const session = await TrainingSession.create(artifacts, HERE);
    const labels = loss === 'bce-with-logits' ? 'target' : 'labels';
    const type = labels === 'target' ? 'float32' : 'int64';
    const feeds = {
      x: new Tensor('float32', x.data, x.dims),
      [labels]: new Tensor(type, target.data, target.dims),
      ...(weights && { sample_weight: new Tensor('float32', weights, [weights.length]) }),
    };
    const found = [];
    for (const _ of losses) found.push((await session.step(feeds)).loss);
    near(found, losses, 'loss');
    const outputs = await session.predict({ x: feeds.x }, { probabilities: loss === 'cross-entropy' });
    near(Object.values(outputs)[0].data, after, 'probability');
    const { data, dims } = outputs.probabilities ?? { data: [], dims: [] };
    const classes = dims[1];
    for (let i = 0; i < data.length && dims.length === 2; i += classes) {
      const row = after.slice(i, i + classes);
      const sum = row.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b, 0);
      if (Math.abs(sum - 1) < 1e-6) near(data.subarray(i, i + classes), row, 'probability'); // not cut by Clip
    }
    await session.release();
  });

// ---- scikit-learn, by the recipe of docs/guides/scikit-learn.md ----

const STEPS = 200;

for (const [name, { model, scores, x, labels, losses, ...want }] of Object.entries(CLASSIFIERS))
  test(`log loss of a ${name}`, async () => {
    const options = { loss: 'cross-entropy', lossInputs: [scores], optimizer: { type: 'sgd', lr: 0.05 } };
    const artifacts = await generateArtifacts(bytesOf(model), { ...options, ...HERE });
    for (const warning of artifacts.warnings) assert.doesNotMatch(warning, /probabilities/);
    const session = await TrainingSession.create(artifacts, HERE);
    const inputs = { X: new Tensor('float32', x, [labels.length, x.length / labels.length]) };
    const data = { inputs, labels: { labels: new Tensor('int64', labels) } };
    const told = await session.evaluate(data, { metrics: ['accuracy', 'calibration-error'] });
    near([told.loss, told.accuracy], [want.logLoss, want.accuracy], 'log loss, score');
    near([told['calibration-error']], [want.calibrationError], 'calibration error');
    near([(await session.evaluate(data)).accuracy], [want.accuracy], 'score');
    const outputs = await session.predict(inputs, { probabilities: true });
    for (const { data } of [outputs[scores], outputs.probabilities])
      near([...data].slice(0, want.probabilities.length), want.probabilities, 'probability');
    const { before, temperature } = await session.calibrate(data);
    near([before], [want.calibrationError], 'calibration error');
    assert.ok(temperature > 0);
    session.properties.delete('trainlet.calibration');
    const found = [];
    for (let i = 0; losses && i < STEPS; i++) found.push((await session.step({ ...inputs, ...data.labels })).loss);
    if (losses) near([...found.slice(0, 3), found[STEPS - 1]], losses, 'loss');
    await session.release();
  });

test('of several outputs, the one that the loss reads is measured', async () => {
  const graph = graphProto({
    node: [node('MatMul', ['x', 'w'], 'features'), node('MatMul', ['features', 'u'], 'scores')],
    name: 'g',
    initializer: [
      tensor('w', { type: 'float32', dims: [2, 2], data: Float32Array.of(0, 1, 1, 0) }),
      tensor('u', { type: 'float32', dims: [2, 2], data: Float32Array.of(0, 3, 3, 0) }),
    ],
    input: info('x', 1, ['N', 2]),
    output: [info('features', 1, ['N', 2]), info('scores', 1, ['N', 2])],
  });
  const model = modelProto({ graph, opsetImport: opsetId(17) });
  const options = { loss: 'cross-entropy', lossInputs: ['scores'], optimizer: 'adam', ...HERE };
  const session = await TrainingSession.create(await generateArtifacts(model, options), HERE);
  const inputs = { x: new Tensor('float32', [1, 0, 0, 1, 2, 0], [3, 2]) };
  const data = { inputs, labels: { labels: new Tensor('int64', [0, 1, 0]) } };
  assert.equal((await session.evaluate(data)).accuracy, 1);
  const { probabilities } = await session.predict(inputs, { probabilities: true });
  near([...probabilities.data].slice(0, 2), [1 / (1 + Math.exp(-3)), 1 / (1 + Math.exp(3))], 'probability');
  await session.release();
});

// ---- where no scores are known ----

const WEIGHT = Float32Array.from({ length: 12 }, (_, i) => Math.sin(i));

/** x (N, 4) ─ MatMul ─▶ z (N, 3) ─ nodes ─▶ y */
function modelOf(nodes, outputs = ['N', 3]) {
  const ints = (/** @type {string} */ name, /** @type {bigint[]} */ ...list) =>
    tensor(name, { type: 'int64', dims: [list.length], data: BigInt64Array.from(list) });
  const graph = graphProto({
    node: [node('MatMul', ['x', 'w'], 'z'), ...nodes],
    name: 'g',
    initializer: [tensor('w', { type: 'float32', dims: [4, 3], data: WEIGHT }), ints('two', 0n, 2n)],
    input: [info('x', 1, ['N', 4]), ...(outputs.length ? [] : [info('labels', 7, ['N'])])],
    output: info('y', 1, outputs),
  });
  return modelProto({ graph, opsetImport: opsetId(17) });
}

const warningsOf = async (/** @type {Uint8Array} */ model, /** @type {any} */ options) => [
  ...(await generateArtifacts(model, { optimizer: 'adam', ...options, ...HERE })).warnings,
];
const [softmax, sigmoid] = ['Softmax', 'Sigmoid'].map((op) => node(op, ['z'], 'p'));
const to = (/** @type {string} */ op, /** @type {string[]} */ inputs, ...attributes) =>
  node(op, inputs, 'y', ...attributes);
const last = attribute('axis', 1);

test('probabilities of which no scores are known are warned of, with what to do', async () => {
  const warned = /** @type {[Uint8Array, any, RegExp][]} */ ([
    [modelOf([to('Sigmoid', ['z'])]), { loss: 'cross-entropy' }, /^Sigmoid .* but cross-entropy .*: \['z'\]$/],
    [modelOf([to('Softmax', ['z'])]), { loss: 'bce-with-logits' }, /^Softmax .* but bce-with-logits .*: \['z'\]$/],
    [
      modelOf([softmax, to('Gather', ['p', 'two'], last)], ['N', 2]),
      { loss: 'cross-entropy' },
      /^Softmax .*lossInputs: \['z'\]$/,
    ],
    [
      modelOf([softmax, node('Sigmoid', ['z'], 'q'), to('Concat', ['p', 'q'], last)], ['N', 6]),
      { loss: 'cross-entropy' },
      /^S(oftmax|igmoid) .*lossInputs: \['z'\]$/,
    ],
    [
      modelOf([softmax, to('SoftmaxCrossEntropyLoss', ['p', 'labels'])], []),
      { loss: 'none' },
      /^Softmax .* but cross-entropy needs scores/,
    ],
    [
      modelOf([to('Sigmoid', ['z'])]),
      {
        losses: [
          { type: 'cross-entropy', input: 'y' },
          { type: 'bce-with-logits', input: 'y', label: 'other' },
        ],
      },
      /^Sigmoid .*losses: \[\{ input: 'z' \}\]$/,
    ],
  ]);
  for (const [model, options, words] of warned) {
    const found = await warningsOf(model, options);
    assert.equal(found.length, 1, String([words, ...found]));
    assert.match(found[0], words);
  }
});

test('scores, and probabilities along another axis, are not warned of', async () => {
  const silent = /** @type {[Uint8Array, any][]} */ ([
    [modelOf([to('Softmax', ['z'])]), { loss: 'cross-entropy', lossInputs: ['z'] }],
    [modelOf([to('Softmax', ['z'])]), { loss: 'mse' }],
    [modelOf([to('Softmax', ['z'], attribute('axis', 0))]), { loss: 'cross-entropy' }],
    [modelOf([to('LogSoftmax', ['z'])]), { loss: 'cross-entropy' }],
    [modelOf([to('Sigmoid', ['z'])]), { loss: 'mse' }],
    [modelOf([to('Relu', ['z'])]), { loss: 'bce-with-logits' }],
    [modelOf([sigmoid, to('Mul', ['z', 'p'])]), { loss: 'cross-entropy' }],
    [
      modelOf([softmax, node('Log', ['p'], 'l'), to('NegativeLogLikelihoodLoss', ['l', 'labels'])], []),
      { loss: 'none' },
    ],
  ]);
  for (const [model, options] of silent) assert.deepEqual(await warningsOf(model, options), []);
});

test('each of several losses is taken of its own scores', async () => {
  const model = modelOf([softmax, to('Identity', ['p'])]);
  const losses = (/** @type {string} */ input) => [
    { type: 'cross-entropy', input, label: 'a', weight: 1 },
    { type: 'cross-entropy', input: 'z', label: 'b', weight: 0.5 },
  ];
  const feeds = {
    x: new Tensor('float32', [1, 2, -1, 0.5, 0, 1, 3, -2], [2, 4]),
    a: new Tensor('int64', [0, 2]),
    b: new Tensor('int64', [1, 1]),
  };
  const found = [];
  for (const input of ['y', 'z']) {
    const artifacts = await generateArtifacts(model, {
      losses: losses(input),
      optimizer: { type: 'sgd', lr: LR },
      ...HERE,
    });
    assert.deepEqual([...artifacts.warnings], []);
    const session = await TrainingSession.create(artifacts, HERE);
    found.push([(await session.step(feeds)).loss, (await session.step(feeds)).loss]);
    await session.release();
  }
  assert.deepEqual(found[0], found[1]);
});
