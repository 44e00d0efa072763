// Messages about values and nodes whose names only an exporter chose ('sum_2', 'node_conv2d_3'): each says the operator
// too, and the module where the exporter's notes have it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession } from '../../../js/index.js';
import {
  attribute,
  attributeProto,
  graphProto,
  info,
  modelProto,
  nodeProto,
  opsetId,
  stringEntry,
  tensor,
  weight,
} from '../../support/onnx-file.js';
import { ALONE } from '../../support/engines.js';

const [FLOAT, INT64] = [1, 7];

/** A node as PyTorch's exporter writes it: in a module, its own name made of the value's. */
const noted = (op, inputs, output, module, ...attributes) =>
  nodeProto({
    input: inputs,
    output,
    name: `node_${output}`,
    opType: op,
    attribute: attributes,
    metadataProps: stringEntry('pkg.torch.onnx.name_scopes', `['', '${module}', '${output}']`),
  });

const model = (nodes, weights, inputs, output) =>
  modelProto({
    graph: graphProto({ node: nodes, name: 'g', initializer: weights, input: inputs, output }),
    opsetImport: opsetId(21),
  });
const x = info('x', FLOAT, ['batch', 4]);
const linear = noted('MatMul', ['x', 'fc.weight'], 'linear', 'fc');
const w = weight('fc.weight', [4, 3], 4, 1);
const axes = (...list) =>
  tensor('axes', { type: 'int64', dims: [list.length], data: BigInt64Array.from(list, BigInt) });

const sum = model(
  [linear, noted('ReduceSum', ['linear', 'axes'], 'sum_2', 'head', attribute('keepdims', 0))],
  [w, axes(1)],
  [x],
  info('sum_2', FLOAT, ['batch']),
);
const SUM = "'sum_2' (of ReduceSum 'node_sum_2' in 'head')";
const best = model(
  [linear, noted('ArgMax', ['linear'], 'argmax', 'head', attribute('axis', 1))],
  [w],
  [x],
  info('argmax', INT64, ['batch', 1]),
);

/** A model of `linear` and one more node, on two more weights. */
const after = (op, inputs, name, module, weights = [], ...attributes) =>
  model(
    [linear, noted(op, inputs, name, module, ...attributes)],
    [w, ...weights],
    [x],
    info(name, FLOAT, ['batch', 3]),
  );

/**
 * Requests, and the places in their messages.
 * @type {[string, Uint8Array, import('../../../js/types.js').ArtifactOptions, string][]}
 */
const REFUSED = [
  ['cross-entropy of a list', sum, { loss: 'cross-entropy' }, `of shape (N, C, …), ${SUM} is (`],
  ['no loss of a list', sum, { loss: 'none' }, `the loss ${SUM} must be one number`],
  ['a loss of integers', best, { loss: 'mse' }, "'argmax' (of ArgMax 'node_argmax' in 'head') is int64"],
  [
    'weights of other classes',
    model([linear], [w], [x], info('linear', FLOAT, ['batch', 3])),
    { loss: { type: 'cross-entropy', weights: [1, 2] } },
    "the scores 'linear' (of MatMul 'node_linear' in 'fc') have 3 classes",
  ],
  [
    'a head on integers',
    best,
    { loss: 'cross-entropy', head: { classes: ['a', 'b'], at: 'argmax' } },
    "'argmax' (of ArgMax 'node_argmax' in 'head') is int64",
  ],
  [
    'sizes that do not fit',
    after('Add', ['linear', 'fc.bias'], 'add_5', 'block.1', [weight('fc.bias', [2], 2, 3)]),
    { loss: 'mse' },
    "Add 'node_add_5' in 'block.1': shapes",
  ],
  [
    'a part of an operator that is made of others',
    after('MeanVarianceNormalization', ['linear'], 'norm', 'block.2', [], attribute('axes', [5])),
    { loss: 'mse' },
    "of MeanVarianceNormalization 'node_norm' in 'block.2': ",
  ],
  [
    'an attribute without a value',
    after('Add', ['linear', 'linear'], 'n19_2', 'block.1', [], attributeProto({ name: 'axis', type: 4 })),
    { loss: 'mse' },
    "Add 'node_n19_2': attribute 'axis'",
  ],
];
for (const [name, file, options, said] of REFUSED)
  test(`${name}: the refusal says operator and module`, async () => {
    await assert.rejects(generateArtifacts(file, { ...ALONE, ...options }), ({ message: text }) => {
      assert.ok(text.includes(said), text);
      return true;
    });
  });

test('a warning says operator and module', async () => {
  const fixed = model(
    [linear, noted('Softmax', ['linear'], 'softmax_3', 'gate', attribute('axis', 0))],
    [w],
    [info('x', FLOAT, [2, 4])],
    info('softmax_3', FLOAT, [2, 3]),
  );
  const { warnings } = await generateArtifacts(fixed, { ...ALONE, loss: 'mse' });
  assert.ok(warnings.join('\n').includes("and Softmax 'node_softmax_3' in 'gate' keeps that"), warnings.join('\n'));
});

test('so does what a run refuses', async () => {
  const shape = tensor('shape', { type: 'int64', dims: [2], data: BigInt64Array.of(4n, -1n) });
  const session = await InferenceSession.create(
    after('Reshape', ['linear', 'shape'], 'view_7', 'block.3', [shape]),
    ALONE,
  );
  const feeds = { x: { type: /** @type {const} */ ('float32'), data: new Float32Array(12), dims: [3, 4] } };
  await assert.rejects(session.run(feeds), ({ message: text }) => {
    assert.ok(text.startsWith("Reshape 'node_view_7' in 'block.3': "), text);
    return true;
  });
  await session.release();
});

test('a model that never had a Dropout is not told of one', async () => {
  const file = new Uint8Array(readFileSync(new URL('../../golden/data/conv_dynamo.onnx', import.meta.url)));
  const { warnings } = await generateArtifacts(file, { ...ALONE, batch: 'fixed', loss: 'cross-entropy' });
  assert.match(warnings.join('\n'), /folded BatchNormalization/);
  assert.doesNotMatch(warnings.join('\n'), /Dropout/);
});
