/**
 * 51 usual einsum equations (tests/golden/data/einsum.json) with only the batch, or all dims of their inputs, free:
 * losses of training as in PyTorch.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { onnxFile } from '../../support/onnx-file.js';
import { batchUnit } from '../../support/recipe.js';
import { HERE } from '../../support/engines.js';

const golden = JSON.parse(readFileSync(new URL('../../golden/data/einsum.json', import.meta.url), 'utf8'));

/** One name a dim: its letter; an ellipsis has two. */
const lettersOf = (term) => [...term.replace('...', 'αβ')];
const sizeOf = (letter) => ({ α: 2, β: 3 })[letter] ?? 2 + (letter.charCodeAt(0) % 3);
const floats = (dims, data) => ({ type: 'float32', dims, data: Float32Array.from(data) });
function uniform(seed, letters) {
  const dims = letters.map(sizeOf);
  return floats(
    dims,
    Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, i) => 2 * batchUnit(seed, i) - 1),
  );
}

/** An operand that is an input is multiplied by a parameter of one number, so that gradients flow through it. */
function modelOf(equation, isFree) {
  const [left, right] = equation.split('->');
  const terms = left.split(',');
  const isFed = (i) => i === 0 || terms[i].includes('b');
  const learned = new Set(terms.flatMap((term, i) => (isFed(i) ? [] : lettersOf(term))));
  const weights = new Map();
  const inputs = [];
  const nodes = [];
  const feeds = {};
  for (const [i, term] of terms.entries()) {
    const value = uniform(i, lettersOf(term));
    weights.set(`p${i}`, isFed(i) ? floats([1], [0.5 + i]) : value);
    if (!isFed(i)) continue;
    const dims = lettersOf(term).map((letter) => (isFree(letter) && !learned.has(letter) ? letter : sizeOf(letter)));
    inputs.push({ name: `x${i}`, type: 'float32', dims });
    nodes.push({ op: 'Mul', inputs: [`x${i}`, `p${i}`], outputs: [`y${i}`], attributes: {} });
    feeds[`x${i}`] = new Tensor('float32', value.data, value.dims);
  }
  const operands = terms.map((_, i) => (isFed(i) ? `y${i}` : `p${i}`));
  nodes.push({ op: 'Einsum', inputs: operands, outputs: ['y'], attributes: { equation } });
  const outputs = [{ name: 'y', type: 'float32', dims: lettersOf(right).map((_, i) => `out${i}`) }];
  const wanted = uniform(9, lettersOf(right));
  const target = new Tensor('float32', wanted.data, wanted.dims);
  return { file: onnxFile({ name: 'einsum', nodes, weights, inputs, outputs }), feeds, target, weights };
}

async function check(equation, isFree) {
  const { file, feeds, target, weights } = modelOf(equation, isFree);
  const options = { loss: 'mse', optimizer: { type: 'sgd', lr: 0.05 }, requiresGrad: [...weights.keys()] };
  const session = await TrainingSession.create(await generateArtifacts(file, options), HERE);
  const losses = [];
  for (const _ of golden[equation]) losses.push((await session.step({ ...feeds, target })).loss);
  await session.release();
  for (const [i, want] of golden[equation].entries())
    assert.ok(Math.abs(losses[i] - want) <= 1e-5 * want, `${equation}: losses ${losses}, not ${golden[equation]}`);
  const run = await InferenceSession.create(file, HERE);
  const { y } = await run.run(feeds);
  await run.release();
  let loss = 0;
  for (const [i, want] of target.data.entries()) loss += (y.data[i] - want) ** 2 / target.data.length;
  assert.ok(Math.abs(loss - golden[equation][0]) <= 1e-5 * loss, `${equation}: outputs`);
}

for (const [name, isFree] of [
  ['the batch free', (letter) => letter === 'b' || letter === 'α'],
  ['all dims free', () => true],
  ['fixed', () => false],
])
  test(`einsum equations with ${name}`, async () => {
    const failures = [];
    for (const equation of Object.keys(golden))
      await check(equation, isFree).catch((error) => failures.push(`${equation}: ${error.message}`));
    assert.deepEqual(failures, []);
  });
