// If and Loop whose conditions are fed, and what is refused: in one sentence, which names the node.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { generateArtifacts, InferenceSession, Tensor } from '../../js/index.js';

const read = (name) => readFileSync(new URL(`../golden/subgraphs/${name}.onnx`, import.meta.url));
const HERE = { worker: false };
const x = new Tensor('float32', Float32Array.of(1, 2, 3, 4, 5, 6), [2, 3]);

test('an If takes the branch that is fed, and another one the next time', async () => {
  const session = await InferenceSession.create(read('fed_if'), HERE);
  for (const condition of [1, 0, 1]) {
    const { y } = await session.run({ x, condition: new Tensor('bool', Uint8Array.of(condition), []) });
    assert.deepEqual([...y.data], condition ? [3, 5, 7, 6, 8, 10] : [2, 6, 12, 8, 15, 24]);
  }
  await session.release();
});

test('a Loop goes on while what it computes says so', async () => {
  const session = await InferenceSession.create(read('fed_while'), HERE);
  for (const limit of [0, 50, 5000]) {
    const sums = [];
    let factor = 1;
    while (21 * factor < limit) {
      factor *= 2;
      sums.push(21 * factor);
    }
    const outputs = await session.run({ x, limit: new Tensor('float32', Float32Array.of(limit), []) });
    assert.deepEqual([...outputs.y.data], [...x.data].map((value) => value * factor));
    assert.deepEqual([outputs.sums.dims, [...outputs.sums.data]], [[sums.length], sums]);
  }
  await session.release();
});

test('a Loop without an end is refused', async () => {
  await assert.rejects(InferenceSession.create(read('endless'), HERE), /Loop 'forever': it has neither a number of iterations nor a condition, it would never end/);
});

test('training refuses a condition that is fed', async () => {
  await assert.rejects(generateArtifacts(read('fed_if'), { loss: 'mse', optimizer: { type: 'sgd', lr: 0.1 }, requiresGrad: ['w'], ...HERE }),
    /If 'choose': input 0 \('condition'\) must be known before the run/);
});
