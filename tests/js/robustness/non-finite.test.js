/** A loss that is not finite, and a model of which nothing trains: the message names the value that is the reason. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fineTune, generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { HERE } from '../../support/engines.js';
import { attribute, graphProto, info, modelProto, node, opsetId, TYPES, tensor } from '../../support/onnx-file.js';

const [ROWS, INPUTS] = [8, 4];
const waves = (/** @type {number} */ length) => Float32Array.from({ length }, (_, i) => Math.sin(i));
const WEIGHTS = {
  w: { type: 'float32', dims: [INPUTS, 3], data: waves(12) },
  v: { type: 'float32', dims: [3, 2], data: waves(6) },
};
const SCALE = { type: 'float32', dims: [], data: Float32Array.of(0.1) };
const INT8 = { type: 'int8', dims: [INPUTS, 3], data: Int8Array.from({ length: 12 }, (_, i) => 3 * i - 10) };
const PRODUCTS = [node('MatMul', ['x', 'w'], 'h'), node('Tanh', ['h'], 'r'), node('MatMul', ['r', 'v'], 'y')];

/** x (N, 4) ─ MatMul ─ Tanh ─ MatMul ─▶ y (N, 2), or other nodes. */
function modelOf(weights = WEIGHTS, nodes = PRODUCTS, columns = 2) {
  const graph = graphProto({
    node: nodes,
    name: 'g',
    initializer: Object.entries(weights).map(([name, value]) => tensor(name, value)),
    input: info('x', TYPES.float32, ['N', INPUTS]),
    output: info('y', TYPES.float32, ['N', columns]),
  });
  return modelProto({ graph, opsetImport: opsetId(17) });
}

/** The tensor with a value in one of its places. */
function withValue(dims, at, value) {
  const data = waves(dims.reduce((a, b) => a * b, 1));
  if (at !== undefined) data[at] = value;
  return new Tensor('float32', data, dims);
}
const weightWith = (/** @type {number} */ value) => ({
  ...WEIGHTS,
  w: { ...WEIGHTS.w, data: waves(12).map((x, i) => (i === 5 ? value : x)) },
});

/** @param {any} [options] @param {Uint8Array} [model] */
async function open(options = { loss: 'mse' }, model = modelOf()) {
  const artifacts = await generateArtifacts(model, { ...options, ...HERE });
  return await TrainingSession.create(artifacts, HERE);
}

const whole = (x, target) => ({ inputs: { x }, labels: { target } });
const [fine, scores] = [withValue([ROWS, INPUTS]), withValue([ROWS, 2])];
const sgd = (/** @type {number} */ lr) => ({ loss: 'mse', optimizer: { type: 'sgd', lr } });
const odd = (at, value) => withValue([ROWS, INPUTS], at, value);
const fit = (data, more) => (session) => session.fit(data, { epochs: 30, ...more });
const NEVER = 'no parameter was changed';

/** A call, the message, and options or model of the artifacts. */
const CALLS = /** @type {Record<string, [(session: TrainingSession) => Promise<unknown>, RegExp, any?, any?]>} */ ({
  'an input of fit': [fit(whole(odd(21, NaN), scores)), /^the loss of step \d is NaN; .*: 'x' has NaN in row 5$/],
  'an input of evaluate': [
    (session) => session.evaluate(whole(odd(21, NaN), scores)),
    /the loss of batch 1 is NaN: 'x' has NaN in row 5$/,
  ],
  'an input of step': [
    (session) => session.step({ x: odd(31, NaN), target: scores }),
    /^the loss of step 1 is NaN; no parameter was changed: 'x' has NaN in row 7$/,
  ],
  'a target': [fit(whole(fine, withValue([ROWS, 2], 5, NaN))), /: 'target' has NaN in row 2$/],
  'a held-out input': [
    fit(whole(fine, scores), { validation: whole(odd(4, NaN), scores) }),
    /^evaluating the data set: the loss of batch 1 is NaN: 'x' has NaN in row 1$/,
  ],
  infinity: [fit(whole(fine, withValue([ROWS, 2], 3, Infinity))), /: 'target' has Infinity in row 1$/],
  'the logarithm of 0': [fit(whole(fine, withValue([ROWS, 2], 3, -Infinity))), /: 'target' has -Infinity in row 1$/],
  'a list of batches': [
    fit([
      { x: fine, target: scores },
      { x: odd(9, NaN), target: scores },
    ]),
    /: 'x' has NaN in batch 1, row 2$/,
  ],
  'a stream': [
    fit(async function* () {
      yield { x: fine, target: scores };
      yield { x: odd(9, NaN), target: scores };
    }),
    /^the loss of step 2 is NaN; no parameter was changed: 'x' has NaN in row 2$/,
  ],
  'a stream that evaluate reads': [
    (session) =>
      session.evaluate(async function* () {
        yield { x: odd(9, NaN), target: scores };
      }),
    /the loss of batch 1 is NaN: 'x' has NaN in row 2$/,
  ],
  'a stream that writes the next batch over one': [
    fit(async function* () {
      const x = odd(9, NaN);
      yield { x, target: scores };
      x.data.fill(0);
      yield { x, target: scores };
    }),
    /: the parameters are finite: look for NaN in the data, lower the learning rate, 0.001, or set clipGradNorm$/,
  ],
  'a learning rate': [
    fit(whole(fine, scores)),
    /: parameters and data are finite: lower the learning rate, 1e\+30, or set clipGradNorm$/,
    sgd(1e30),
  ],
  'large numbers': [
    fit(whole(fine, withValue([ROWS, 2], 3, 3e30))),
    /: parameters and data are finite: scale 'target', which reaches 3e\+30, to about 1, lower the learning rate, 0.1/,
    sgd(0.1),
  ],
  'a weight of the model': [
    fit(whole(fine, scores)),
    /: the frozen parameter 'w' has NaN in it$/,
    undefined,
    modelOf(weightWith(NaN)),
  ],
});

for (const [reason, [call, message, options, model]] of Object.entries(CALLS))
  test(`${reason} is named where the loss is not finite`, async () => {
    const session = await open(options, model);
    const error = await call(session).catch((refused) => refused);
    assert.equal(error.code, 'non-finite-loss');
    assert.match(error.message, message);
    assert.ok(error.stack.includes(error.message), 'a console prints it');
    if (!/evaluating/.test(error.message)) assert.ok(error.message.includes(NEVER), error.message);
    await session.release();
  });

const labelled = (x) => ({ inputs: { x }, labels: ['a', 'b', 'a', 'b', 'a', 'b', 'a', 'b'] });

test('fineTune names an input before it trains, and a weight below a new head', async () => {
  await assert.rejects(fineTune(modelOf(), labelled(odd(21, NaN)), { engine: HERE }), {
    code: 'invalid-argument',
    message: "fineTune: data: 'x' has NaN in row 5",
  });
  await assert.rejects(fineTune(modelOf(weightWith(NaN)), labelled(fine), { engine: HERE, onWarning() {} }), {
    code: 'non-finite-loss',
    message: "initializeHead: the features 'r' are not finite: the frozen parameter 'w' has NaN in it",
  });
});

test('a mask of −∞ in the model is not the reason', async () => {
  const mask = { type: 'float32', dims: [3], data: Float32Array.of(0, -Infinity, 0) };
  const nodes = [
    node('MatMul', ['x', 'w'], 'h'),
    node('Add', ['h', 'mask'], 'm'),
    node('Softmax', ['m'], 'r'),
    node('MatMul', ['r', 'v'], 'y'),
  ];
  const session = await open(sgd(1e38), modelOf({ ...WEIGHTS, mask }, nodes));
  await assert.rejects(fit(whole(fine, scores))(session), { message: /: parameters and data are finite: lower the/ });
  await session.release();
});

const dequantized = [node('DequantizeLinear', ['q', 's', 'z'], 'w'), node('MatMul', ['x', 'w'], 'y')];
const integers = [
  node('DynamicQuantizeLinear', ['x'], ['xq', 'xs', 'xz']),
  node('MatMulInteger', ['xq', 'q', 'xz', 'z'], 'i'),
  node('Cast', ['i'], 'f', attribute('to', TYPES.float32)),
  node('Mul', ['f', 'xs'], 'y'),
];
const zero = { type: 'int8', dims: [], data: Int8Array.of(0) };

test('where nothing trains, weights that are quantized or not finite are named', async () => {
  const told = async (model, words) =>
    await assert.rejects(generateArtifacts(model, { loss: 'mse', ...HERE }), {
      code: 'invalid-argument',
      message: new RegExp(`^no parameter is left to train: .*; ${words}`),
    });
  const quantized = "quantized weights do not train, as 'q' \\(int8\\): take the model as it was before";
  await told(modelOf({ q: INT8, s: SCALE, z: zero }, dequantized, 3), quantized);
  await told(modelOf({ q: INT8, z: zero }, integers, 3), quantized);
  const { w } = weightWith(NaN);
  const one = [node('MatMul', ['x', 'w'], 'y')];
  await told(modelOf({ w }, one, 3), "values that are NaN or infinite are in 'w'$");
});

test('where some layers are quantized, a warning names them, unless the caller chose what trains', async () => {
  const nodes = [dequantized[0], node('MatMul', ['x', 'w'], 'h'), node('MatMul', ['h', 'v'], 'y')];
  const v = { type: 'float32', dims: [3, 3], data: Float32Array.from({ length: 9 }, (_, i) => i) };
  const model = modelOf({ q: INT8, s: SCALE, z: zero, v }, nodes, 3);
  const told = async (options) => (await generateArtifacts(model, { loss: 'mse', ...HERE, ...options })).warnings;
  assert.deepEqual(await told(), ["quantized weights do not train, only the others do: 'q' (int8)"]);
  assert.deepEqual(await told({ requiresGrad: ['v'] }), []);
});
