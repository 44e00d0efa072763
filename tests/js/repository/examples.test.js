/**
 * The programs of examples/ do what the same programs do in PyTorch (tests/golden/scripts/make_examples.py), for 20
 * steps.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { buildDist } from '../../../tools/dist.mjs';
import { loadNewestOrt } from '../../support/ort.js';

const wanted = JSON.parse(readFileSync(new URL('../../golden/data/examples.json', import.meta.url), 'utf8'));

/** Numbers of 0 … 1 that are the same in each run. @param {number} seed */
function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(1664525, state) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

before(buildDist); // the examples import the package by its name

for (const [name, file] of Object.entries({
  contrastive: 'contrastive.mjs',
  policyGradient: 'policy-gradient.mjs',
  gan: 'gan.mjs',
})) {
  test(file, async () => {
    const { train } = await import(`../../../examples/${file}`);
    const told = await train(20);
    assert.equal(told.length, 20);
    told.flat().forEach((came, i) => {
      const want = wanted[name].flat()[i];
      assert.ok(Math.abs(came - want) < 1e-4, `${i}: ${came} instead of ${want}`);
    });
  });
}

test('with/onnxruntime.mjs: onnxruntime-web infers what was trained here', async () => {
  const { trainAndInfer } = await import('../../../examples/with/onnxruntime.mjs');
  const { difference, accuracy } = await trainAndInfer(loadNewestOrt(), randomNumbers(1));
  assert.ok(difference < 1e-4 && accuracy > 0.9, `${difference}, ${accuracy}`);
});

test('with/mediapipe.mjs: gestures are learned from five hands each', async () => {
  const { GESTURES, featuresOf, learnGestures } = await import('../../../examples/with/mediapipe.mjs');
  const { accuracy, model } = await learnGestures(randomNumbers(2));
  assert.ok(accuracy > 0.9 && GESTURES.length === 4, `${accuracy}`);
  assert.ok(model.length > 10_000 && model.length < 25_000, `${model.length} bytes`);
  const hand = Array.from({ length: 21 }, (_, i) => ({ x: 0.1 * i, y: 0.05 * i, z: -0.01 * i }));
  const moved = hand.map(({ x, y, z }) => ({ x: 3 * x + 5, y: 3 * y - 2, z: 3 * z }));
  featuresOf(moved).forEach((feature, i) => {
    assert.ok(Math.abs(feature - featuresOf(hand)[i]) < 1e-9, `feature ${i} does not depend on place and size`);
  });
});

test('with/tokenizer.mjs: new messages find their department', async () => {
  const { learnDepartments } = await import('../../../examples/with/tokenizer.mjs');
  const departments = (await learnDepartments()).map(({ department }) => department);
  assert.deepEqual(departments, ['payment', 'delivery', 'returns']);
});
