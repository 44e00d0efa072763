// generateArtifacts with ortFormat names what ONNX Runtime cannot run, in one warning; nobody else is told.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { generateArtifacts } from '../../../js/index.js';
import {
  attribute,
  graphProto,
  info,
  modelProto,
  node,
  opsetId,
  tensorProto,
  weight,
} from '../../support/onnx-file.js';

const golden = (/** @type {string} */ name) =>
  new Uint8Array(readFileSync(new URL(`../../golden/data/${name}.onnx`, import.meta.url)));
const warnings = async (
  /** @type {Uint8Array} */ model,
  /** @type {'adam' | { type: 'sgd', lr: number, momentum: number }} */ optimizer,
  ortFormat = true,
) => (await generateArtifacts(model, { loss: 'mse', optimizer, batch: 'fixed', ortFormat, worker: false })).warnings;

/** y (3) = x · w (3, 4) at one index a row. */
function gatherModel() {
  const indices = tensorProto({
    dims: [3, 1],
    dataType: 7,
    name: 'i',
    rawData: new Uint8Array(new BigInt64Array([0n, 2n, 1n]).buffer),
  });
  const graph = graphProto({
    node: [node('MatMul', ['x', 'w'], 'h'), node('GatherND', ['h', 'i'], 'y', attribute('batch_dims', 1))],
    name: 'g',
    initializer: [weight('w', [4, 4], 4, 1), indices],
    input: info('x', 1, [3, 4]),
    output: info('y', 1, [3]),
  });
  return modelProto({ graph, opsetImport: opsetId(17) });
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
