/**
 * An index out of range is refused with the node, the value, its place and the range, in runs and in steps, which leave
 * the session as it was; what ONNX allows is not. The ranges are those that ONNX Runtime checks.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import {
  attribute,
  graphProto,
  info,
  message,
  node,
  nodeProto,
  tensor,
  tensorProto,
  TYPES,
  weight,
} from '../../support/onnx-file.js';
import { HERE } from '../../support/engines.js';

const ARRAYS = { float32: Float32Array, int64: BigInt64Array, int32: Int32Array };
const of = (type, dims, ...values) => {
  const count = dims.reduce((a, b) => a * b, 1);
  const data = values.length ? values : Array.from({ length: count }, (_, i) => i + 1);
  return { type, dims, data: ARRAYS[type].from(data, type === 'int64' ? BigInt : Number) };
};
const floats = (...dims) => of('float32', dims);
const at = (...values) => of('int64', [values.length], ...values);
const ends = (...values) => of('int64', [values.length, 1], ...values);
const lengths = (...values) => of('int32', [values.length], ...values);

const FED = undefined;

/** Operator, opset, what of its inputs and attributes stays; which input is put, once legal, then out of range. */
const CASES = [
  ['Gather', 18, [floats(3, 2)], {}, at(2, -3), [at(0, 3), at(0, -4)], [1, -3, 2]],
  ['Gather', 18, [floats(2, 3)], { axis: 1 }, at(2, -3), [at(0, 3)], [1, -3, 2]],
  ['Gather', 18, [at(5, 6, 7)], {}, at(2, -3), [at(0, 3)], [1, -3, 2]],
  ['GatherElements', 18, [floats(3)], {}, at(2, -3), [at(0, 3), at(0, -4)], [1, -3, 2]],
  ['GatherElements', 18, [at(5, 6, 7)], {}, at(2, -3), [at(0, 3)], [1, -3, 2]],
  ['GatherND', 18, [floats(3, 2)], {}, ends(2, -3), [ends(0, 3), ends(0, -4)], [1, -3, 2]],
  ['ScatterElements', 18, [floats(3), FED, floats(2)], {}, at(2, -3), [at(0, 3), at(0, -4)], [1, -3, 2]],
  ['ScatterElements', 18, [floats(3), FED, floats(2)], { reduction: 'add' }, at(2, -3), [at(0, 3)], [1, -3, 2]],
  ['ScatterElements', 18, [floats(3), FED, floats(2)], { reduction: 'max' }, at(2, -3), [at(0, 3)], [1, -3, 2]],
  ['ScatterElements', 18, [at(5, 6, 7), FED, at(8, 9)], {}, at(2, -3), [at(0, 3)], [1, -3, 2]],
  ['ScatterND', 18, [floats(3), FED, floats(2)], {}, ends(2, -3), [ends(0, 3), ends(0, -4)], [1, -3, 2]],
  ['ScatterND', 18, [floats(3), FED, floats(2)], { reduction: 'add' }, ends(2, -3), [ends(0, 3)], [1, -3, 2]],
  ['Scatter', 9, [floats(3), FED, floats(2)], {}, at(2, -3), [at(0, 3)], [1, -3, 2]],
  ['ArrayFeatureExtractor', 18, [floats(2, 3)], {}, at(2, 0), [at(0, 3)], [1, -3, 2]],
  ['OneHot', 18, [FED, at(3), of('float32', [2], 0, 1)], {}, at(2, -9), [], []],
  [
    'MaxUnpool',
    18,
    [floats(1, 1, 2)],
    { kernel_shape: [2], strides: [2] },
    of('int64', [1, 1, 2], 0, 3),
    [of('int64', [1, 1, 2], 0, 4)],
    [0, -4, 3],
  ],
  [
    'RoiAlign',
    18,
    [floats(2, 1, 4, 4), of('float32', [2, 4], 0, 0, 2, 2, 0, 0, 3, 3)],
    {},
    at(0, 1),
    [at(0, 2), at(0, -1)],
    [1, 0, 1],
  ],
  [
    'MaxRoiPool',
    18,
    [floats(2, 1, 4, 4)],
    { pooled_shape: [1, 1] },
    of('float32', [1, 5], 1, 0, 0, 2, 2),
    [of('float32', [1, 5], 2, 0, 0, 2, 2), of('float32', [1, 5], -1, 0, 0, 2, 2)],
    [0, 0, 1],
  ],
  ['ReverseSequence', 18, [floats(3, 2)], {}, at(3, 0), [at(1, 4), at(1, -1)], [1, 0, 3]],
  [
    'LSTM',
    18,
    [floats(3, 2, 1), floats(1, 4, 1), floats(1, 4, 1), null],
    { hidden_size: 1 },
    lengths(3, 0),
    [lengths(1, 4), lengths(1, -1)],
    [1, 0, 3],
  ],
  [
    'GRU',
    18,
    [floats(3, 2, 1), floats(1, 3, 1), floats(1, 3, 1), null],
    { hidden_size: 1 },
    lengths(3, 0),
    [lengths(1, 4)],
    [1, 0, 3],
  ],
  [
    'RNN',
    18,
    [floats(3, 2, 1), floats(1, 1, 1), floats(1, 1, 1), null],
    { hidden_size: 1 },
    lengths(3, 0),
    [lengths(1, 4)],
    [1, 0, 3],
  ],
  [
    'RotaryEmbedding',
    23,
    [floats(1, 1, 2, 4), floats(4, 2), floats(4, 2)],
    {},
    of('int64', [1, 2], 0, 3),
    [of('int64', [1, 2], 0, 4)],
    [0, -4, 3],
  ],
  ['TensorScatter', 24, [floats(1, 4, 2), floats(1, 2, 2)], {}, at(2), [at(3)], null],
  [
    'EmbedLayerNormalization',
    18,
    [FED, null, floats(3, 4), floats(3, 4), null, floats(4), floats(4)],
    {},
    of('int32', [1, 2], 2, 0),
    [of('int32', [1, 2], 0, 3)],
    [0, -3, 2],
  ],
];
const DOMAINS = { ArrayFeatureExtractor: 'ai.onnx.ml', EmbedLayerNormalization: 'com.microsoft' };
const imports = (opset) =>
  [
    ['', opset],
    ['ai.onnx.ml', 3],
    ['com.microsoft', 1],
  ].map(([d, v]) => [8, message([1, d], [2, v])]);

/** A model of one node whose input without a tensor is fed as 'where'; null: an absent one. */
function modelOf(op, opset, inputs, attributes, fed) {
  const place = Array.from(inputs, (one) => one === undefined).indexOf(true);
  const all = Array.from({ length: Math.max(inputs.length, place < 0 ? inputs.length + 1 : 0) }, (_, i) => inputs[i]);
  const names = all.map((one, i) => (one === undefined ? 'where' : one ? `in${i}` : ''));
  const single = nodeProto({
    input: names,
    output: op === 'EmbedLayerNormalization' ? ['out', 'mask'] : ['out'],
    name: 'the node',
    opType: op,
    attribute: Object.entries(attributes).map(([name, value]) => attribute(name, value)),
    domain: DOMAINS[op] ?? '',
  });
  const graph = message(
    [1, single],
    [2, 'one'],
    ...all.flatMap((one, i) => (one ? [[5, tensor(names[i], one)]] : [])),
    [11, info('where', TYPES[fed.type], fed.dims)],
    [12, message([1, 'out'])],
  );
  return message([1, 9], [7, graph], ...imports(opset));
}

for (const [op, opset, inputs, attributes, legal, bad, said] of CASES)
  test(`${op} ${JSON.stringify(attributes)} ${inputs[0]?.type ?? ''}: legal indices run, others named`, async () => {
    const session = await InferenceSession.create(modelOf(op, opset, inputs, attributes, legal), HERE);
    const feed = ({ type, data, dims }) => session.run({ where: new Tensor(type, data, dims) });
    await feed(legal);
    for (const wrong of bad)
      await assert.rejects(feed(wrong), ({ code, message: text }) => {
        assert.equal(code, 'invalid-feed');
        assert.match(
          text,
          /^\w+ '.+': '.+' has -?\d+ in row \d+(, element \d+)?, but '.*' \(.+\) allows -?\d+ to -?\d+$/,
        );
        if (!said) return true;
        const [row, least, most] = said;
        const value = Number(wrong.data.find((x) => Number(x) < least || Number(x) > most));
        assert.ok(text.includes(`'where' has ${value} in row ${row}`), text);
        assert.ok(text.endsWith(`allows ${least} to ${most}`), text);
        return true;
      });
    await feed(legal);
    await session.release();
  });

test('a constant index out of range is the model’s fault', async () => {
  const graph = graphProto({
    node: [node('Gather', ['table', 'rows'], 'picked'), node('Add', ['picked', 'x'], 'y')],
    name: 'one',
    initializer: [tensor('table', floats(3, 2)), tensor('rows', at(0, 3))],
    input: info('x', 1, [2, 2]),
    output: info('y', 1, [2, 2]),
  });
  const session = await InferenceSession.create(message([1, 9], [7, graph], ...imports(18)), HERE);
  await assert.rejects(session.run({ x: new Tensor('float32', new Float32Array(4), [2, 2]) }), {
    code: 'invalid-model',
    message: "Gather 'Gatherpicked': 'rows' has 3 in row 1, but 'table' (3, 2) allows -3 to 2",
  });
  await session.release();
});

/** Embedding, batch norm, dropout, a layer; ids come as int32. */
function embedder() {
  const graph = graphProto({
    node: [
      node('Cast', ['ids'], 'wide', attribute('to', 7)),
      node('Gather', ['emb.weight', 'wide'], 'rows'),
      node('ReduceMean', ['rows'], 'mean', attribute('axes', [1]), attribute('keepdims', 0)),
      node(
        'BatchNormalization',
        ['mean', 'scale', 'shift', 'running_mean', 'running_var'],
        ['normed', 'm', 'v'],
        attribute('training_mode', 1),
      ),
      node('Dropout', ['normed', 'ratio', 'train'], 'dropped'),
      node('Gemm', ['dropped', 'w', 'b'], 'output'),
    ],
    name: 'embedder',
    initializer: [
      weight('emb.weight', [6, 4], 4, 1),
      ...[
        ['scale', 1],
        ['shift', 0],
        ['running_mean', 0],
        ['running_var', 1],
      ].map(([name, x]) => tensor(name, of('float32', [4], x, x, x, x))),
      tensor('ratio', of('float32', [], 0.5)),
      tensorProto({ dataType: 9, name: 'train', rawData: Uint8Array.of(1) }),
      weight('w', [4, 2], 4, 2),
      weight('b', [2], 4, 3),
    ],
    input: info('ids', TYPES.int32, ['batch', 3]),
    output: info('output', 1, ['batch', 2]),
  });
  return message([1, 8], [7, graph], ...imports(17));
}

test('a step or an evaluation with a bad token id is refused and leaves the session as it was', async () => {
  const artifacts = await generateArtifacts(embedder(), { loss: 'mse', optimizer: 'adamw' });
  const sessions = [await TrainingSession.create(artifacts, HERE), await TrainingSession.create(artifacts, HERE)];
  const batch = (...ids) => ({
    ids: new Tensor('int32', ids, [2, 3]),
    target: new Tensor('float32', [1, 2, 3, 4], [2, 2]),
  });
  const good = [batch(0, 1, 2, 3, 4, 5), batch(5, 5, 1, 0, 2, -6)];
  const refused = {
    code: 'invalid-feed',
    message: /^Gather '.*': 'ids' has 6 in row 1, element 2, but 'emb.weight' \(6, 4\) allows -6 to 5/,
  };
  const losses = [[], []];
  for (const feeds of [...good, ...good])
    for (const [i, session] of sessions.entries()) {
      if (i) await assert.rejects(session.step(batch(0, 1, 2, 3, 4, 6)), refused);
      if (i) await assert.rejects(session.evaluate([batch(0, 1, 2, 3, 4, 6)]), refused);
      losses[i].push((await session.step(feeds)).loss);
    }
  assert.deepEqual(losses[1], losses[0]);
  const [one, other] = await Promise.all(sessions.map((session) => session.saveCheckpoint()));
  assert.deepEqual(other, one);
  for (const session of sessions) await session.release();
});
