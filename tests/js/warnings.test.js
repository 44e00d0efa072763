// generateArtifacts names what onnxruntime-web lacks, in one warning, and says nothing when it lacks nothing.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { generateArtifacts } from '../../js/index.js';

const model = (/** @type {string} */ name) => new Uint8Array(readFileSync(new URL(`../golden/${name}.onnx`, import.meta.url)));
const warnings = async (/** @type {string} */ name, /** @type {'adam' | { type: 'sgd', lr: number, momentum: number }} */ optimizer) =>
  (await generateArtifacts(model(name), { loss: 'cross-entropy', optimizer, worker: false })).warnings;

test('what onnxruntime-web runs brings no warning', async () => {
  assert.deepEqual(await warnings('mlp_small', 'adam'), []);
});

test('operators and optimizers it lacks are named in one warning', async () => {
  const [warning, ...others] = await warnings('cnn_bn', { type: 'sgd', lr: 0.1, momentum: 0.9 });
  assert.match(warning, /onnxruntime-web does not run these artifacts.*AveragePoolGrad, sgd optimizer/);
  assert.deepEqual(others, []);
});
