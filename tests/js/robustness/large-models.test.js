// Models of 20,000 nodes, of every form that made some part of loading look at all of them for each of them: the time
// grows with the number alone.

import assert from 'node:assert/strict';
import test from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { attribute, info, message, modelProto, node, opsetId, tensor } from '../../support/onnx-file.js';
import { THREADED } from '../../support/engines.js';

const NODES = 20_000;
const SECONDS = 15; // processor time, for each model in all phases
const floats = (...data) => ({ type: 'float32', dims: [data.length], data: Float32Array.from(data) });
const vector = (name) => info(name, 1, [2]);
const list = (count, make) => Array.from({ length: count }, (_, i) => make(i));

/** A model around `nodes`, in which y depends on w; parts beyond are fields of the graph. */
const model = (nodes, ...parts) =>
  modelProto({
    graph: message(
      ...nodes.map((n) => [1, n]),
      [5, tensor('w', floats(1, 0.5))],
      [11, vector('x')],
      [12, vector('y')],
      ...parts,
    ),
    opsetImport: opsetId(17),
  });
/** x → v0 → v1 …, the last one into y = last · w. */
const chain = (op, ...attributes) => [
  ...list(NODES, (i) => node(op, [i ? `v${i - 1}` : 'x'], [`v${i}`], ...attributes)),
  node('Mul', [`v${NODES - 1}`, 'w'], ['y']),
];
const sumOf = (names) => [node('Sum', names, ['h']), node('Mul', ['h', 'w'], ['y'])];
const alpha = (i) => attribute('alpha', { float: i / NODES });
const leaky = list(NODES, (i) => node('LeakyRelu', ['x'], [`v${i}`], alpha(i)));
const names = list(NODES, (i) => `v${i}`);

const MODELS = {
  'a chain': model(chain('Tanh')),
  'a chain that is a view': model(chain('Identity')),
  'nodes of one input': model([...leaky, ...sumOf(names)]),
  'the same node over and over': model([...list(NODES, (i) => node('Tanh', ['x'], [`v${i}`])), ...sumOf(names)]),
  'as many weights': model(
    [
      ...list(NODES, (i) => node('Add', [i ? `v${i - 1}` : 'x', `w${i}`], [`v${i}`])),
      node('Mul', [`v${NODES - 1}`, 'w'], ['y']),
    ],
    ...list(NODES, (i) => [5, tensor(`w${i}`, floats(i / NODES, 0))]),
  ),
  'as many outputs': model([...leaky, node('Mul', ['x', 'w'], ['y'])], ...names.map((name) => [12, vector(name)])),
  'as many inputs': model(
    [
      ...list(NODES, (i) => node('Add', [i ? `v${i - 1}` : 'x', `i${i}`], [`v${i}`])),
      node('Mul', [`v${NODES - 1}`, 'w'], ['y']),
    ],
    ...list(NODES, (i) => [11, vector(`i${i}`)]),
  ),
  'as many symbols': model(
    [...list(NODES, (i) => node('Relu', [`i${i}`], [`v${i}`])), node('Mul', ['x', 'w'], ['y'])],
    ...list(NODES, (i) => [11, info(`i${i}`, 1, [`s${i}`])]),
  ),
  'values that are all kept': model([
    node('Mul', ['x', 'w'], ['v0']),
    ...list(NODES / 2, (i) => node('Sigmoid', [`v${i}`], [`v${i + 1}`])),
    ...list(NODES / 2, (i) =>
      node('Add', [i ? `u${i - 1}` : `v${NODES / 2}`, `v${NODES / 2 - i}`], [i === NODES / 2 - 1 ? 'y' : `u${i}`]),
    ),
  ]),
  'weights that the loss does not depend on': model(
    [node('Mul', ['x', 'w'], ['y'])],
    ...list(NODES, (i) => [5, tensor(`w${i}`, floats(i, 1))]),
  ),
};

const x = new Tensor('float32', Float32Array.of(1, 2), [2]);
const feeds = (inputs) => Object.fromEntries(inputs.map((name) => [name, x]));

for (const [name, bytes] of Object.entries(MODELS)) {
  test(`${NODES} nodes, ${name}: loaded, run, made into artifacts, trained`, async () => {
    const before = process.cpuUsage();
    const session = await InferenceSession.create(bytes, THREADED);
    const { y } = await session.run(feeds(session.inputNames));
    assert.equal(y.data.length, 2);
    await session.release();
    const artifacts = await generateArtifacts(bytes, {
      loss: 'mse',
      lossInputs: ['y'],
      optimizer: { type: 'sgd', lr: 0 },
      requiresGrad: ['w'],
      ...THREADED,
    });
    const training = await TrainingSession.create(artifacts, THREADED);
    const inputs = training.trainingInputNames;
    const { loss } = await training.step({
      ...feeds(inputs.filter((input) => input !== 'target')),
      target: new Tensor('float32', y.data, [2]),
    });
    assert.ok(loss < 1e-6, `the loss of what it gave is ${loss}`);
    await training.release();
    const { user, system } = process.cpuUsage(before);
    assert.ok((user + system) / 1e6 < SECONDS, `it took ${(user + system) / 1e6} s`);
  });
}

test(`${NODES} warnings: each of them is there, and soon`, async () => {
  const before = process.cpuUsage();
  const { warnings } = await generateArtifacts(MODELS['weights that the loss does not depend on'], {
    loss: 'mse',
    lossInputs: ['y'],
    requiresGrad: ['w*'],
    ...THREADED,
  });
  const { user, system } = process.cpuUsage(before);
  assert.equal(warnings.length, NODES);
  assert.ok(
    list(NODES, (i) => i).every(
      (i) => warnings[i] === `parameter 'w${i}' stays frozen: the loss does not depend on it`,
    ),
  );
  assert.ok((user + system) / 1e6 < SECONDS, `it took ${(user + system) / 1e6} s`);
});
