/**
 * predict({ probabilities }): an output that ends in Softmax or Sigmoid is probabilities already, whatever stands
 * behind that and whichever loss trains it; scores get their softmax, one score alone its sigmoid, and so do all where
 * the loss is bce-with-logits. Numbers that mse, l1 and huber compare are refused. Outputs of float16 are numbers, not
 * their bits.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { numbersOf } from '../../../js/base/half-floats.js';
import { activationIn } from '../../../js/data/last-activation.js';
import { generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { HERE } from '../../support/engines.js';
import { attribute, graphProto, info, modelProto, node, opsetId, TYPES, tensor } from '../../support/onnx-file.js';

const [ROWS, INPUTS, CLASSES] = [4, 4, 3];
const WEIGHT = Float32Array.from({ length: INPUTS * CLASSES }, (_, i) => 3 * Math.sin(i));
const X = Float32Array.from({ length: ROWS * INPUTS }, (_, i) => Math.sin(7.3 * i));

/** z = x · w */
const SCORES = Array.from({ length: ROWS }, (_, n) =>
  Array.from({ length: CLASSES }, (_, c) => {
    const terms = Array.from({ length: INPUTS }, (_, i) => X[n * INPUTS + i] * WEIGHT[i * CLASSES + c]);
    return terms.reduce((sum, term) => sum + term, 0);
  }),
);
const softmax = (/** @type {number[]} */ row) => {
  const parts = row.map(Math.exp);
  const sum = parts.reduce((a, b) => a + b, 0);
  return parts.map((part) => part / sum);
};
const sigmoid = (/** @type {number[]} */ row) => row.map((z) => 1 / (1 + Math.exp(-z)));

const last = attribute('axis', 1);
const to = (/** @type {string} */ op, /** @type {string[]} */ inputs, ...more) => node(op, inputs, 'y', ...more);
const cast = (/** @type {string} */ from, /** @type {string} */ type) =>
  to('Cast', [from], attribute('to', TYPES[type]));
const [softmaxed, sigmoided] = ['Softmax', 'Sigmoid'].map((op) => node(op, ['z'], 'p'));
const middle = node('Gather', ['z', 'one'], 'q', last);

/** Nodes behind z, the output's type and its columns, the probabilities of a row. */
const ENDINGS = /** @type {Record<string, [any[], (row: number[]) => number[], string?, number?]>} */ ({
  'scores, as they are': [[to('Identity', ['z'])], softmax],
  'scores, cast to float16': [[cast('z', 'float16')], softmax, 'float16'],
  LogSoftmax: [[to('LogSoftmax', ['z'])], softmax],
  'one score': [[to('Gather', ['z', 'one'], last)], (row) => sigmoid([row[1]]), 'float32', 1],
  Softmax: [[to('Softmax', ['z'])], softmax],
  'Softmax, Identity': [[softmaxed, to('Identity', ['p'])], softmax],
  'Softmax, Reshape': [[softmaxed, to('Reshape', ['p', 'shape'])], softmax],
  'Softmax, Clip that cuts': [
    [softmaxed, to('Clip', ['p', 'low', 'high'])],
    (row) => softmax(row).map((p) => Math.min(0.5, Math.max(0.25, p))),
  ],
  'Softmax, Gather of two classes': [
    [softmaxed, to('Gather', ['p', 'two'], last)],
    (row) => [0, 2].map((c) => softmax(row)[c]),
    'float32',
    2,
  ],
  'Softmax, Cast to float16': [[softmaxed, cast('p', 'float16')], softmax, 'float16'],
  'Softmax, Cast to float64': [[softmaxed, cast('p', 'float64')], softmax, 'float64'],
  Sigmoid: [[to('Sigmoid', ['z'])], sigmoid],
  'Sigmoid, Identity': [[sigmoided, to('Identity', ['p'])], sigmoid],
  'Sigmoid, Clip': [
    [sigmoided, to('Clip', ['p', 'low', 'high'])],
    (row) => sigmoid(row).map((p) => Math.min(0.5, Math.max(0.25, p))),
  ],
  'Sigmoid, Cast to float16': [[sigmoided, cast('p', 'float16')], sigmoid, 'float16'],
  'Sigmoid of one score': [[middle, to('Sigmoid', ['q'])], (row) => sigmoid([row[1]]), 'float32', 1],
});

/** Probabilities of scores that a loss of numbers compares. @type {Record<string, (row: number[]) => number[]>} */
const APART = {
  'scores, as they are': sigmoid,
  'scores, cast to float16': sigmoid,
  LogSoftmax: (row) => sigmoid(softmax(row).map(Math.log)),
};

const NO_SHARES = {
  code: 'invalid-argument',
  message:
    "predict: 'y' has no probabilities: its loss compares numbers, as mse does. Read the output, or train with " +
    'cross-entropy or bce-with-logits',
};

/** @param {any[]} nodes @param {string} [type] @param {number} [columns] @param {any[]} [more] inputs beside x */
function modelOf(nodes, type = 'float32', columns = CLASSES, more = []) {
  const numbers = (/** @type {string} */ name, /** @type {number[]} */ ...list) =>
    tensor(name, { type: 'int64', dims: [list.length], data: BigInt64Array.from(list, BigInt) });
  const number = (/** @type {string} */ name, /** @type {number} */ value) =>
    tensor(name, { type: 'float32', dims: [], data: Float32Array.of(value) });
  const graph = graphProto({
    node: [node('MatMul', ['x', 'w'], 'z'), ...nodes],
    name: 'g',
    initializer: [
      tensor('w', { type: 'float32', dims: [INPUTS, CLASSES], data: WEIGHT }),
      numbers('two', 0, 2),
      numbers('one', 1),
      numbers('shape', -1, CLASSES),
      number('low', 0.25),
      number('high', 0.5),
    ],
    input: [info('x', 1, ['N', INPUTS]), ...more],
    output: info('y', TYPES[type], ['N', columns]),
  });
  return modelProto({ graph, opsetImport: opsetId(17) });
}

for (const [ending, [nodes, wanted, type, columns]] of Object.entries(ENDINGS))
  test(`probabilities of ${ending}`, async () => {
    for (const loss of ['cross-entropy', 'bce-with-logits', 'mse']) {
      const artifacts = await generateArtifacts(modelOf(nodes, type, columns), { loss, ...HERE });
      const session = await TrainingSession.create(artifacts, HERE);
      const inputs = { x: new Tensor('float32', X, [ROWS, INPUTS]) };
      const areNumbers = loss === 'mse' && (ending === 'one score' || APART[ending]);
      if (areNumbers) await assert.rejects(session.predict(inputs, { probabilities: true }), NO_SHARES);
      for (const _ of areNumbers ? [] : ['first', 'again']) {
        const { probabilities } = await session.predict(inputs, { probabilities: true });
        assert.deepEqual([...probabilities.dims], [ROWS, columns ?? CLASSES]);
        const rows = SCORES.flatMap(loss === 'cross-entropy' ? wanted : (APART[ending] ?? wanted));
        const off = rows.map((p, i) => Math.abs(p - probabilities.data[i]));
        assert.ok(Math.max(...off) < (type === 'float16' ? 1e-3 : 1e-6), `${loss}: ${probabilities.data}, not ${rows}`);
      }
      await session.release();
    }
  });

test('the outputs of l1, huber and weighted mse have no probabilities', async () => {
  const inputs = { x: new Tensor('float32', X, [ROWS, INPUTS]) };
  const model = modelOf([to('Identity', ['z'])]);
  for (const loss of ['l1', { type: 'huber', reduction: 'sum' }, { type: 'mse', sampleWeights: true }]) {
    const artifacts = await generateArtifacts(model, { loss, ...HERE });
    const session = await TrainingSession.create(artifacts, HERE);
    await assert.rejects(session.predict(inputs, { probabilities: true }), NO_SHARES);
    assert.deepEqual([...(await session.predict(inputs)).y.dims], [ROWS, CLASSES]);
    await session.release();
  }
});

test('an input of the model that is called target makes no sigmoids of scores of classes', async () => {
  for (const name of ['target', 'target_mask']) {
    const model = modelOf([node('Mul', ['z', name], ['y'])], 'float32', CLASSES, [info(name, 1, ['N', 1])]);
    const session = await TrainingSession.create(
      await generateArtifacts(model, { loss: 'cross-entropy', ...HERE }),
      HERE,
    );
    const inputs = {
      x: new Tensor('float32', X, [ROWS, INPUTS]),
      [name]: new Tensor('float32', new Float32Array(ROWS).fill(1), [ROWS, 1]),
    };
    const { probabilities } = await session.predict(inputs, { probabilities: true });
    const off = SCORES.flatMap(softmax).map((p, i) => Math.abs(p - probabilities.data[i]));
    assert.ok(Math.max(...off) < 1e-6, `${name}: ${probabilities.data}`);
    await session.release();
  }
});

test('metrics read outputs of float16 as numbers', async () => {
  const labels = {
    labels: new Tensor(
      'int64',
      SCORES.map((row) => row.indexOf(Math.max(...row))),
    ),
  };
  const inputs = { x: new Tensor('float32', X, [ROWS, INPUTS]) };
  const artifacts = await generateArtifacts(modelOf(...MODEL_16), { loss: 'cross-entropy', ...HERE });
  const session = await TrainingSession.create(artifacts, HERE);
  const { accuracy, auc } = await session.evaluate({ inputs, labels }, { metrics: ['accuracy', 'auc'] });
  assert.equal(accuracy, 1);
  assert.ok(auc > 0.9, `${auc}`);
  await session.release();
});
const MODEL_16 = /** @type {[any[], string]} */ ([[cast('z', 'float16')], 'float16']);

test('bits of float16 and bfloat16 are numbers', () => {
  const half = Uint16Array.of(0x3c00, 0xc000, 0x7bff, 1, 0x8000, 0x7c00, 0xfc00, 0x7e00);
  const values = [1, -2, 65504, 2 ** -24, -0, Infinity, -Infinity, NaN];
  assert.deepEqual([...numbersOf({ type: 'float16', data: half })], values);
  const brain = Uint16Array.of(0x3f80, 0xc000, 0x7f80, 0xff80, 0x4049);
  assert.deepEqual([...numbersOf({ type: 'bfloat16', data: brain })], [1, -2, Infinity, -Infinity, 3.140625]);
});

test('a text in which no node makes the output says nothing', () => {
  const text = `2 nodes, 2 of them run
   0  z (4, 3) @0+48 [0, end] = MatMul 'a = b (c)'(x, w)
   1  y (4, 3) @0+48 [0, end] in z = Sigmoid 'last'(z)`;
  assert.deepEqual(
    [activationIn(text, 'y'), activationIn(text, 'z'), activationIn(text, 'loss')],
    ['Sigmoid', '', undefined],
  );
});
