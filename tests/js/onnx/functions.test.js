/**
 * Functions of a model's own: called, they compute and train as the same written out; what cannot be written out is
 * refused in a sentence.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import {
  attribute,
  attributeProto,
  functionProto,
  graphProto,
  info,
  modelProto,
  nodeProto,
  opsetId,
} from '../../support/onnx-file.js';
import { batchBits, batchUnit } from '../../support/recipe.js';
import { ALONE } from '../../support/engines.js';
import { loadOrt } from '../../support/ort.js';
import { assertNear } from '../../support/near.js';

const ort = loadOrt();
const golden = (name) => readFileSync(new URL(`../../golden/data/${name}`, import.meta.url));
const X = Float32Array.from({ length: 9 * 6 }, (_, i) => batchUnit(3, i) * 4 - 2);
const feeds = { x: new Tensor('float32', X, [9, 6]) };
const labels = {
  labels: new Tensor(
    'int64',
    BigInt64Array.from({ length: 9 }, (_, i) => BigInt(batchBits(4, i) % 5)),
    [9],
  ),
};

async function logitsOf(model, fed = feeds) {
  const session = await InferenceSession.create(model, ALONE);
  const { logits } = await session.run(fed);
  await session.release();
  return logits.data;
}

async function theirLogits(model, fed = { x: new ort.Tensor('float32', X, [9, 6]) }) {
  const session = await ort.InferenceSession.create(model);
  return (await session.run(fed)).logits.data;
}

const assertClose = (got, want) => assertNear(got, want, { absolute: 1e-5, relative: 1e-5 });

test('functions within functions compute what the same nodes do', async () => {
  // onnxruntime-web takes no body that leaves inputs of a call out
  const logits = await logitsOf(golden('functions/called.onnx'));
  assert.deepEqual(logits, await logitsOf(golden('functions/written_out.onnx')));
  assertClose(logits, await theirLogits(golden('functions/written_out.onnx')));
});

test('the functions that PyTorch exports of modules compute what they do in onnxruntime-web', async () => {
  const input = Float32Array.from({ length: 3 * 8 }, (_, i) => batchUnit(5, i) * 2 - 1),
    model = golden('functions.onnx');
  assertClose(
    await logitsOf(model, { input: new Tensor('float32', input, [3, 8]) }),
    await theirLogits(model, { input: new ort.Tensor('float32', input, [3, 8]) }),
  );
});

test('they train as the same nodes do, and the exported model is one that onnxruntime-web reads', async () => {
  const trained = [];
  for (const name of ['functions/called.onnx', 'functions/written_out.onnx']) {
    const session = await TrainingSession.create(
      await generateArtifacts(golden(name), {
        ...ALONE,
        loss: 'cross-entropy',
        optimizer: { type: 'sgd', lr: 0.1 },
      }),
      ALONE,
    );
    const losses = [];
    for (let i = 0; i < 6; i++) losses.push((await session.step({ ...feeds, ...labels })).loss);
    const model = await session.exportModel();
    trained.push({ losses, logits: await logitsOf(model) });
    assertClose(trained.at(-1).logits, await theirLogits(model));
    await session.release();
  }
  assert.deepEqual(trained[0], trained[1]);
  assert.ok(trained[0].losses[5] < trained[0].losses[0]);
});

// ── Models that are refused ──

const call = (op, inputs, outputs, domain = '', attributes = []) =>
  nodeProto({ input: inputs, output: outputs, opType: op, domain, attribute: attributes });
const define = (name, inputs, outputs, nodes, opset = 17) =>
  functionProto({
    name,
    input: inputs,
    output: outputs,
    node: nodes,
    opsetImport: [opsetId(opset), opsetId(1, 'local')],
    domain: 'local',
  });
const model = (nodes, functions) =>
  modelProto({
    graph: graphProto({ node: nodes, name: 'g', input: info('x', 1, [9, 6]), output: info('logits', 1, [9, 6]) }),
    opsetImport: [opsetId(17), opsetId(1, 'local')],
    functions,
  });
const f = (...args) => call('F', ['x'], ['logits'], 'local', args);

const refused = {
  'that calls itself by way of another': [
    /function 'F' calls itself/,
    model(
      [f()],
      [
        define('F', ['a'], ['b'], [call('G', ['a'], ['b'], 'local')]),
        define('G', ['a'], ['b'], [call('F', ['a'], ['b'], 'local')]),
      ],
    ),
  ],
  'that doubles at every level': [
    /written out, the model's functions are too large/,
    model(
      [f()],
      [
        define('F', ['a'], ['b'], [call('F0', ['a'], ['b'], 'local')]),
        ...Array.from({ length: 40 }, (_, i) =>
          define(
            `F${i}`,
            ['a'],
            ['c'],
            [call(`F${i + 1}`, ['a'], ['b'], 'local'), call(`F${i + 1}`, ['b'], ['c'], 'local')],
          ),
        ),
        define('F40', ['a'], ['b'], [call('Relu', ['a'], ['b'])]),
      ],
    ),
  ],
  'that doubles at every level and holds nothing': [
    /written out, the model's functions are too large/,
    model(
      [f()],
      [
        define('F', ['a'], ['b'], [call('F0', [], [], 'local')]),
        ...Array.from({ length: 40 }, (_, i) =>
          define(`F${i}`, [], [], [call(`F${i + 1}`, [], [], 'local'), call(`F${i + 1}`, [], [], 'local')]),
        ),
        define('F40', [], [], []),
      ],
    ),
  ],
  'as deep as nobody nests modules': [
    /is called deeper than we follow/,
    model(
      [f()],
      [
        define('F', ['a'], ['b'], [call('F0', ['a'], ['b'], 'local')]),
        ...Array.from({ length: 100 }, (_, i) =>
          define(`F${i}`, ['a'], ['b'], [call(`F${i + 1}`, ['a'], ['b'], 'local')]),
        ),
      ],
    ),
  ],
  'of an operator that we lack': [
    /we lack: local.H/,
    model([f()], [define('F', ['a'], ['b'], [call('H', ['a'], ['b'], 'local')])]),
  ],
  'that is called with too many inputs': [
    /'logits' calls function 'F' of 1 inputs and 1 outputs with 2 and 1/,
    model([call('F', ['x', 'x'], ['logits'], 'local')], [define('F', ['a'], ['b'], [call('Relu', ['a'], ['b'])])]),
  ],
  'that makes a value twice': [
    /'logits\/c'.* exists already/,
    model(
      [f()],
      [define('F', ['a'], ['b'], [call('Relu', ['a'], ['c']), call('Relu', ['a'], ['c']), call('Relu', ['c'], ['b'])])],
    ),
  ],
  'that reads what nobody makes': [
    /reads 'logits\/c', which nothing makes/,
    model([f()], [define('F', ['a'], ['b'], [call('Relu', ['c'], ['b'])])]),
  ],
  'that never makes its output': [/output 'logits' is made by no node/, model([f()], [define('F', ['a'], ['b'], [])])],
  'of another opset, in which an operator means something else': [
    /function 'F' has ReduceSum of opset 11, which is another than that of the model's opset 17/,
    model([f()], [define('F', ['a'], ['b'], [call('ReduceSum', ['a'], ['b'])], 11)]),
  ],
  'that is there twice': [
    /defines function 'F' twice/,
    model([f()], Array(2).fill(define('F', ['a'], ['b'], [call('Relu', ['a'], ['b'])]))),
  ],
  'that is given an attribute of another type': [
    /gives function 'F' an attribute 'slope' of another type/,
    model(
      [f(attribute('slope', 2))],
      [
        define(
          'F',
          ['a'],
          ['b'],
          [call('LeakyRelu', ['a'], ['b'], '', [attributeProto({ name: 'alpha', type: 1, refAttrName: 'slope' })])],
        ),
      ],
    ),
  ],
};
for (const [what, [sentence, bytes]] of Object.entries(refused)) {
  test(`a function ${what} is refused`, async () => {
    await assert.rejects(
      InferenceSession.create(bytes, ALONE),
      (error) => (error.name === 'TrainletError' && sentence.test(error.message)) || assert.fail(error.message),
    );
  });
}

test("an attribute that the caller leaves out has its default, and one nobody gives the operator's own", async () => {
  const body = (ref) => [
    call('LeakyRelu', ['a'], ['b'], '', [attributeProto({ name: 'alpha', type: 1, refAttrName: ref })]),
  ];
  const withDefault = (ref, value) =>
    model(
      [f(), call('Identity', ['logits'], ['copy'])],
      [
        Buffer.concat([
          define('F', ['a'], ['b'], body(ref)),
          graphProto({ input: attribute('slope', { float: value }) }),
        ]),
      ],
    );
  for (const [ref, slope] of [
    ['slope', 0.5],
    ['other', 0.01],
  ]) {
    const want = X.map((v) => (v < 0 ? v * Math.fround(slope) : v));
    assertClose(await logitsOf(withDefault(ref, 0.5)), want);
  }
});
