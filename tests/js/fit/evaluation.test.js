/**
 * Evaluation by the real engine: means that do not depend on how the data are cut into batches, against the formulas of
 * PyTorch's documentation in plain JavaScript; labels in every form; labels that are no class; warnings.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { fingerprintOf } from '../../../js/data/fingerprint.js';
import { generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { attribute, graphProto, info, modelProto, node, opsetId, tensor, weight } from '../../support/onnx-file.js';
import { clusters, golden } from '../../support/clusters.js';
import { THREADED } from '../../support/engines.js';
import { assertNear } from '../../support/near.js';

const N = 37;
const CLASSES = 5;
const WEIGHTS = [1, 2, 0.5, 3, 1.5];
const { input } = clusters(N, 4).inputs;

/** Every third label is ignored, unevenly over the batches. @param {number} ignored */
const labelsWith = (ignored) =>
  Array.from({ length: N }, (_, i) => (i < 9 || i % 3 === 1 ? ignored : (i * 7) % CLASSES));

/** @param {object} loss @param {object} [options] */
async function sessionWith(loss, options = {}) {
  const artifacts = await generateArtifacts(golden('mlp_small.onnx'), {
    loss: { type: 'cross-entropy', ...loss },
    optimizer: 'sgd',
    ...options,
    ...THREADED,
  });
  return await TrainingSession.create(artifacts, THREADED);
}

/** PyTorch's CrossEntropyLoss of all labels at once, in double. */
async function reference(session, labels, { ignoreIndex, weights = [1, 1, 1, 1, 1] }) {
  const { data } = Object.values(await session.predict({ input }))[0];
  let [sum, weight, right, counted] = [0, 0, 0, 0];
  labels.forEach((label, i) => {
    if (label === ignoreIndex) return;
    const scores = Array.from(data.subarray(i * CLASSES, (i + 1) * CLASSES));
    const log = Math.log(scores.reduce((total, x) => total + Math.exp(x), 0));
    sum += weights[label] * (log - scores[label]);
    weight += weights[label];
    right += Number(scores.indexOf(Math.max(...scores)) === label);
    counted++;
  });
  return { loss: sum / weight, accuracy: right / counted };
}

const near = (found, wanted) => assertNear(found, wanted, { relative: 2e-6 });

for (const [what, loss] of [
  ['as they are', {}],
  ['ignored labels', { ignoreIndex: -100 }],
  ['an ignored class', { ignoreIndex: 2 }],
  ['class weights', { weights: WEIGHTS }],
  ['class weights and ignored labels', { weights: WEIGHTS, ignoreIndex: -100 }],
  ['a sum', { reduction: 'sum' }],
  ['a sum by class weights, labels ignored', { reduction: 'sum', weights: WEIGHTS, ignoreIndex: -100 }],
]) {
  test(`loss, accuracy and perplexity are those of all examples, whatever the batch size: ${what}`, async () => {
    const session = await sessionWith(loss);
    const labels = labelsWith(loss.ignoreIndex ?? 0);
    const wanted = await reference(session, labels, loss);
    const data = { inputs: { input }, labels: { labels: new Tensor('int64', labels) } };
    for (const batchSize of [1, 4, 5, 32, N]) {
      const found = await session.evaluate(data, { batchSize, metrics: ['accuracy', 'perplexity'] });
      near(found.loss, wanted.loss);
      near(found.perplexity, Math.exp(wanted.loss));
      assert.equal(found.accuracy, wanted.accuracy);
    }
    const { epochs } = await session.fit(data, {
      batchSize: 4,
      schedule: { type: 'constant', lr: 0 },
      validation: data,
    });
    near(epochs[0].loss, wanted.loss);
    near(epochs[0].metrics.val_loss, wanted.loss);
    await session.release();
  });
}

test('a loss of numbers is told as the mean over elements, a sum too', async () => {
  const x = new Float32Array(7 * 20).map((_, i) => Math.sin(i));
  const target = new Float32Array(7 * CLASSES).map((_, i) => Math.cos(i));
  const data = {
    inputs: { input: new Tensor('float32', x, [7, 20]) },
    labels: { target: new Tensor('float32', target, [7, CLASSES]) },
  };
  for (const reduction of ['mean', 'sum']) {
    const session = await sessionWith({ type: 'mse', reduction });
    const { data: y } = Object.values(await session.predict(data.inputs))[0];
    const wanted = y.reduce((sum, value, i) => sum + (value - target[i]) ** 2, 0) / y.length;
    for (const batchSize of [1, 2, 7]) near((await session.evaluate(data, { batchSize })).loss, wanted);
    await assert.rejects(
      session.evaluate(data, { metrics: ['perplexity'] }),
      /perplexity needs a loss that is cross-entropy/,
    );
    await session.release();
  }
});

/** Log(Softmax(x · w)), of which `loss` is an operator. @param {string} loss @param {Uint8Array[]} attributes */
function modelWithLoss(loss, ...attributes) {
  const graph = graphProto({
    node: [
      node('MatMul', ['x', 'w'], 'y'),
      node('Softmax', ['y'], 'p'),
      node('Log', ['p'], 'log_p'),
      node(loss, ['log_p', 'target', 'of_classes'], 'loss', ...attributes),
    ],
    name: 'g',
    initializer: [weight('w', [20, CLASSES], 20, 1), weight('of_classes', [CLASSES], 2, 1)],
    input: [info('x', 1, ['N', 20]), info('target', 7, ['N'])],
    output: info('loss', 1, []),
  });
  return modelProto({ graph, opsetImport: opsetId(17) });
}

for (const loss of ['NegativeLogLikelihoodLoss', 'SoftmaxCrossEntropyLoss']) {
  test(`a model's own loss weighs labels by their classes, and refuses those of no class: ${loss}`, async () => {
    const model = modelWithLoss(loss, attribute('ignore_index', -100));
    const session = await TrainingSession.create(
      await generateArtifacts(model, { loss: 'none', ...THREADED }),
      THREADED,
    );
    const ofClasses = new Tensor('float32', WEIGHTS);
    await session.setParameter('of_classes', ofClasses);
    const { data: w } = await session.getParameter('w');
    const labels = labelsWith(-100);
    let [sum, weights] = [0, 0];
    labels.forEach((label, i) => {
      if (label === -100) return;
      const scores = Array.from({ length: CLASSES }, (_, c) =>
        input.data.subarray(20 * i, 20 * i + 20).reduce((total, x, k) => total + x * w[k * CLASSES + c], 0),
      );
      sum -= WEIGHTS[label] * (scores[label] - Math.log(scores.reduce((total, x) => total + Math.exp(x), 0)));
      weights += WEIGHTS[label];
    });
    const feeds = (of) => ({ x: input, target: new Tensor('int64', of) });
    for (const batchSize of [1, 4, N]) {
      const found = await session.evaluate({ inputs: feeds(labels) }, { batchSize });
      near(found.loss, sum / weights);
      assert.deepEqual(Object.keys(found), ['loss']);
    }
    const { loss: mean, perplexity } = await session.evaluate({ inputs: feeds(labels) }, { metrics: ['perplexity'] });
    near(perplexity, Math.exp(mean));
    await assert.rejects(session.evaluate({ inputs: feeds(labels) }, { metrics: ['accuracy'] }), {
      code: 'invalid-argument',
      message: /accuracy needs a prediction, but the model's only output is 'loss', its loss/,
    });
    const stray = feeds(labels.with(20, -1));
    const refused = { code: 'invalid-feed', message: /the labels 'target' have -1 in row 20, but .* 5 classes/ };
    await assert.rejects(session.step(stray), refused);
    await assert.rejects(session.evaluate({ inputs: stray }), refused);
    await session.release();
  });
}

test('each of several losses is the mean of what it counted, for any batch size, also in a fit cut short', async () => {
  const parts = [
    { type: 'cross-entropy', ignoreIndex: -100, weights: WEIGHTS },
    { type: 'mse', label: 'height', reduction: 'sum', weight: 0.25 },
    { type: 'cross-entropy', label: 'kind', weight: 3 },
  ];
  const height = new Tensor(
    'float32',
    new Float32Array(N * CLASSES).map((_, i) => Math.cos(i)),
    [N, CLASSES],
  );
  const kind = Array.from({ length: N }, (_, i) => i % CLASSES);
  const labels = labelsWith(-100);
  const data = {
    inputs: { input },
    labels: { labels: new Tensor('int64', labels), height, kind: new Tensor('int64', kind) },
  };
  const options = { losses: parts, optimizer: 'sgd', ...THREADED };
  const artifacts = await generateArtifacts(golden('mlp_small.onnx'), options);
  const session = await TrainingSession.create({ ...artifacts }, THREADED);
  const { data: y } = Object.values(await session.predict({ input }))[0];
  const squares = y.reduce((sum, value, i) => sum + (value - height.data[i]) ** 2, 0);
  const [first, last] = [await reference(session, labels, parts[0]), await reference(session, kind, {})];
  const wanted = first.loss + (0.25 * squares) / y.length + 3 * last.loss;
  for (const batchSize of [1, 4, 5, N]) near((await session.evaluate(data, { batchSize })).loss, wanted);
  const still = { batchSize: 4, schedule: { type: 'constant', lr: 0 }, validation: data, seed: 1 };
  const { epochs } = await session.fit(data, still);
  near(epochs[0].loss, wanted);
  near(epochs[0].metrics.val_loss, wanted);
  await session.fit(data, { ...still, maxSteps: 3 });
  const again = await TrainingSession.create(
    { ...artifacts, checkpointState: await session.saveCheckpoint() },
    THREADED,
  );
  const { epochs: rest, steps } = await again.fit(data, still);
  assert.equal(steps, Math.ceil(N / 4) - 3);
  near(rest[0].loss, wanted);
  for (const each of [session, again]) await each.release();
});

test('where no label counts, or the loss is not finite, there is an error and no NaN', async () => {
  const session = await sessionWith({ ignoreIndex: -100 });
  const none = { inputs: { input }, labels: { labels: new Tensor('int64', new Array(N).fill(-100)) } };
  const code = { code: 'non-finite-loss' };
  await assert.rejects(session.evaluate(none), { ...code, message: /none of its labels counts/ });
  await assert.rejects(session.fit(none, { onWarning: () => {} }), { ...code, message: /epoch 0 has no mean loss/ });
  const data = input.data.slice();
  data[8 * 20] = Infinity;
  const odd = { inputs: { input: new Tensor('float32', data, [N, 20]) }, labels: clusters(N, 4).labels };
  await assert.rejects(session.evaluate(odd, { batchSize: 4 }), {
    ...code,
    message: /the loss of batch 3 is (NaN|Infinity)/,
  });
  await session.release();
});

/** @type {TrainingSession} */
let session;
let folder = '';
before(async () => {
  session = await sessionWith({});
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-measured-'));
});
after(async () => {
  await session.release();
  await rm(folder, { recursive: true });
});

for (const [stray, words] of [
  [5, /^the labels 'labels' have 5 in row 3, but the scores have 5 classes, 0 to 4$/],
  [-1, /have -1 in row 3/],
  [-100, /have -100 in row 3.*PyTorch's ignore index: make the artifacts with loss: \{.*ignoreIndex: -100/],
]) {
  test(`a label that is no class names row, label and number of classes, and changes nothing: ${stray}`, async () => {
    const labels = new Tensor(
      'int64',
      Array.from({ length: N }, (_, i) => (i === 3 ? stray : i % CLASSES)),
    );
    const feeds = { input, labels };
    const was = (await session.getContiguousParameters()).data;
    const wanted = { code: 'invalid-feed', message: words };
    await assert.rejects(session.step(feeds), wanted);
    await assert.rejects(session.runTrainStep(feeds), wanted);
    await assert.rejects(session.runEvalStep(feeds), wanted);
    const inData = { ...wanted, message: new RegExp(words.source.replace('^', '^data set: ')) };
    const data = { inputs: { input }, labels: { labels } };
    await assert.rejects(session.evaluate(data, { batchSize: 2 }), inData);
    await assert.rejects(session.fit(data, { batchSize: 2 }), inData);
    await assert.rejects(
      session.fit(() => [feeds]),
      wanted,
    );
    assert.deepEqual((await session.getContiguousParameters()).data, was);
  });
}

test('a label that is no class drops the gradients added up so far; the next step is as without it', async () => {
  const [one, two] = [await sessionWith({}), await sessionWith({})];
  const feeds = { input, labels: clusters(N, 4).labels.labels };
  await one.runTrainStep(feeds);
  const bad = { input, labels: new Tensor('int64', new Array(N).fill(7)) };
  await assert.rejects(
    one.runTrainStep(bad),
    /have 7 in row 0.*; the gradients that were added up so far are dropped$/,
  );
  for (const each of [one, two]) {
    await each.runTrainStep(feeds);
    await each.runOptimizerStep();
  }
  assert.deepEqual((await one.getContiguousParameters()).data, (await two.getContiguousParameters()).data);
  for (const each of [one, two]) await each.release();
});

test("ONNX Runtime's own artifacts: labels are checked, and the mean does not depend on the batch size", async () => {
  const folder = new URL('../../golden/data/ort/mnist_web/', import.meta.url);
  const bytes = (name) => new Uint8Array(readFileSync(new URL(name, folder)));
  const session = await TrainingSession.create(
    {
      checkpointState: bytes('checkpoint'),
      trainModel: bytes('training_model.onnx'),
      evalModel: bytes('eval_model.onnx'),
      optimizerModel: bytes('optimizer_model.onnx'),
    },
    THREADED,
  );
  const [x, y] = session.trainingInputs;
  const [images, labels] = [784 * 10, 10].map((n) => Float32Array.from({ length: n }, (_, i) => (i * 7) % 10));
  const data = (stray) => {
    labels[6] = stray;
    return {
      inputs: { [x.name]: new Tensor('float32', images, [10, 784]) },
      labels: { [y.name]: new Tensor('float32', labels) },
    };
  };
  const whole = await session.evaluate(data(3), { batchSize: 10 });
  assert.ok(whole.accuracy >= 0 && whole.loss > 0);
  const cut = await session.evaluate(data(3), { batchSize: 3 });
  near(cut.loss, whole.loss);
  assert.equal(cut.accuracy, whole.accuracy);
  await assert.rejects(session.evaluate(data(10)), {
    code: 'invalid-feed',
    message: /have 10 in row 6, .* 10 classes/,
  });
  await session.release();
});

test('labels of other integer types, whole floats, columns and one-hot rows are the same labels', async () => {
  const indices = Array.from({ length: N }, (_, i) => (i * 3) % CLASSES);
  const hot = indices.flatMap((label) => Array.from({ length: CLASSES }, (_, c) => Number(c === label)));
  const loss = async (labels) => (await session.runEvalStep({ input, labels }))[session.evalOutputNames[0]].data[0];
  const wanted = await loss(new Tensor('int64', indices));
  for (const given of [
    new Tensor('int32', Int32Array.from(indices)),
    new Tensor('uint8', Uint8Array.from(indices)),
    new Tensor('float32', Float32Array.from(indices)),
    new Tensor('int64', indices, [N, 1]),
    new Tensor('float32', hot, [N, CLASSES]),
    new Tensor('uint8', hot, [N, CLASSES]),
  ])
    assert.equal(await loss(given), wanted, `${given.type} [${given.dims}]`);
  const data = { inputs: { input }, labels: { labels: new Tensor('float32', hot, [N, CLASSES]) } };
  assert.deepEqual(
    await session.evaluate(data),
    await session.evaluate({ ...data, labels: { labels: new Tensor('int64', indices) } }),
  );
  hot[7 * CLASSES] = 0.25;
  const refused = (message) => ({ code: 'invalid-feed', message });
  await assert.rejects(
    loss(new Tensor('float32', hot, [N, CLASSES])),
    refused(
      new RegExp(
        "'labels' wants class indices, int64 \\[.*\\]; float32 \\[37, 5\\] came, " +
          'which is not one-hot in row 7: give the index',
      ),
    ),
  );
  const half = Float32Array.from(indices);
  half[2] = 0.5;
  await assert.rejects(loss(new Tensor('float32', half)), refused(/element 2 is 0.5, which is no class/));
  await assert.rejects(
    loss(new Tensor('float16', new Uint16Array(N), [N])),
    refused("input 'labels' wants int64, float16 came"),
  );
  await assert.rejects(
    loss(Int32Array.from(indices)),
    refused("input 'labels' must be a tensor, not an Int32Array: new Tensor(elements, dims)"),
  );
});

/** y = activation(x · w), 3 classes. */
const modelWith = (/** @type {string} */ activation, ...attributes) =>
  modelOf([node('MatMul', ['x', 'w'], 'logits'), node(activation, ['logits'], 'y', ...attributes)]);

function modelOf(nodes, x = ['N', 4]) {
  const graph = graphProto({
    node: nodes,
    name: 'g',
    initializer: [
      weight('w', [4, 3], 4, 1),
      tensor('rows', { type: 'int64', dims: [2], data: BigInt64Array.of(-1n, 3n) }),
    ],
    input: info('x', 1, x),
    output: info('y', 1, ['M', 3]),
  });
  return modelProto({ graph, opsetImport: opsetId(17) });
}

test('fit warns once of a loss that stays the same and of gradients that are all 0', async () => {
  const x = new Tensor('float32', new Float32Array(60 * 4).fill(-1), [60, 4]);
  const labels = new Tensor('int64', new Array(60).fill(1));
  const dead = await generateArtifacts(modelWith('Relu'), { loss: 'cross-entropy', optimizer: 'sgd', ...THREADED });
  const trained = await TrainingSession.create(dead, THREADED);
  await trained.setParameter('w', new Tensor('float32', new Float32Array(12).fill(1), [4, 3]));
  const told = [];
  await trained.fit({ inputs: { x }, labels: { labels } }, { batchSize: 1, onWarning: (text) => told.push(text) });
  assert.equal(told.length, 2, String(told));
  assert.match(told[0], /^fit: all gradients of step 1 are 0/);
  assert.match(told[1], /^fit: the loss has been 1\.098\d* for 50 steps/);
  const healthy = [];
  await session.fit(clusters(60, 2), { batchSize: 1, onWarning: (text) => healthy.push(text) });
  assert.deepEqual(healthy, []);
  await trained.release();
});

test('at the command line a label that is no class is one sentence and exit code 1', async () => {
  const CLI = fileURLToPath(new URL('../../../js/cli/index.js', import.meta.url));
  const run = (...args) =>
    new Promise((resolve) => {
      execFile(process.execPath, [CLI, ...args], (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stdout, stderr }),
      );
    });
  const npy = (descr, shape, data) => {
    const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape.join(', ')},), }`;
    return Buffer.concat([
      Buffer.from('\x93NUMPY\x01\x00\x76\x00', 'latin1'),
      Buffer.from(`${text.padEnd(117)}\n`),
      Buffer.from(data.buffer),
    ]);
  };
  const [model, dir, x, y] = ['m.onnx', 'dir', 'x.npy', 'y.npy'].map((name) => path.join(folder, name));
  await writeFile(model, golden('mlp_small.onnx'));
  await writeFile(x, npy('<f4', [N, 20], input.data));
  const labelsWithOne = (/** @type {bigint} */ label) => {
    const labels = BigInt64Array.from({ length: N }, (_, i) => (i === 30 ? label : 0n));
    return writeFile(y, npy('<i8', [N], labels));
  };
  await labelsWithOne(9n);
  assert.equal((await run('artifacts', model, '--loss', 'cross-entropy', '-o', dir)).code, 0);
  for (const command of ['eval', 'train']) {
    const { code, stdout, stderr } = await run(command, dir, '--data', `${x},${y}`);
    assert.equal(code, 1);
    assert.match(stderr, /the labels 'labels' have 9 in row 30, but the scores have 5 classes, 0 to 4/);
    assert.doesNotMatch(stdout, /NaN/);
  }
  await labelsWithOne(-100n);
  const make = (/** @type {string} */ loss, /** @type {string[]} */ ...more) =>
    run('artifacts', model, '--loss', loss, '--force', '-o', dir, ...more);
  assert.equal((await make('cross-entropy', '--ignore-index', '-100')).code, 0);
  for (const command of ['eval', 'train']) assert.equal((await run(command, dir, '--data', `${x},${y}`)).code, 0);
  assert.match(
    (await make('mse', '--clip-grad-value', '-1')).stderr,
    /optimizer.clipGradValue: '-1' is not a number of at least 0/,
  );
  assert.match(
    (await run('eval', dir, '--data', `${x},${y}`, '--metrics', 'f1,confusion-matrix')).stdout,
    /^loss \d\.\d{4} {2}f1 \d\.\d{4}\nconfusion-matrix \[\[\d+,/,
  );
  const balanced = ['train', dir, '--data', `${x},${y}`, '--class-weight', 'balanced'];
  assert.match((await run(...balanced)).stderr, /classWeight needs artifacts made with .*sampleWeights/);
  assert.equal((await make('cross-entropy', '--ignore-index', '-100', '--sample-weights')).code, 0);
  assert.equal((await run(...balanced)).code, 0);
  assert.equal((await run(...balanced.slice(0, -1), '1,2,0.5,1')).code, 2);
  const { code, stderr } = await make('mse', '--ignore-index', '-100');
  assert.equal(code, 2);
  assert.match(stderr, /--ignore-index: it is for --loss cross-entropy/);
  assert.equal((await make('cross-entropy', '--label-smoothing', '0.1')).code, 0);
  assert.match(
    (await make('mse', '--label-smoothing', '0.1')).stderr,
    /--label-smoothing: it is for --loss cross-entropy/,
  );
  assert.match(
    (await make('cross-entropy', '--label-smoothing', '2')).stderr,
    /--label-smoothing must be a number .* 1, not '2'/,
  );
});

test('data of whole numbers in float32, with a frame of zeros, have a fingerprint of what differs in them', () => {
  const pictures = (/** @type {number} */ factor) =>
    new Float32Array(4096 * 256).map((_, i) => (i % 256 < 16 ? 0 : (((i * 7) % 251) * factor) % 256));
  const of = (/** @type {Float32Array} */ data) => fingerprintOf([['x', { type: 'float32', data, dims: [4096, 256] }]]);
  assert.equal(of(pictures(1)), of(pictures(1)));
  assert.notEqual(of(pictures(1)), of(pictures(3)));
});
