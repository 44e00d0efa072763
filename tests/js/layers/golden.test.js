/** Every layer computes, and learns, what Keras does with the same weights (tests/golden/scripts/make_layers.py). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import ort from 'onnxruntime-web-1.30';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import * as layers from '../../../js/layers/index.js';
import { ALONE } from '../../support/engines.js';
import { feedsOf, floatsOf, golden, networkOf, numbersOf } from '../../support/layers.js';
import { assertNear } from '../../support/near.js';

ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';

/** @param {string} what @param {ArrayLike<number>} came @param {ArrayLike<number>} wanted */
const near = (what, came, wanted) => assertNear(came, wanted, { absolute: 1e-5 }, what);

/** The parameters and statistics of a session, by name. @param {TrainingSession} session */
async function parametersOf(session) {
  const found = new Map();
  for (const { name } of session.parameters) found.set(name, (await session.getParameter(name)).data);
  return found;
}

/** @param {Uint8Array} network */
const artifactsOf = (network) =>
  generateArtifacts(network, { loss: 'mse', optimizer: { type: 'sgd', lr: 1 }, ...ALONE });

/** A session whose weights are those before the changes of one step. @param {any} spec */
async function changedSession(spec) {
  const weightOf = (/** @type {any} */ weight) => {
    const changes = floatsOf(weight.change);
    return numbersOf(weight).map((value, i) => value - changes[i]);
  };
  return await TrainingSession.create(await artifactsOf(await networkOf(spec, weightOf)), ALONE);
}

for (const [name, spec] of Object.entries(golden.cases)) {
  test(`${name}: outputs, in onnxruntime-web too, shape and parameters`, async () => {
    const network = await networkOf(spec);
    const feeds = feedsOf(spec);
    const session = await InferenceSession.create(network, ALONE);
    const named = (/** @type {any} */ make) =>
      Object.fromEntries(session.inputNames.map((input, i) => [input, make(feeds[i])]));
    const [ours] = Object.values(await session.run(named(({ type, data, dims }) => new Tensor(type, data, dims))));
    assert.deepEqual(ours.dims, spec.shape);
    near('ours', ours.data, floatsOf(spec.output));
    const there = await ort.InferenceSession.create(network);
    const [theirs] = Object.values(await there.run(named(({ type, data, dims }) => new ort.Tensor(type, data, dims))));
    near('onnxruntime-web', theirs.data, floatsOf(spec.output));
    const [, total] = /^ Total params: ([\d,]+)/m.exec(await layers.summary(network)) ?? [];
    assert.equal(Number(total.replaceAll(',', '')), spec.parameters);
    const table = (await layers.summary(network)).split('\n');
    assert.ok(
      table.some((line) => line.includes(`(None, ${spec.shape.slice(1).join(', ')})`)),
      table.join('\n'),
    );
    await Promise.all([session.release(), there.release()]);
  });
}

const trained = Object.entries(golden.cases).filter(([, spec]) => JSON.stringify(spec).includes('"change"'));

test('nearly all cases have changes', () => {
  assert.ok(trained.length > Object.keys(golden.cases).length - 3);
});

/** The session after a step. @param {any} spec */
async function steppedSession(spec) {
  const artifacts = await artifactsOf(await networkOf(spec));
  assert.deepEqual(artifacts.warnings, []);
  const session = await TrainingSession.create(artifacts, ALONE);
  const feeds = feedsOf(spec).map(({ type, data, dims }) => new Tensor(type, data, dims));
  feeds.push(new Tensor('float32', numbersOf(spec.target), spec.target.shape));
  await session.step(Object.fromEntries(session.trainingInputNames.map((input, i) => [input, feeds[i]])));
  return session;
}

const isAttention = (/** @type {any} */ spec) => spec.layers.some(([[layer]]) => layer === 'multiHeadAttention');

for (const [name, spec] of trained.filter(([, one]) => !isAttention(one))) {
  test(`${name}: the change of each weight in a step`, async () => {
    const [session, changed] = [await steppedSession(spec), await changedSession(spec)];
    const [came, wanted] = [await parametersOf(session), await parametersOf(changed)];
    assert.deepEqual([...came.keys()], [...wanted.keys()]);
    for (const [parameter, values] of wanted) near(parameter, came.get(parameter), values);
    await Promise.all([session.release(), changed.release()]);
  });
}

for (const [name, spec] of trained.filter(([, one]) => isAttention(one))) {
  test(`${name}: the change of each of four kernels, which begin as the same numbers`, async () => {
    const session = await steppedSession(spec);
    const came = await parametersOf(session);
    const [[, , , weights]] = spec.layers[0];
    for (const [option, weight] of Object.entries(weights)) {
      const [before, changes] = [numbersOf(weight), floatsOf(weight.change)];
      ['query', 'key', 'value', 'attention_output'].forEach((part, i) => {
        const key = `multi_head_attention/${part}/${option.replace('Initializer', '')}`;
        near(
          key,
          came.get(key),
          before.map((value, k) => value - changes[i * before.length + k]),
        );
      });
    }
    await session.release();
  });
}
