/**
 * fineTune on a model that keeps its outputs: no activation is applied twice, and what generateArtifacts warns of is
 * told.
 */

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { fineTune, generateArtifacts, Tensor } from '../../../js/index.js';
import { golden } from '../../support/clusters.js';
import { HERE } from '../../support/engines.js';
import { attribute, graphProto, info, modelProto, node, opsetId, tensor } from '../../support/onnx-file.js';

const [EXAMPLES, INPUTS, CLASSES] = [60, 4, 3];
const WEIGHT = Float32Array.from({ length: INPUTS * CLASSES }, (_, i) => Math.sin(i));
const labels = Array.from({ length: EXAMPLES }, (_, i) => i % CLASSES);
const X = Float32Array.from({ length: EXAMPLES * INPUTS }, (_, i) => {
  const own = i % INPUTS === labels[Math.floor(i / INPUTS)];
  return Number(own) + 0.8 * Math.sin(7.3 * i);
});
const data = { inputs: { x: new Tensor('float32', X, [EXAMPLES, INPUTS]) }, labels };

/** x (N, 4) ─ MatMul ─▶ z (N, 3) ─ nodes ─▶ y */
function modelOf(nodes, columns = CLASSES, opset = 17) {
  const graph = graphProto({
    node: [node('MatMul', ['x', 'w'], 'z'), ...nodes],
    name: 'g',
    initializer: [
      tensor('w', { type: 'float32', dims: [INPUTS, CLASSES], data: WEIGHT }),
      tensor('two', { type: 'int64', dims: [2], data: BigInt64Array.of(0n, 2n) }),
    ],
    input: info('x', 1, ['N', INPUTS]),
    output: info('y', 1, ['N', columns]),
  });
  return modelProto({ graph, opsetImport: opsetId(opset) });
}
const to = (/** @type {string} */ op, /** @type {string} */ from, ...more) => node(op, from, 'y', ...more);

/** @param {Uint8Array} model @param {any} [more] */
async function tuned(model, more) {
  const told = [];
  const options = { head: false, classes: ['a', 'b', 'c'], engine: HERE, epochs: 60, lr: 0.05, ...more };
  const onWarning = (/** @type {string} */ warning) => told.push(warning);
  const { session, report } = await fineTune(model, data, { ...options, onWarning });
  await session.release();
  assert.deepEqual(report.warnings, told);
  return report;
}

const TWICE = {
  Softmax: [to('Softmax', 'z')],
  'Softmax and Identity': [node('Softmax', ['z'], 'p'), to('Identity', 'p')],
  Sigmoid: [to('Sigmoid', 'z')],
  'Sigmoid and Identity': [node('Sigmoid', ['z'], 'p'), to('Identity', 'p')],
};

test('of a last Softmax or Sigmoid, what goes into it learns, as in a model without', async () => {
  const { before, after } = await tuned(modelOf([to('Identity', 'z')]));
  assert.equal(after.heldOut.accuracy, 1);
  for (const [ending, nodes] of Object.entries(TWICE)) {
    const report = await tuned(modelOf(nodes));
    assert.deepEqual([report.before, report.after, report.warnings], [before, after, []], ending);
  }
});

test('a Sigmoid is taken off beside other warnings, and a newer opset is told', async () => {
  const { after, warnings } = await tuned(modelOf([to('Sigmoid', 'z')], CLASSES, 99));
  assert.equal(after.heldOut.accuracy, 1);
  assert.match(warnings.join('\n'), /^[^\n]*opset[^\n]*$/);
});

test('scores of other classes than the output are warned of, once', async () => {
  const model = modelOf([node('Sigmoid', ['z'], 'p'), node('Gather', ['p', 'two'], 'y', attribute('axis', 1))], 2);
  const two = { inputs: data.inputs, labels: labels.map((label) => label % 2) };
  const warned = mock.method(console, 'warn', () => {});
  const { session, report } = await fineTune(model, two, { head: false, engine: HERE, epochs: 2 });
  warned.mock.restore();
  await session.release();
  assert.equal(report.warnings.length, 1);
  assert.match(report.warnings[0], /^Sigmoid 'Sigmoidp' makes probabilities, .* lossInputs: \['z'\]$/);
  assert.deepEqual(
    warned.mock.calls.flatMap((call) => call.arguments),
    report.warnings,
  );
});

test('what generateArtifacts warns of is told, of the model that trains', async () => {
  const model = golden('resnet_folded.onnx');
  const { warnings } = await generateArtifacts(model, { loss: 'cross-entropy', ...HERE });
  const pictures = new Tensor(
    'float32',
    new Float32Array(20 * 784).map((_, i) => Math.sin(i)),
    [20, 1, 28, 28],
  );
  const digits = { inputs: { input: pictures }, labels: Array.from({ length: 20 }, (_, i) => i % 2) };
  const told = [];
  const onWarning = (/** @type {string} */ warning) => told.push(warning);
  for (const head of /** @type {const} */ ([undefined, false])) {
    const options = { head, classes: head === false ? undefined : ['0', '1'], engine: HERE, epochs: 1, augment: false };
    const { session } = await fineTune(model, digits, { ...options, onWarning }).catch((error) => error);
    await session?.release();
    assert.deepEqual(told.splice(0), head === false ? [...warnings] : []);
  }
  assert.equal(warnings.length, 1);
});

test('lossInputs are for a model that keeps its outputs', async () => {
  const model = modelOf([to('Sigmoid', 'z')]);
  const refused = { code: 'invalid-argument', message: /^fineTune: lossInputs go with head: false/ };
  await assert.rejects(fineTune(model, data, { classes: ['a', 'b', 'c'], lossInputs: ['z'], engine: HERE }), refused);
  assert.deepEqual((await tuned(model, { lossInputs: ['y'] })).warnings.length, 1);
});
