/** Training with backend 'webgpu', on SwiftShader, against wasm's numbers. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { before, test } from 'node:test';
import { promisify } from 'node:util';
import { SWIFTSHADER } from '../../gpu/node-gpu.js';
import { root } from '../../support/engines.js';

const run = promisify(execFile);
const skip =
  (!SWIFTSHADER && "Chromium's SwiftShader is not installed") ||
  (!existsSync(path.join(root, 'node_modules/webgpu')) && 'the package webgpu is not installed');

let results;
before(async () => {
  if (skip) return;
  const env = { ...process.env, ...SWIFTSHADER };
  const { stdout } = await run(process.execPath, [path.join(import.meta.dirname, 'runs.js')], {
    env,
    maxBuffer: 2 ** 27,
  });
  results = JSON.parse(stdout.trim().split('\n').at(-1));
});

function close(wasm, gpu, tolerance, what) {
  assert.equal(gpu.length, wasm.length, what);
  assert.ok(wasm.length > 0, what);
  wasm.forEach((number, i) => {
    const off = Math.abs(gpu[i] - number) / Math.max(Math.abs(number), 1e-2);
    assert.ok(off <= tolerance, `${what} ${i}: ${gpu[i]}, by wasm ${number}`);
  });
}

for (const [name, tolerance] of /** @type {const} */ ([
  ['mlp', 1e-4],
  ['gpt', 1e-1], // AdamW makes a step of full size of a gradient that is rounding alone, as that of keys' biases
  ['lora', 1e-3],
]))
  test(`${name}: losses and weights are wasm's`, { skip }, () => {
    const [wasm, gpu] = results[name];
    close(wasm.losses, gpu.losses, 1e-4, 'loss');
    assert.notEqual(gpu.losses[0], gpu.losses[9]);
    close([wasm.loss], [gpu.loss], 1e-4, 'loss in eval mode');
    close(wasm.parameters, gpu.parameters, tolerance, 'parameter');
  });

test('every optimizer updates as by wasm', { skip }, () => {
  assert.equal(results.optimizers.length, 6);
  for (const [name, wasm, gpu] of results.optimizers) {
    close(wasm.losses, gpu.losses, 1e-4, `${name}, loss`);
    close(wasm.parameters, gpu.parameters, 1e-3, `${name}, parameter`);
  }
});

test('gradients are added up, batches and the learning rate change, gradients are clipped', { skip }, () => {
  const [wasm, gpu] = results.various;
  close(wasm.losses, gpu.losses, 1e-4, 'loss');
  assert.equal(wasm.accuracy.length, 2);
  assert.ok(wasm.accuracy.every((accuracy) => accuracy >= 0 && accuracy <= 1));
  assert.deepEqual(gpu.accuracy, wasm.accuracy);
  close(wasm.parameters, gpu.parameters, 1e-3, 'parameter');
});

test('a checkpoint of either backend goes on with the other', { skip }, () => {
  const { 'wasm, wasm': wasm, ...others } = results.resumed;
  assert.equal(Object.keys(others).length, 2);
  for (const [name, losses] of Object.entries(others)) close(wasm, losses, 1e-4, name);
});

test('each refusal is a sentence, and nothing is lost', { skip }, () => {
  const { operator, label, notFinite, losses, reproducible, unknown } = results.refusals;
  assert.equal(operator.code, 'unsupported-op');
  assert.match(
    operator.message,
    /^FusedConv '.+': backend 'webgpu' has no FusedConv: make the session with backend 'wasm'$/,
  );
  assert.equal(label.code, 'invalid-feed');
  assert.match(label.message, /labels.* have 10/);
  assert.equal(notFinite.code, 'non-finite-loss');
  assert.match(notFinite.message, /no parameter was changed/);
  close([losses[0]], [losses[1]], 1e-6, 'loss of weights that did not change');
  assert.match(reproducible.message, /not reproducible/);
  assert.match(unknown.message, /^backend must be 'wasm' or 'webgpu', not /);
});
