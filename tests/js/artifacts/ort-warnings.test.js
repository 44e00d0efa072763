// generateArtifacts with ortFormat names what ONNX Runtime cannot run, in one warning; nobody else is told.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { generateArtifacts } from '../../../js/index.js';
import { attribute, info, message, node, weight } from '../../bench/models/onnx_file.js';

const golden = (/** @type {string} */ name) =>
  new Uint8Array(readFileSync(new URL(`../../golden/data/${name}.onnx`, import.meta.url)));
const warnings = async (
  /** @type {Uint8Array} */ model,
  /** @type {'adam' | { type: 'sgd', lr: number, momentum: number }} */ optimizer,
  ortFormat = true,
) => (await generateArtifacts(model, { loss: 'mse', optimizer, batch: 'fixed', ortFormat, worker: false })).warnings;

/** y (3) = x · w (3, 4) at one index a row. */
function gatherModel() {
  const indices = message(
    [1, 3],
    [1, 1],
    [2, 7],
    [8, 'i'],
    [9, new Uint8Array(new BigInt64Array([0n, 2n, 1n]).buffer)],
  );
  const graph = message(
    [1, node('MatMul', ['x', 'w'], 'h')],
    [1, node('GatherND', ['h', 'i'], 'y', attribute('batch_dims', 1))],
    [2, 'g'],
    [5, weight('w', [4, 4], 4, 1)],
    [5, indices],
    [11, info('x', 1, [3, 4])],
    [12, info('y', 1, [3])],
  );
  return message([1, 8], [7, graph], [8, message([1, ''], [2, 17])]);
}

test('what onnxruntime-web runs brings no warning', async () => {
  for (const name of ['mlp_small', 'cnn_bn']) assert.deepEqual(await warnings(golden(name), 'adam'), []);
});

test('operators it lacks are named in one warning to whoever asks for its format', async () => {
  const [warning, ...others] = await warnings(gatherModel(), 'adam');
  assert.match(warning, /^onnxruntime-web does not run these artifacts, it lacks: GatherNDGrad$/);
  assert.deepEqual(others, []);
  const momentum = /** @type {const} */ ({ type: 'sgd', lr: 0.1, momentum: 0.9 });
  await assert.rejects(warnings(gatherModel(), momentum), { code: 'unsupported-op', message: /SGDOptimizer/ });
  assert.deepEqual(await warnings(gatherModel(), momentum, false), []);
});
