// If and Loop whose conditions are fed, as onnxruntime-web runs them, and what is refused: in one sentence, which names
// the node.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { ALONE } from '../../support/engines.js';
import { loadOrt } from '../../support/ort.js';

const ort = loadOrt();
const golden = (name) => new Uint8Array(readFileSync(new URL(`../../golden/data/${name}.onnx`, import.meta.url)));
const read = (name) => golden(`subgraphs/${name}`);
const x = new Tensor('float32', Float32Array.of(1, 2, 3, 4, 5, 6), [2, 3]);
const bool = (value) => new Tensor('bool', Uint8Array.of(value), []);
const int = (value) => new Tensor('int64', BigInt64Array.of(BigInt(value)), []);

/** Runs each of the feeds, in both runtimes; the outputs are the same. */
async function sameAsOrt(name, allFeeds) {
  const session = await InferenceSession.create(read(name), ALONE);
  const theirs = await ort.InferenceSession.create(read(name));
  for (const feeds of allFeeds) {
    const ours = await session.run(feeds);
    const wanted = await theirs.run(
      Object.fromEntries(Object.entries(feeds).map(([key, t]) => [key, new ort.Tensor(t.type, t.data, t.dims)])),
    );
    for (const output of session.outputNames) {
      assert.deepEqual(
        [ours[output].dims, [...ours[output].data]],
        [[...wanted[output].dims], [...wanted[output].data]],
        `${name}: ${output}`,
      );
    }
  }
  await session.release();
  await theirs.release();
}

test('a fed condition or number of iterations, another one the next time: as in onnxruntime-web', async () => {
  const bits = [0, 1, 2, 3, 0].map((i) => [bool(i & 1), bool(i >> 1)]);
  await sameAsOrt(
    'fed_if',
    bits.map(([condition]) => ({ x, condition })),
  );
  await sameAsOrt(
    'nested',
    bits.map(([outer, inner]) => ({ x, outer, inner })),
  );
  await sameAsOrt(
    'fed_while',
    [0, 50, 5000].map((limit) => ({ x, limit: new Tensor('float32', Float32Array.of(limit), []) })),
  );
  await sameAsOrt(
    'fed_trips',
    [0, 1, 7, 30000].map((n) => ({ x, n: int(n) })),
  );
  await sameAsOrt(
    'fed_list',
    [1, 2, 700].map((n) => ({ x, n: int(n) })),
  );
});

test('a Loop goes on while what it computes says so', async () => {
  const session = await InferenceSession.create(read('fed_while'), ALONE);
  for (const limit of [0, 50, 5000]) {
    const sums = [];
    let factor = 1;
    while (21 * factor < limit) {
      factor *= 2;
      sums.push(21 * factor);
    }
    const outputs = await session.run({ x, limit: new Tensor('float32', Float32Array.of(limit), []) });
    assert.deepEqual(
      [...outputs.y.data],
      [...x.data].map((value) => value * factor),
    );
    assert.deepEqual([outputs.sums.dims, [...outputs.sums.data]], [[sums.length], sums]);
  }
  await session.release();
});

const mse = { loss: 'mse', optimizer: { type: 'sgd', lr: 0.1 }, requiresGrad: ['w'], ...ALONE };

test('a Loop without an end is refused, and one that would fill the memory', async () => {
  await assert.rejects(
    InferenceSession.create(read('endless'), ALONE),
    /^TrainletError: Loop 'forever': it has neither a number of iterations nor a condition, it would never end$/,
  );
  await assert.rejects(
    InferenceSession.create(read('billion'), ALONE),
    /^TrainletError: Loop 'many': it has 1000000000 iterations, we do up to \d+$/,
  );
  const session = await InferenceSession.create(read('fed_trips'), ALONE);
  await assert.rejects(
    session.run({ x, n: int(10n ** 15n) }),
    /^TrainletError: Loop 'many': it has 1000000000000000 iterations/,
  );
  await session.release();
});

test('training refuses what is fed', async () => {
  await assert.rejects(
    generateArtifacts(read('fed_if'), mse),
    new RegExp(
      "^TrainletError: If 'choose': input 0 \\('condition'\\) must be known before the run, " +
        'it is computed from fed values$',
    ),
  );
  await assert.rejects(
    generateArtifacts(read('fed_while'), mse),
    /^TrainletError: Loop 'double': input 1 \('start'\) must be known before the run/,
  );
  await assert.rejects(
    generateArtifacts(read('fed_list'), mse),
    /^TrainletError: Loop 'collect': whether it goes on after iteration 0 must be known before the run/,
  );
  await assert.rejects(
    generateArtifacts(read('fed_trips'), mse),
    /^TrainletError: Loop 'many': input 0 \('n'\) must be known before the run/,
  );
});

test('what follows from constants is known: it trains, and the constants are no parameters', async () => {
  const session = await TrainingSession.create(
    await generateArtifacts(read('computed'), { ...mse, requiresGrad: ['*'] }),
    ALONE,
  );
  assert.deepEqual([...(await session.predict({ x })).y.data], [7, 11, 15, 10, 14, 18]); // w is 2 3 4
  assert.deepEqual(
    session.parameters.map(({ name }) => name),
    ['w'],
  );
  const { loss } = await session.step({
    x,
    target: new Tensor('float32', Float32Array.of(7, 11, 15, 10, 14, 12), [2, 3]),
  });
  assert.equal(loss, 6); // 6² / 6
  // d/dw₂ = 2/6 · 6 · 3, w₂ = 4 − 0.1 · 6
  assert.deepEqual(
    [...(await session.getParameter('w')).data].map((w) => w.toFixed(5)),
    ['2.00000', '3.00000', '3.40000'],
  );
  await session.release();
});

test('a trained model with a Loop, an If and a Scan is exported without them, runs in onnxruntime-web', async () => {
  for (const [name, dims] of [
    ['scripted', [3, 6]],
    ['scanned', [3, 5, 4]],
  ]) {
    const a = await generateArtifacts(golden(name), {
      loss: 'cross-entropy',
      optimizer: { type: 'sgd', lr: 0.1 },
      ...ALONE,
    });
    const session = await TrainingSession.create(a, ALONE);
    const size = dims.reduce((product, d) => product * d);
    const input = new Tensor(
      'float32',
      Float32Array.from({ length: size }, (_, i) => Math.sin(i)),
      dims,
    );
    await session.step({ input, labels: new Tensor('int64', BigInt64Array.of(0n, 1n, 2n), [3]) });
    const { logits } = await session.predict({ input });
    const theirs = await ort.InferenceSession.create(await session.exportModel());
    const output = await theirs.run({ input: new ort.Tensor('float32', input.data, dims) });
    for (const [i, value] of output.logits.data.entries())
      assert.ok(Math.abs(value - logits.data[i]) < 1e-5, `${name}: ${value} is not ${logits.data[i]}`);
    await session.release();
    await theirs.release();
  }
});
