// Weights of safetensors in the place of a model's own: the answers are PyTorch's with these weights.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { generateArtifacts, parametersOf, planMemory, Tensor, TrainingSession } from '../../js/index.js';
import { readSafetensors, writeSafetensors } from '../../js/safetensors.js';
import { golden } from './clusters.js';

const { dims, vocabulary, logits } = JSON.parse(
  readFileSync(new URL('../golden/weights.json', import.meta.url), 'utf8'),
);
const HERE = { worker: false, threads: 1 };
const OPTIONS = { ...HERE, loss: { type: 'cross-entropy', axis: -1 }, lora: { r: 2 } };
const is = (code, message) => (error) =>
  error.name === 'TrainletError' && error.code === code && message.test(error.message);
const pathOf = (name) => fileURLToPath(new URL(`../golden/weights/${name}`, import.meta.url));

const [count, length] = dims;
const ids = BigInt64Array.from({ length: count * length }, (_, at) => {
  const [i, t] = [Math.floor(at / length), at % length];
  return BigInt((7 * i * i + 3 * t * t + 5 * i * t + 11) % vocabulary);
});
const FEED = { input_ids: new Tensor('int64', ids, dims) };

async function logitsOf(artifacts) {
  const session = await TrainingSession.create(artifacts, HERE);
  const { logits: found } = await session.predict(FEED, ['logits']);
  await session.release();
  return found.data;
}

function near(found, name, by = 1e-5) {
  const want = logits[name];
  for (let i = 0; i < want.length; i++)
    assert.ok(Math.abs(found[i] - want[i]) <= by, `${name}: ${found[i]} at ${i}, PyTorch has ${want[i]}`);
}

/** Of each exporter, with names as they were, numbers, equal tensors made one; F32, F16, BF16 in parts. */
const RUNS = [
  ['GPT-2 by dynamo', 'lora/gpt2.onnx', 'gpt2.safetensors', 'gpt2'],
  ['Llama by dynamo', 'lora/llama.onnx', 'llama.safetensors', 'llama'],
  ['a new, tied Llama by dynamo', 'weights/tied.onnx', 'model.safetensors.index.json', 'tied'],
  ['a new GPT-2 by TorchScript', 'weights/gpt2.onnx', 'gpt2.safetensors', 'gpt2'],
  ['a new Llama by TorchScript', 'weights/llama.onnx', 'llama.safetensors', 'llama'],
];
for (const [what, model, file, name] of RUNS)
  test(`${what}: logits are PyTorch's with the weights of ${file}`, async () => {
    const artifacts = await generateArtifacts(golden(model), { ...OPTIONS, weights: pathOf(file) });
    assert.deepEqual(
      artifacts.warnings.filter((one) => one.startsWith('weights')),
      [],
    );
    near(await logitsOf(artifacts), name);
  });
