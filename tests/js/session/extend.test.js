// More classes in a trained output: what the old ones' scores and state were, they stay; the new ones answer at once,
// and all train on as in PyTorch (tests/golden/scripts/make_extend.py).

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fineTune, generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { attribute, graphProto, info, modelProto, node, opsetId, tensor } from '../../support/onnx-file.js';
import { HERE, root } from '../../support/engines.js';
import { assertNear } from '../../support/near.js';

const golden = JSON.parse(readFileSync(join(root, 'tests/golden/data/extend.json'), 'utf8'));
const mlp = readFileSync(join(root, 'tests/golden/data/mlp_small.onnx'));
const [F, OLD, ALL] = [6, 3, 5];

const noise = (i) => {
  const x = Math.sin(12.9898 * i) * 43758.5453;
  return x - Math.floor(x);
};
const noises = (first, count) => Float32Array.from({ length: count }, (_, i) => 2 * noise(first + i) - 1);
const labelsOf = (rows, classes) =>
  new Tensor(
    'int64',
    BigInt64Array.from({ length: rows }, (_, i) => BigInt(i % classes)),
  );

/** x (C, F) as (F, C). */
const transposed = (x) => Float32Array.from(x, (_, i) => x[(i % OLD) * F + Math.floor(i / OLD)]);
const W = noises(1000, OLD * F);
const WEIGHTS = { same: [W, [OLD, F]], turned: [transposed(W), [F, OLD]] };
const FORMS = {
  'Gemm with transB': ['same', [node('Gemm', ['x', 'w', 'b'], ['y'], attribute('transB', 1))]],
  Gemm: ['turned', [node('Gemm', ['x', 'w', 'b'], ['y'])]],
  'MatMul and Add': ['turned', [node('MatMul', ['x', 'w'], ['p']), node('Add', ['b', 'p'], ['y'])]],
};

/** A linear classifier. @param {string} form @param {Uint8Array[]} [more] nodes */
function modelOf(form, more = [], output = 'y') {
  const [which, nodes] = FORMS[form];
  const [data, dims] = WEIGHTS[which];
  const graph = graphProto({
    node: [...nodes, ...more],
    name: 'g',
    initializer: [
      tensor('w', { type: 'float32', dims, data }),
      tensor('b', { type: 'float32', dims: [OLD], data: noises(2000, OLD) }),
    ],
    input: info('x', 1, ['N', F]),
    output: info(output, 1, ['N', OLD]),
  });
  return modelProto({ graph, opsetImport: opsetId(17) });
}

const sessionOf = async (t, model, options) => {
  const session = await TrainingSession.create(
    await generateArtifacts(model, { ...HERE, loss: 'cross-entropy', ...options }),
    HERE,
  );
  t.after(() => session.release());
  return session;
};
const made = async (t, artifacts) => {
  const session = await TrainingSession.create(artifacts, HERE);
  t.after(() => session.release());
  return session;
};

const BATCH = new Tensor('float32', noises(0, 15 * F), [15, F]);
const fed = (classes) => ({ x: BATCH, labels: labelsOf(15, classes) });
const OPTIMIZERS = {
  adamw: { type: 'adamw', lr: 0.05, weightDecay: 0.01 },
  sgd: { type: 'sgd', lr: 0.1, momentum: 0.9 },
};
const near = (found, wanted, what) => assertNear(found, wanted, { absolute: 1e-4 }, what);
const columns = ({ data, dims }, count) =>
  Array.from({ length: dims[0] }, (_, i) => [...data.subarray(i * dims[1], i * dims[1] + count)]);

for (const form of Object.keys(FORMS))
  for (const [name, wanted] of Object.entries(golden))
    test(`${form}, ${name}: losses and weights are PyTorch's, before and after`, async (t) => {
      const session = await sessionOf(t, modelOf(form), { optimizer: OPTIMIZERS[name] });
      const losses = async (of, classes, steps) => {
        const found = [];
        for (let i = 0; i < steps; i++) found.push((await of.step(fed(classes))).loss);
        return found;
      };
      near(await losses(session, OLD, wanted.before.length), wanted.before, 'loss before');
      const old = (await session.predict({ x: BATCH })).y;
      const artifacts = await session.extendOutput('y', ['d', 'e'], { classes: ['a', 'b', 'c'] });
      const wider = await made(t, artifacts);
      const { y } = await wider.predict({ x: BATCH });
      assert.deepEqual(columns(y, OLD), columns(old, OLD), 'to the bit');
      assert.deepEqual(wider.classNames, ['a', 'b', 'c', 'd', 'e']);
      near(await losses(wider, ALL, wanted.after.length), wanted.after, 'loss after');
      const { data, dims } = await wider.getParameter('w');
      const at = (c, i) => (dims[0] === ALL ? c * F + i : i * ALL + c);
      const rows = Float32Array.from(data, (_, i) => data[at(Math.floor(i / F), i % F)]);
      near(rows, wanted.weight, 'weight');
      near((await wider.getParameter('b')).data, wanted.bias, 'bias');
      assert.deepEqual((await session.predict({ x: BATCH })).y.data, old.data, 'the old session goes on');
    });

const shift = noises(7000, 100).map((x) => 2 * x);
/** Rows of 20, each moved to where its class is. */
const examples = (first, rows, classes) =>
  new Tensor(
    'float32',
    noises(first, rows * 20).map((x, i) => x + shift[(Math.floor(i / 20) % classes) * 20 + (i % 20)]),
    [rows, 20],
  );
const three = { inputs: { input: examples(0, 30, 3) }, labels: { labels: labelsOf(30, 3) } };
const five = { inputs: { input: examples(20000, 50, 5) }, labels: { labels: labelsOf(50, 5) } };
const asked = examples(1000, 200, 5);
const NAMES = ['a', 'b', 'c', 'd', 'e'];
const rightOf = ({ labels }, classes) =>
  labels.data.filter((name, i) => classes.includes(i % 5) && name === NAMES[i % 5]).length;

async function headOf(t, more) {
  const session = await sessionOf(t, mlp, { head: { classes: NAMES.slice(0, 3) }, ...more });
  await session.initializeHead(three);
  for (let i = 0; i < 20; i++) await session.step({ ...three.inputs, ...three.labels });
  return session;
}

test('a head: new classes answer before any step, old ones as before, and are learned', async (t) => {
  const session = await headOf(t);
  const before = await session.predict({ input: asked }, { labels: true });
  const wider = await made(t, await session.extendOutput('scores', ['d', 'e'], { examples: five }));
  const now = await wider.predict({ input: asked }, { labels: true });
  assert.deepEqual(columns(now.scores, 3), columns(before.scores, 3), 'to the bit');
  assert.ok(rightOf(before, [0, 1, 2]) >= 119 && rightOf(now, [0, 1, 2]) >= 118, `${rightOf(now, [0, 1, 2])} of 120`);
  assert.ok(rightOf(now, [3, 4]) >= 76, `${rightOf(now, [3, 4])} of 80`);
  const { loss } = await wider.evaluate(five);
  await wider.fit(five, { epochs: 5 });
  assert.ok((await wider.evaluate(five)).loss < loss);
  assert.ok(rightOf(await wider.predict({ input: asked }, { labels: true }), [0, 1, 2, 3, 4]) >= 196);
});

test('examples of new classes alone, by name, are enough to begin; without any no new class is answered', async (t) => {
  const session = await headOf(t);
  const rows = Array.from({ length: 50 }, (_, i) => i).filter((i) => i % 5 >= 3);
  const data = Float32Array.from(rows.flatMap((i) => [...five.inputs.input.data.subarray(i * 20, i * 20 + 20)]));
  const only = { inputs: { input: new Tensor('float32', data, [20, 20]) }, labels: rows.map((i) => NAMES[i % 5]) };
  const wider = await made(t, await session.extendOutput('scores', ['d', 'e'], { examples: only }));
  assert.ok(rightOf(await wider.predict({ input: asked }, { labels: true }), [3, 4]) > 50);
  const plain = await made(t, await session.extendOutput('scores', ['d', 'e']));
  const [was, is] = [
    await session.predict({ input: asked }, { labels: true }),
    await plain.predict({ input: asked }, { labels: true }),
  ];
  assert.deepEqual(is.labels.data, was.labels.data);
});

test('what was learned is carried: steps, properties, what trains, averages, groups; no calibration', async (t) => {
  const session = await headOf(t);
  session.properties.set('person', 'Ada');
  await session.setParameterGroups([{ params: ['head.*'], lrScale: 0.5, anchor: 0.1 }]);
  await session.fit(three, { epochs: 2, ema: { decay: 0.9 } });
  await session.calibrate(three, { unknown: true });
  const artifacts = await session.extendOutput('scores', ['d']);
  assert.deepEqual(artifacts.warnings, ['the calibration was of 3 classes and is dropped: calibrate the 4 anew']);
  const wider = await made(t, artifacts);
  assert.deepEqual([...wider.properties.entries()], [['person', 'Ada']]);
  assert.deepEqual(
    wider.parameters.map(({ name, trainable }) => [name, trainable]),
    session.parameters.map(({ name, trainable }) => [name, trainable]),
  );
  assert.equal(await wider.getLearningRate(), await session.getLearningRate());
  await assert.rejects(wider.predict({ input: asked }, { labels: true, threshold: true }), /no threshold was chosen/);
  const [averaged, wide] = [await session.exportModel({ ema: true }), await wider.exportModel({ ema: true })];
  const [a, b] = await Promise.all([averaged, wide].map((model) => InferenceSession.create(model, HERE)));
  const [x, y] = [await a.run({ input: asked }), await b.run({ input: asked })];
  assert.deepEqual(columns(y.scores, 3), columns(x.scores, 3));
  assert.deepEqual((await wider.calibrate(three)).examples, 30);
});

test('the wider session saves, loads, exports, is fine-tuned and extended again', async (t) => {
  const session = await headOf(t);
  const artifacts = await session.extendOutput('scores', ['d', 'e'], { examples: five });
  const wider = await made(t, artifacts);
  await wider.step({ ...five.inputs, ...five.labels });
  const again = await made(t, { ...artifacts, checkpointState: await wider.saveCheckpoint() });
  const steps = [
    await wider.step({ ...five.inputs, ...five.labels }),
    await again.step({ ...five.inputs, ...five.labels }),
  ];
  assert.equal(steps[0].loss, steps[1].loss);
  const model = await wider.exportModel();
  const exported = await InferenceSession.create(model, HERE);
  assert.deepEqual(exported.classNames, NAMES);
  const [{ scores }, { scores: same }] = [await exported.run({ input: asked }), await wider.predict({ input: asked })];
  assert.deepEqual(scores.data, same.data);
  const replay = { inputs: five.inputs, labels: Array.from({ length: 50 }, (_, i) => NAMES[i % 5]) };
  const mine = {
    inputs: { input: examples(40000, 20, 5) },
    labels: Array.from({ length: 20 }, (_, i) => NAMES[i % 5]),
  };
  const tuned = await fineTune(model, mine, { head: false, replay, epochs: 2, engine: HERE });
  t.after(() => tuned.session.release());
  assert.deepEqual(tuned.report.classes, NAMES);
  assert.equal(tuned.report.before.replay.accuracy > 0.9, true);
  const most = await made(t, await wider.extendOutput('scores', ['f']));
  assert.deepEqual(most.classNames, [...NAMES, 'f']);
});

test('the program of docs/guides/fine-tuning.md runs', async (t) => {
  const session = await headOf(t);
  const blocks = [...readFileSync(join(root, 'docs/guides/fine-tuning.md'), 'utf8').matchAll(/^```js\n(.*?)^```/gms)];
  const program = blocks.map(([, text]) => text).find((text) => text.includes('extendOutput'));
  const store = {
    dataset: async ({ classes }) => {
      assert.deepEqual(classes, ['a', 'b', 'c', 'wink']);
      return { inputs: { input: examples(0, 40, 4) }, labels: { labels: labelsOf(40, 4) } };
    },
  };
  const run = new (async () => {}).constructor('session', 'store', 'TrainingSession', `${program}\nreturn wider;`);
  const wider = await run(session, store, TrainingSession);
  t.after(() => wider.release());
  assert.deepEqual(wider.classNames, ['a', 'b', 'c', 'wink']);
});

test('a fit that was cut short does not go on in more classes', async (t) => {
  const session = await headOf(t);
  await session.fit(three, { epochs: 3, maxSteps: 2, batchSize: 10 });
  const wider = await made(t, await session.extendOutput('scores', ['d', 'e']));
  const history = await wider.fit(five, { epochs: 1, batchSize: 10 });
  assert.equal(history.steps, 5);
});

test('a loss outside, other layers that train, and a session with gradients towards inputs', async (t) => {
  const outside = await sessionOf(t, modelOf('Gemm'), { loss: 'outside' });
  const apart = await made(t, await outside.extendOutput('y', ['d'], { classes: ['a', 'b', 'c'] }));
  const { outputs } = await apart.forward({ x: BATCH });
  assert.deepEqual(outputs.y.dims, [15, 4]);
  const session = await headOf(t);
  await session.runTrainStep({ ...three.inputs, ...three.labels }, { inputGradients: ['input'] });
  await session.setTrainable(['fc2.*', 'head.*']);
  const wider = await made(t, await session.extendOutput('scores', ['d', 'e']));
  const trains = wider.parameters.filter(({ trainable }) => trainable).map(({ name }) => name);
  assert.deepEqual(trains, ['fc2.weight', 'fc2.bias', 'head.weight', 'head.bias']);
  const { loss } = await wider.step({ ...five.inputs, ...five.labels });
  assert.ok((await wider.step({ ...five.inputs, ...five.labels })).loss < loss);
});

test('scores of each token, by a MatMul without a bias', async (t) => {
  const graph = graphProto({
    node: node('MatMul', ['x', 'w'], ['y']),
    name: 'g',
    initializer: tensor('w', { type: 'float32', dims: [F, OLD], data: transposed(W) }),
    input: info('x', 1, ['N', 4, F]),
    output: info('y', 1, ['N', 4, OLD]),
  });
  const session = await sessionOf(t, modelProto({ graph, opsetImport: opsetId(17) }));
  const wider = await made(t, await session.extendOutput('y', ['d'], { classes: ['a', 'b', 'c'] }));
  const x = new Tensor('float32', noises(0, 2 * 4 * F), [2, 4, F]);
  const labels = new Tensor('int64', BigInt64Array.of(0n, 1n, 2n, 3n, 3n, 2n, 1n, 0n), [2, 4]);
  const rows = ({ data, dims }) => ({ data, dims: [dims[0] * dims[1], dims[2]] });
  assert.deepEqual(
    columns(rows((await wider.predict({ x })).y), OLD),
    columns(rows((await session.predict({ x })).y), OLD),
  );
  const { loss } = await wider.step({ x, labels });
  assert.ok((await wider.step({ x, labels })).loss < loss);
  assert.deepEqual((await wider.predict({ x }, { labels: true })).labels.dims, [2, 4]);
  const taught = { inputs: { x }, labels: ['a', 'd'] };
  await assert.rejects(
    session.extendOutput('y', ['d'], { classes: ['a', 'b', 'c'], examples: taught }),
    /must be rows/,
  );
});

test("ONNX Runtime's own artifacts take a class more", async (t) => {
  const read = (name) => readFileSync(join(root, 'tests/golden/data/ort/mnist_web', name));
  const session = await made(t, {
    trainModel: read('training_model.onnx'),
    evalModel: read('eval_model.onnx'),
    optimizerModel: read('optimizer_model.onnx'),
    checkpointState: read('checkpoint'),
  });
  const wider = await made(t, await session.extendOutput('output', ['ten'], { classes: [...'0123456789'] }));
  const input = new Tensor('float32', noises(0, 2 * 784), [2, 784]);
  const [old, now] = [await session.predict({ input }), await wider.predict({ input })];
  assert.deepEqual(columns(now.output, 10), columns(old.output, 10));
  const labels = new Tensor('int64', BigInt64Array.of(10n, 3n));
  const { loss } = await wider.step({ input, labels });
  assert.ok((await wider.step({ input, labels })).loss < loss);
});

test('what does not fit is refused in a sentence', async (t) => {
  const session = await headOf(t);
  const refused = (of, args, message) =>
    assert.rejects(
      of.extendOutput(...args),
      { name: 'TrainletError', code: 'invalid-argument', message },
      String(message),
    );
  await refused(session, ['scores', ['a']], /^extendOutput: 'a' is not a name of one class alone/);
  await refused(session, ['scores', ['d', 'd']], /'d' is not a name of one class alone/);
  await refused(session, ['scores', []], /the new classes are an array of at least one name/);
  await refused(session, ['scores', 'heart'], /the new classes are an array of at least one name/);
  await refused(session, ['nowhere', ['d']], /the model has no output 'nowhere'/);
  await refused(session, ['scores', ['d'], { sample: 1 }], /no option 'sample'/);
  await refused(session, ['scores', ['d'], { classes: ['a'] }], /'scores' has 3 classes, and there are names of 1/);
  await refused(
    session,
    ['scores', ['d'], { examples: { inputs: three.inputs, labels: three.labels } }],
    /none is of a new class/,
  );
  await refused(
    session,
    ['scores', ['d'], { examples: { inputs: three.inputs, labels: five.labels } }],
    /row 4 is none of a, b, c, d/,
  );
  const classes = ['a', 'b', 'c'];
  const plain = await sessionOf(t, modelOf('Gemm'));
  await refused(plain, ['y', ['d']], /the model has no names for the 3 classes of 'y': give them by classes/);
  const soft = await sessionOf(t, modelOf('Gemm', [node('Softmax', ['y'], ['z'])], 'z'));
  await refused(
    soft,
    ['z', ['d'], { classes }],
    /'z' is computed by Softmax '.*': wanted a Gemm, or a MatMul with an Add/,
  );
  const numbers = await sessionOf(t, modelOf('Gemm'), { loss: 'mse' });
  await refused(numbers, ['y', ['d'], { classes }], /classes are added where the loss is cross-entropy, or outside/);
  const weighted = await sessionOf(t, modelOf('Gemm'), { loss: { type: 'cross-entropy', weights: [1, 2, 3] } });
  await refused(weighted, ['y', ['d'], { classes }], /what reads the output does not take 4 classes: /);
  assert.equal((await weighted.predict({ x: BATCH })).y.dims[1], 3, 'and goes on');
  assert.ok(Number.isFinite((await weighted.step(fed(OLD))).loss));
});
