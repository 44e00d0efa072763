/** Initializers draw from Keras' distributions, and the same for the same seed. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession, parametersOf, TrainingSession } from '../../../js/index.js';
import { conv2d, dense, flatten, gru, input, lstm, sequential } from '../../../js/layers/index.js';
import { ALONE } from '../../support/engines.js';
import { golden } from '../../support/layers.js';

/** @param {Uint8Array} network @param {string} name @returns {Promise<Float32Array>} */
async function weightIn(network, name) {
  const artifacts = await generateArtifacts(network, { loss: 'mse', ...ALONE });
  const session = await TrainingSession.create(artifacts, ALONE);
  const { data } = await session.getParameter(name);
  await session.release();
  return /** @type {Float32Array} */ (data);
}

/** @param {any} initializer @param {number[]} shape of a kernel, Keras' */
const networkOf = (initializer, shape) =>
  shape.length === 2
    ? sequential([input([shape[0]]), dense(shape[1], { kernelInitializer: initializer, name: 'one' })], { seed: 5 })
    : sequential(
        [
          input([shape[2], 4, 4]),
          conv2d(shape[3], shape[0], { kernelInitializer: initializer, name: 'one' }),
          flatten(),
        ],
        { seed: 5 },
      );

/** @param {ArrayLike<number>} data */
function factsOf(data) {
  let [sum, squares, least, most] = [0, 0, Infinity, -Infinity];
  for (let i = 0; i < data.length; i++) {
    sum += data[i];
    squares += data[i] ** 2;
    least = Math.min(least, data[i]);
    most = Math.max(most, data[i]);
  }
  const mean = sum / data.length;
  return { mean, deviation: Math.sqrt(squares / data.length - mean ** 2), least, most, count: data.length };
}

/** Two samples of one distribution differ in means and deviations by less than 6 standard errors. */
const SURE = 6;

for (const { name, options, shape, ...keras } of golden.initializers)
  test(`${name} ${JSON.stringify(options)} of (${shape}) is distributed as in Keras`, async () => {
    const ours = factsOf(await weightIn(await networkOf({ type: name, ...options }, shape), 'one/kernel'));
    const error = (SURE * keras.deviation) / Math.sqrt(ours.count / 2);
    assert.ok(Math.abs(ours.mean - keras.mean) < error, `mean ${ours.mean}, Keras' ${keras.mean}`);
    assert.ok(Math.abs(ours.deviation - keras.deviation) < error, `deviation ${ours.deviation}, ${keras.deviation}`);
    const isBounded = /uniform|truncated|(glorot|he|lecun)_normal/.test(name);
    const room = isBounded ? 0.01 * keras.deviation : 2 * keras.deviation;
    for (const end of ['least', 'most'])
      assert.ok(Math.abs(ours[end] - keras[end]) < room, `${end} ${ours[end]}, Keras' ${keras[end]}`);
  });

/** True if rows (of `length`) are orthogonal and have this norm. @param {Float32Array} data @param {number} length */
function checkOrthogonal(data, length, norm = 1) {
  for (let a = 0; a < data.length; a += length)
    for (let b = 0; b <= a; b += length) {
      let dot = 0;
      for (let i = 0; i < length; i++) dot += data[a + i] * data[b + i];
      assert.ok(Math.abs(dot - (a === b ? norm ** 2 : 0)) < 1e-5, `${a / length} · ${b / length} = ${dot}`);
    }
}

test('orthogonal: the fewer of rows and columns are orthogonal', async () => {
  const wide = await weightIn(await networkOf('orthogonal', [20, 50]), 'one/kernel');
  checkOrthogonal(wide, 50);
  const tall = await weightIn(await networkOf({ type: 'orthogonal', gain: 3 }, [50, 20]), 'one/kernel');
  const columns = Float32Array.from(tall, (_, i) => tall[(i % 50) * 20 + Math.floor(i / 50)]);
  checkOrthogonal(columns, 50, 3);
  const kernel = await weightIn(await sequential([input([3, 4]), lstm(8)], { seed: 1 }), 'lstm/recurrent_kernel');
  const rows = Float32Array.from(kernel, (_, i) => kernel[(i % 32) * 8 + Math.floor(i / 32)]);
  checkOrthogonal(rows, 32);
});

test('the forget gate of an LSTM begins with 1, unless told otherwise or given', async () => {
  const biasOf = async (/** @type {any} */ options) =>
    [...(await weightIn(await sequential([input([3, 4]), lstm(2, options)], { seed: 1 }), 'lstm/bias'))].join('');
  assert.equal(await biasOf({}), '00001100'); // input, output, forget, cell
  assert.equal(await biasOf({ unitForgetBias: false }), '00000000');
  assert.equal(await biasOf({ biasInitializer: [1, 2, 3, 4, 5, 6, 7, 8] }), '12783456');
});

test('a seed gives the same bytes everywhere, another seed others, no seed others each time', async () => {
  const make = (/** @type {any} */ options) =>
    sequential(
      [input([4, 6]), gru(5), dense(3, { kernelInitializer: 'he_normal', biasInitializer: 'uniform' })],
      options,
    );
  const hash = (/** @type {Uint8Array} */ bytes) => createHash('sha256').update(bytes).digest('hex');
  const [a, b, c] = [await make({ seed: 7 }), await make({ seed: 7 }), await make({ seed: 7 + 2 ** 32 })];
  assert.equal(hash(a), hash(b));
  assert.notEqual(hash(a), hash(c));
  assert.notEqual(hash(await make({})), hash(await make({})));
  assert.equal(hash(a), '2fb115887f01b4af652394dcde1a469d5f6b39cb2af0a50ce689644887a56bc7');
});

test('numbers are taken as weights, in Keras’ shape', async () => {
  const numbers = Float32Array.from({ length: 6 }, (_, i) => i);
  const network = await sequential([input([2]), dense(3, { kernelInitializer: numbers })]);
  assert.deepEqual(await weightIn(network, 'dense/kernel'), numbers);
  assert.deepEqual(
    (await parametersOf(network)).map(({ name }) => name),
    ['dense/kernel', 'dense/bias'],
  );
  const session = await InferenceSession.create(network, ALONE);
  await session.release();
});

test('what is no initializer is refused', async () => {
  const refusal = async (/** @type {any} */ kernelInitializer, /** @type {RegExp} */ message) =>
    await assert.rejects(sequential([input([2]), dense(3, { kernelInitializer })]), {
      code: 'invalid-argument',
      message,
    });
  await refusal('glorot', /^dense: its kernel: there is no initializer 'glorot'; there are zeros, ones, /);
  await refusal([1, 2], /^dense: its kernel has the shape \(2, 3\): 6 numbers, not 2$/);
  await refusal(
    { type: 'constant', values: 1 },
    /^dense: its kernel: there is no option 'values'; it knows value \(is it value\?\)$/,
  );
  await refusal(null, /^dense: its kernel: there is no initializer undefined/);
  await refusal(
    { type: 'variance_scaling', mode: 'fan' },
    /^variance_scaling: mode: there is no 'fan'; there are fan_in, fan_out, fan_avg$/,
  );
});
