/** Networks: names, shapes, branches, shared layers, what is refused; each kind trains. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Message } from '../../../js/formats/protobuf.js';
import { generateArtifacts, InferenceSession, parametersOf, Tensor, TrainingSession } from '../../../js/index.js';
import * as layers from '../../../js/layers/index.js';
import { ALONE } from '../../support/engines.js';
import { batchUnit } from '../../support/recipe.js';

const { add, concatenate, conv1d, conv2d, dense, dropout, flatten, input, lstm, model, sequential } = layers;

/** @param {number[]} dims */
const tensor = (dims, seed = 1) =>
  new Tensor(
    'float32',
    Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, i) => 2 * batchUnit(seed, i) - 1),
    dims,
  );

/** @param {Uint8Array} network @param {Record<string, Tensor>} feeds */
async function run(network, feeds) {
  const session = await InferenceSession.create(network, ALONE);
  const outputs = await session.run(feeds);
  await session.release();
  return outputs;
}

/** @param {Uint8Array} network */
function graphOf(network) {
  const graph = /** @type {Message} */ (new Message(network).message(7));
  const names = (/** @type {number} */ field, /** @type {number} */ name) =>
    graph.messages(field).map((one) => one.text(name));
  return {
    nodes: names(1, 3),
    operators: names(1, 4),
    weights: names(5, 8),
    inputs: names(11, 1),
    outputs: names(12, 1),
  };
}

test('the example of the issue runs as written, and learns', async () => {
  const network = await sequential([input([13]), dense(64, { activation: 'relu' }), dense(1)], { seed: 7 });
  const artifacts = await generateArtifacts(network, { loss: 'mse' });
  assert.deepEqual(artifacts.warnings, []);
  const session = await TrainingSession.create(artifacts, ALONE);
  const x = tensor([64, 13]);
  const y = new Tensor(
    'float32',
    Float32Array.from({ length: 64 }, (_, i) => x.data[13 * i]),
    [64, 1],
  );
  const data = { inputs: { input_layer: x }, labels: { target: y } };
  const before = await session.evaluate(data);
  await session.fit(data, { epochs: 30, batchSize: 16 });
  const after = await session.evaluate(data);
  assert.ok(after.loss < before.loss / 4, `${before.loss} → ${after.loss}`);
  await session.release();
});

test('names are those of layers: given, or Keras’ automatic ones', async () => {
  const network = await sequential([
    input([4]),
    dense(3, { activation: 'relu' }),
    dense(3, { name: 'middle' }),
    dense(2),
  ]);
  assert.deepEqual(graphOf(network), {
    nodes: ['dense/Gemm', 'dense/Relu', 'middle/Gemm', 'dense_1/Gemm'],
    operators: ['Gemm', 'Relu', 'Gemm', 'Gemm'],
    weights: ['dense/kernel', 'dense/bias', 'middle/kernel', 'middle/bias', 'dense_1/kernel', 'dense_1/bias'],
    inputs: ['input_layer'],
    outputs: ['dense_1'],
  });
  const taken = await sequential([input([4]), dense(3), dense(3, { name: 'dense_1' }), dense(2)]);
  assert.deepEqual(graphOf(taken).outputs, ['dense_2']);
});

test('several inputs and outputs, a layer that is called twice has its weights once', async () => {
  const [a, b] = [input([4], { name: 'a' }), input([4], { name: 'b' })];
  const shared = dense(3, { name: 'shared' });
  const sum = add({ name: 'sum' })([shared(a), shared(b)]);
  const joined = concatenate()([sum, a]);
  assert.deepEqual(joined.shape, [null, 7]);
  const network = await model({ inputs: [a, b], outputs: [dense(1, { name: 'price' })(joined), sum], seed: 3 });
  const { nodes, weights, inputs, outputs } = graphOf(network);
  assert.deepEqual(weights, ['shared/kernel', 'shared/bias', 'price/kernel', 'price/bias']);
  assert.deepEqual(
    [inputs, outputs],
    [
      ['a', 'b'],
      ['price', 'sum'],
    ],
  );
  assert.deepEqual(nodes, ['shared/Gemm', 'shared_1/Gemm', 'sum/Add', 'concatenate/Concat', 'price/Gemm']);
  const [x, y] = [tensor([2, 4]), tensor([2, 4], 2)];
  const [one, other] = [await run(network, { a: x, b: y }), await run(network, { a: y, b: x })];
  assert.deepEqual(one.price.dims, [2, 1]);
  one.sum.data.forEach((value, i) => assert.ok(Math.abs(value - other.sum.data[i]) < 1e-6));
  const artifacts = await generateArtifacts(network, { loss: 'mse', ...ALONE });
  assert.deepEqual(artifacts.warnings, []);
});

test('batch and lengths are free', async () => {
  const network = await sequential([input([null, 3]), lstm(4, { returnSequences: true }), dense(2)]);
  for (const dims of [
    [1, 5, 3],
    [4, 2, 3],
  ])
    assert.deepEqual(Object.values(await run(network, { input_layer: tensor(dims) }))[0].dims, [dims[0], dims[1], 2]);
  const picture = await sequential([
    input([1, null, null]),
    conv2d(2, 3, { padding: 'same', strides: 2 }),
    layers.globalMaxPooling2d(),
  ]);
  assert.deepEqual(Object.values(await run(picture, { input_layer: tensor([1, 1, 9, 6]) }))[0].dims, [1, 2]);
});

test('training drops what dropout says, inference does not', async () => {
  const network = await sequential([input([50]), dropout(0.5), dense(1, { kernelInitializer: 'ones' })]);
  const session = await TrainingSession.create(await generateArtifacts(network, { loss: 'mse', ...ALONE }), ALONE);
  const feeds = { input_layer: new Tensor('float32', new Float32Array(50).fill(1), [1, 50]) };
  assert.equal((await session.predict(feeds)).dense.data[0], 50);
  const target = new Tensor('float32', [50], [1, 1]);
  const { loss } = await session.step({ ...feeds, target });
  assert.ok(loss > 0, 'half of the inputs are gone, the others twice as large');
  await session.release();
});

test('layerNormalization along another axis than the last is that of permuted input', async () => {
  const [x, weights] = [tensor([2, 4, 3]), { gammaInitializer: [1, 2, 3, 4], betaInitializer: [4, 3, 2, 1] }];
  const { permute, layerNormalization } = layers;
  const across = await sequential([input([4, 3]), layerNormalization({ axis: 1, ...weights, name: 'y' })]);
  const turned = await sequential([
    input([4, 3]),
    permute([2, 1]),
    layerNormalization(weights),
    permute([2, 1], { name: 'y' }),
  ]);
  const [came, wanted] = [await run(across, { input_layer: x }), await run(turned, { input_layer: x })];
  assert.deepEqual(came.y, wanted.y);
});

test('normalization is adapted to data, and travels in the model as constants', async () => {
  const data = tensor([100, 3, 5]);
  const mean = (/** @type {Float32Array} */ values) => values.reduce((a, b) => a + b, 0) / values.length;
  for (const axis of [1, -1, null]) {
    const network = await sequential([input([3, 5]), layers.normalization({ axis }).adapt(data)]);
    const { normalization } = await run(network, { input_layer: data });
    const values = /** @type {Float32Array} */ (normalization.data);
    const of = (/** @type {number} */ k) =>
      values.filter((_, i) => axis === null || (axis === 1 ? Math.floor(i / 5) % 3 : i % 5) === k);
    for (const k of axis === null ? [0] : [0, 1, 2]) {
      assert.ok(Math.abs(mean(of(k))) < 1e-5);
      assert.ok(Math.abs(mean(of(k).map((one) => one ** 2)) - 1) < 1e-4);
    }
    assert.ok((await parametersOf(network)).every(({ trainable }) => !trainable));
  }
  const ints = { dims: [3, 1], data: [1n, 2n, 3n] };
  const network = await sequential([input([1], { dtype: 'int64' }), layers.normalization().adapt(ints)]);
  const fed = { input_layer: new Tensor('int64', [2], [1, 1]) };
  assert.equal((await run(network, fed)).normalization.data[0], 0);
});

test('bytes of a picture are rescaled', async () => {
  const rescaled = await sequential([
    input([2, 1], { dtype: 'uint8' }),
    layers.rescaling([1, 1 / 255], { offset: [0, -1] }),
  ]);
  const fed = { input_layer: new Tensor('uint8', [3, 255], [1, 2, 1]) };
  assert.deepEqual([...(await run(rescaled, fed)).rescaling.data], [3, 0]);
});

/** @type {Record<string, [() => unknown, RegExp]>} */
const REFUSED = {
  'a shape that does not fit': [
    () => sequential([input([13]), dense(4), conv2d(8, 3)]),
    /^conv2d wants an input of \(channels, height, width\), \(4\) came$/,
  ],
  'the second of its kind': [
    () => sequential([input([3, 9]), conv1d(4, 3), conv1d(4, 8)]),
    /^conv1d_1 wants a length of at least 8, that of its window, \(4, 7\) came$/,
  ],
  'a layer that is named': [
    () => sequential([input([13]), lstm(4, { name: 'memory' })]),
    /^memory wants an input of \(time, features\), \(13\) came$/,
  ],
  'shapes of several': [
    () => add()([input([3]), input([4])]),
    /^add wants inputs of one shape, and after \(3\), \(4\) came$/,
  ],
  'too few of several': [() => add()([input([3])]), /^add wants 2 or more inputs, 1 came$/],
  concatenation: [
    () => concatenate()([input([3, 2]), input([4, 2])]),
    /^concatenate wants inputs that differ along axis 2 alone, and after \(3, 2\), \(4, 2\) came$/,
  ],
  'a shared layer': [
    () => {
      const shared = dense(2);
      return [shared(input([3])), shared(input([4]))];
    },
    /^dense has a kernel of \(3, 2\), this call wants \(4, 2\)$/,
  ],
  groups: [
    () => conv2d(4, 3, { groups: 2 })(input([3, 8, 8])),
    /^conv2d wants channels and filters \(4\) that its 2 groups divide, \(3, 8, 8\) came$/,
  ],
  'groups of a normalization': [
    () => layers.groupNormalization()(input([6, 4])),
    /^group_normalization wants a number of channels that its 32 groups divide, \(6, 4\) came$/,
  ],
  'an unknown size': [
    () => sequential([input([null, 4]), flatten(), dense(1)]),
    /^dense wants an input whose number of features is known, \(free\) came$/,
  ],
  reshape: [() => layers.reshape([4, -1])(input([6])), /^reshape wants as many elements as \(4, -1\) has, \(6\) came$/],
  'an axis': [() => layers.softmax({ axis: 3 })(input([6])), /^softmax wants an input that has an axis 3, \(6\) came$/],
  'an option': [
    () => dense(3, /** @type {any} */ ({ activaton: 'relu' })),
    /^dense: there is no option 'activaton'; it knows name, activation, useBias, /,
  ],
  'an activation': [
    () => dense(3, { activation: /** @type {any} */ ('relo') }),
    /^dense: activation: there is no 'relo'; there are linear, celu, /,
  ],
  units: [() => dense(0), /^dense: units must be a whole number of at least 1, not 0$/],
  'a kernel': [
    () => conv2d(4, /** @type {any} */ ([3])),
    /^conv2d: the size of the window must be a number or a list of 2, not of 1$/,
  ],
  padding: [
    () => conv2d(4, 3, { padding: /** @type {any} */ ('causal') }),
    /^conv2d: padding: there is no 'causal'; there are valid, same$/,
  ],
  'strides and dilation': [
    () => conv2d(4, 3, { strides: 2, dilationRate: 2 }),
    /^conv2d: strides and a dilationRate do not go together, as in Keras$/,
  ],
  rate: [() => dropout(1), /^dropout: rate must be from 0 up to 1, not 1$/],
  'no input': [
    () => sequential([dense(3)]),
    /^sequential: the first of its layers must be an input, as input\(\[13\]\)$/,
  ],
  'no layer': [
    () => sequential([input([3]), /** @type {any} */ (dense)]),
    /^dense: units must be a whole number of at least 1, not a SymbolicTensor$/,
  ],
  'a layer that is not made': [
    () => sequential([input([3]), /** @type {any} */ (flatten)]),
    /^flatten wants options, a tensor came: call the layer, as flatten\(\)\(x\)$/,
  ],
  'a number for a layer': [
    () => sequential([input([3]), /** @type {any} */ (5)]),
    /^sequential: item 1 must be a layer as dense\(1\), or give a tensor, not 5$/,
  ],
  'two inputs in a row': [
    () => sequential([input([3]), input([3])]),
    /^sequential: item 1 must be a layer as dense\(1\), or give a tensor, not a SymbolicTensor$/,
  ],
  'a block that gives no tensor': [
    () => sequential([input([3]), dense(2), /** @type {any} */ (() => undefined)]),
    /^sequential: item 2 must be a layer as dense\(1\), or give a tensor, not undefined$/,
  ],
  'a layer where a tensor belongs': [
    () => dense(1)(/** @type {any} */ (dense(3))),
    /^dense wants tensors as input\(…\) and other layers give them, /,
  ],
  'a layer of both ways that goes backwards': [
    () => layers.bidirectional(lstm(3, { goBackwards: true })),
    /^bidirectional: its layer runs forwards, without goBackwards$/,
  ],
  'a name twice': [
    () => sequential([input([3]), dense(3, { name: 'a' }), dense(3, { name: 'a' })]),
    /^two layers have the name 'a'$/,
  ],
  'a name with a slash': [() => dense(3, { name: 'a/b' }), /^dense: a name is a text without '\/', not 'a\/b'$/],
  'an input that is not among the inputs': [
    () => {
      const [a, b] = [input([3]), input([3])];
      return model({ inputs: a, outputs: add()([a, b]) });
    },
    /^model: its outputs depend on 'input_layer_1', which is not among its inputs$/,
  ],
  'an input without effect': [
    () => {
      const [a, b] = [input([3], { name: 'a' }), input([3], { name: 'b' })];
      return model({ inputs: [a, b], outputs: dense(1)(a) });
    },
    /^model: its outputs must depend on each of its inputs, an input\(…\); not so on 'b'$/,
  ],
  'an output that is an input': [
    () => {
      const a = input([3], { name: 'a' });
      return model({ inputs: a, outputs: [dense(1)(a), a] });
    },
    /^model: each output must come from a layer, and once; 'a' does not$/,
  ],
  'no outputs': [
    () => model(/** @type {any} */ ({ inputs: input([3]) })),
    /^model: outputs must be a tensor or a list of them, not an array$/,
  ],
  'a shape that is a number': [
    () => input(/** @type {any} */ (13)),
    /^input: its shape must be a list without the batch, as \[13\], not 13$/,
  ],
  'a type': [
    () => input([3], { dtype: /** @type {any} */ ('float16') }),
    /^input: dtype must be float32, uint8, int32, int64, not 'float16'$/,
  ],
  'a seed': [
    () => sequential([input([3]), dense(1)], { seed: -1 }),
    /^seed must be a whole number of at least 0, not -1$/,
  ],
  'no statistics': [
    () => sequential([input([3]), layers.normalization()]),
    /^normalization has no mean and variance: give both, or call adapt\(data\) before$/,
  ],
  'half of the statistics': [() => layers.normalization({ mean: 1 }), /^normalization: mean and variance go together/],
  'statistics of others': [
    () => layers.normalization({ mean: [1, 2], variance: [1, 2] })(input([3])),
    /^normalization wants 2 numbers along axis 1, \(3\) came$/,
  ],
  'no data': [
    () => layers.normalization().adapt(/** @type {any} */ ([1, 2])),
    /^normalization: adapt wants a tensor of examples, not an array$/,
  ],
  'bidirectional of another': [
    () => layers.bidirectional(/** @type {any} */ (dense(3))),
    /^bidirectional: wanted a layer lstm\(…\) or gru\(…\), not /,
  ],
};

for (const [name, [make, message]] of Object.entries(REFUSED))
  test(`refused in a sentence: ${name}`, async () => {
    await assert.rejects(async () => await make(), { code: 'invalid-argument', message });
  });

test('a function that calls layers is a part of a sequential network: what model makes of the same calls', async () => {
  const residual = () => {
    const [first, second] = [conv2d(4, 3, { padding: 'same', activation: 'relu' }), conv2d(4, 3, { padding: 'same' })];
    return (/** @type {any} */ x) => add()([x, second(first(x))]);
  };
  const seed = 5;
  const listOf = () => [input([4, 8, 8]), residual(), residual(), flatten(), dense(3)];
  const nested = await sequential(listOf(), { seed });
  const [x, ...rest] = /** @type {any[]} */ (listOf());
  const flat = await model({ inputs: x, outputs: rest.reduce((y, layer) => layer(y), x), seed });
  assert.deepEqual(nested, flat);
  const shared = residual();
  const twice = await sequential([input([4, 8, 8]), shared, shared, flatten(), dense(3)], { seed });
  assert.deepEqual([graphOf(nested).weights.length, graphOf(twice).weights.length], [10, 6]);
  const artifacts = await generateArtifacts(nested, { loss: 'mse', ...ALONE });
  const session = await TrainingSession.create(artifacts, ALONE);
  const feeds = { input_layer: tensor([2, 4, 8, 8]), target: tensor([2, 3], 2) };
  const { loss } = await session.step(feeds);
  assert.ok((await session.step(feeds)).loss < loss);
  await session.release();
});
