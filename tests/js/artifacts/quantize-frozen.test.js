// quantizeFrozen: frozen weights in fewer bits, by onnxruntime.quantization's rules; adapters train below them as in
// PyTorch over the numbers that they stand for.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import ort from 'onnxruntime-web-1.30';
import { compactArtifacts, generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import {
  attribute,
  graphProto,
  info,
  modelProto,
  node,
  opsetId,
  tensor,
  valueInfoProto,
  weight,
} from '../../support/onnx-file.js';
import { batchOf, configOf, folderOf, sessionOf } from '../../support/lora-runs.js';
import { HERE, root } from '../../support/engines.js';
import { assertNear } from '../../support/near.js';

const golden = JSON.parse(readFileSync(join(root, 'tests/golden/data/quantize_frozen.json'), 'utf8'));
const near = (got, want, absolute, what) => assertNear(got, want, { absolute }, what);
const types = ({ parameters }) => Object.fromEntries(parameters.map(({ name, type }) => [name, type]));
const hex = (data) => Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('hex');

/** y of ids (N): rows of `table` that are looked up times the weights in turn, the last of which trains. */
const modelOf = (nodes, weights, input = info('x', 1, ['N', 80]), output = 'y') =>
  modelProto({
    irVersion: 10,
    opsetImport: opsetId(17),
    graph: graphProto({
      node: nodes,
      name: 'model',
      initializer: weights,
      input,
      output: valueInfoProto({ name: output }),
    }),
  });

/** From make_quantize_frozen.py. */
const [DEPTH, COLUMNS] = [80, 6];
const known = Float32Array.from({ length: DEPTH * COLUMNS }, (_, i) => {
  const [k, n] = [Math.floor(i / COLUMNS), i % COLUMNS];
  const w = ((i * i * 7 + 3 * i) % 1013) / 500 - 1;
  return n === 1 && k >= 32 && k < 64 ? 0 : n === 2 ? Math.abs(w) : w;
});
const w = (name, type, dims, data) => tensor(name, { type, dims, data });
const last = weight('last', [COLUMNS, 3], COLUMNS, 5);
const perceptron = modelOf(
  [node('MatMul', ['x', 'w'], 'h'), node('MatMul', ['h', 'last'], 'y')],
  [w('w', 'float32', [DEPTH, COLUMNS], known), last],
);
const artifactsOf = (model, quantizeFrozen, more) =>
  generateArtifacts(model, { ...HERE, loss: 'mse', optimizer: 'sgd', requiresGrad: ['last'], quantizeFrozen, ...more });
const open = async (...args) => TrainingSession.create(await artifactsOf(...args), HERE);

test('the numbers are those of onnxruntime.quantization', async () => {
  const four = await open(perceptron, 'int4');
  assert.deepEqual(types(four), { last: 'float32', w_Q4: 'uint8', w_scales: 'float32', w_zero_points: 'uint8' });
  assert.equal(hex((await four.getParameter('w_Q4')).data), golden.int4.q);
  assert.deepEqual([...(await four.getParameter('w_scales')).data], golden.int4.scales);
  assert.equal(hex((await four.getParameter('w_zero_points')).data), golden.int4.points);
  const eight = await open(perceptron, 'int8');
  assert.deepEqual(types(eight), { last: 'float32', w_quantized: 'int8', w_scale: 'float32' });
  assert.equal(hex((await eight.getParameter('w_quantized')).data), golden.int8.q);
  assert.deepEqual([...(await eight.getParameter('w_scale')).data], golden.int8.scales);
  const turned = modelOf(
    [
      node('Transpose', ['w'], 't', attribute('perm', [1, 0])),
      node('MatMul', ['x', 't'], 'h'),
      node('MatMul', ['h', 'last'], 'y'),
    ],
    [w('w', 'float32', [DEPTH, COLUMNS], known), weight('last', [DEPTH, 3], DEPTH, 5)],
    info('x', 1, ['N', COLUMNS]),
  );
  const rows = await open(turned, 'int8');
  assert.equal(hex((await rows.getParameter('w_quantized')).data), golden.rows.q);
  assert.deepEqual([...(await rows.getParameter('w_scale')).data], golden.rows.scales);
});

for (const [name, kinds] of Object.entries(golden.losses))
  for (const [kind, losses] of Object.entries(kinds))
    test(`${name}, ${kind}: adapters train as PEFT's over the quantized base`, async () => {
      const first = folderOf(name, 'first');
      const session = await sessionOf(name, configOf(first), { quantizeFrozen: kind });
      await session.loadAdapter(first);
      const { inputs, labels } = batchOf(name);
      for (const [i, wanted] of losses.entries()) {
        const { loss } = await session.step({ ...inputs, labels });
        assert.ok(Math.abs(loss - wanted) < 1e-4, `loss ${i + 1}: ${loss}, PEFT has ${wanted}`);
      }
      const left = Object.entries(types(session)).filter(
        ([one, type]) => type === 'float32' && /(proj|wte|embed_tokens|lm_head|c_fc|c_attn)\.weight$/.test(one),
      );
      assert.deepEqual(left, [], 'no float copy is left of linear layers and embeddings');
      const { logits } = await session.predict(inputs, ['logits']);
      const theirs = await ort.InferenceSession.create(await session.exportModel());
      const feeds = Object.fromEntries(
        Object.entries(inputs).map(([key, { type, data, dims }]) => [key, new ort.Tensor(type, data, dims)]),
      );
      near((await theirs.run(feeds)).logits.data, logits.data, kind === 'int4' ? 2e-2 : 1e-4, 'exported');
      await assert.rejects(session.exportModel({ adapters: 'merged' }), /is no float32 constant/);
      await theirs.release();
      await session.release();
    });

const [VOCABULARY, WIDTH, HIDDEN] = [300, 64, 96];
/** A tied table, a Gemm with a bias and one that trains. */
const words = modelOf(
  [
    node('Gather', ['table', 'ids'], 'e'),
    node('Gemm', ['e', 'w', 'bias'], 'h', attribute('transB', 1)),
    node('Relu', ['h'], 'r'),
    node('MatMul', ['r', 'back'], 'b'),
    node('Transpose', ['table'], 't', attribute('perm', [1, 0])),
    node('MatMul', ['b', 't'], 'y'),
  ],
  [
    weight('table', [VOCABULARY, WIDTH], WIDTH, 1),
    weight('w', [HIDDEN, WIDTH], WIDTH, 2),
    weight('bias', [HIDDEN], WIDTH, 3),
    weight('back', [HIDDEN, WIDTH], HIDDEN, 4),
  ],
  info('ids', 7, ['N']),
);
const ids = (count) =>
  new Tensor(
    'int64',
    BigInt64Array.from({ length: count }, (_, i) => BigInt((i * 37) % VOCABULARY)),
    [count],
  );
const onWords = (quantizeFrozen, more) =>
  generateArtifacts(words, {
    ...HERE,
    loss: 'cross-entropy',
    optimizer: { type: 'sgd', lr: 0.5 },
    lora: { r: 4, targets: ['w', 'back'] },
    quantizeFrozen,
    ...more,
  });

async function lossesOf(artifacts, options = HERE) {
  const session = await TrainingSession.create(artifacts, options);
  const losses = [];
  for (const rows of [40, 40, 3, 40]) losses.push((await session.step({ ids: ids(rows), labels: ids(rows) })).loss);
  await session.release();
  return losses;
}

for (const kind of ['int8', 'int4', 'float16'])
  test(`${kind}: near the floats, the same on two threads, from a checkpoint and a compact file`, async () => {
    const [plain, made] = [await onWords(undefined), await onWords(kind)];
    const losses = await lossesOf(made);
    near(losses, await lossesOf(plain), kind === 'int4' ? 0.1 : 0.02, 'losses of the floats');
    near(await lossesOf(made, { ...HERE, passes: 'none' }), losses, 1e-5, 'losses without passes');
    assert.deepEqual(await lossesOf(made, { threads: 2 }), losses, 'two threads');
    const share = made.checkpointState.length / plain.checkpointState.length;
    assert.ok(share < { int8: 0.4, int4: 0.38, float16: 0.6 }[kind], `the checkpoint is ${share} of the floats'`);
    const session = await TrainingSession.create(made, HERE);
    const table = { int8: 'table_quantized', int4: 'table_quantized', float16: 'table_float16' }[kind];
    assert.ok(table in types(session) && !('table' in types(session)), 'the tied table is there once');
    await session.step({ ids: ids(40), labels: ids(40) });
    const checkpointState = await session.saveCheckpoint();
    const { loss } = await session.step({ ids: ids(40), labels: ids(40) });
    assert.equal(loss, losses[1]);
    const again = await TrainingSession.create({ ...made, checkpointState }, HERE);
    assert.equal((await again.step({ ids: ids(40), labels: ids(40) })).loss, loss);
    const compact = await compactArtifacts(made, HERE);
    assert.deepEqual(await lossesOf({ compact }), losses);
    await assert.rejects(session.setTrainable([table]), (error) => error.code === 'invalid-argument');
  });

test('what another operator reads, or trains, stays as it is; where nothing is left it is one sentence', async () => {
  const read = modelOf(
    [
      node('MatMul', ['x', 'w'], 'h'),
      node('MatMul', ['h', 'last'], 'p'),
      node('ReduceMax', ['w'], 'm', attribute('keepdims', 0)),
      node('Add', ['p', 'm'], 'y'),
    ],
    [w('w', 'float32', [DEPTH, COLUMNS], known), last],
  );
  const refused = async (model, more, sentence) =>
    await assert.rejects(
      artifactsOf(model, 'int8', more),
      (error) => error.code === 'invalid-argument' && sentence.test(error.message),
    );
  await refused(read, {}, /no frozen float32 weight is read by products/);
  await refused(perceptron, { requiresGrad: undefined }, /no frozen float32 weight/);
  await refused(perceptron, { nominal: true }, /leave nominal out/);
  await refused(perceptron, { quantizeFrozen: 'int2' }, /'int2' is not int8, int4 or float16/);
  const large = known.slice();
  large[3] = 1e5;
  const huge = modelOf(
    [node('MatMul', ['x', 'w'], 'h'), node('MatMul', ['h', 'last'], 'y')],
    [w('w', 'float32', [DEPTH, COLUMNS], large), last],
  );
  await assert.rejects(artifactsOf(huge, 'float16'), /no frozen float32 weight/);
});

test('without adapters: what is frozen by name, and no warning speaks of it', async () => {
  const made = await artifactsOf(perceptron, 'int8', { requiresGrad: undefined, frozen: ['w'] });
  assert.deepEqual(made.warnings, []);
  const session = await TrainingSession.create(made, HERE);
  assert.deepEqual(
    session.parameters.filter(({ trainable }) => trainable).map(({ name }) => name),
    ['last'],
  );
});
