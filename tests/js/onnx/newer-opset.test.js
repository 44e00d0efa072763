/** A model of an opset newer than all that we know is read, with a warning, in the newest meanings. */

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { graphProto, info, modelProto, node, opsetId, weight } from '../../support/onnx-file.js';
import { run } from '../../support/run-cli.js';
import { ALONE } from '../../support/engines.js';

const WARNING = 'the model is written in ai.onnx opset 99, newer than the 28 we know: it is read as one of 28';

/** y = x · w, (2, 3) by (3, 4). @param {number} opset */
const model = (opset) =>
  modelProto({
    irVersion: 13,
    graph: graphProto({
      node: node('MatMul', ['x', 'w'], 'y'),
      name: 'g',
      initializer: weight('w', [3, 4], 3, 1),
      input: info('x', 1, [2, 3]),
      output: info('y', 1, [2, 4]),
    }),
    opsetImport: opsetId(opset),
  });

test('its session says so, and runs it', async () => {
  const feeds = { x: new Tensor('float32', [1, 2, 3, 4, 5, 6], [2, 3]) };
  const [newer, known] = await Promise.all([99, 28].map((opset) => InferenceSession.create(model(opset), ALONE)));
  assert.deepEqual(newer.warnings, [WARNING]);
  assert.deepEqual(known.warnings, []);
  assert.deepEqual((await newer.run(feeds)).y.data, (await known.run(feeds)).y.data);
  await Promise.all([newer.release(), known.release()]);
});

test('so do its artifacts, and their session', async () => {
  const made = await generateArtifacts(model(99), { loss: 'mse', batch: 'fixed', ...ALONE });
  assert.ok(made.warnings.includes(WARNING));
  const session = await TrainingSession.create(made, ALONE);
  assert.deepEqual(session.warnings, [WARNING]);
  await session.release();
});

test('so does each command, once', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'trainlet-newer-'));
  const [file, training, out] = ['model.onnx', 'training', 'out.onnx'].map((name) => path.join(folder, name));
  await writeFile(file, model(99));
  for (const args of [
    ['artifacts', file, '--loss', 'mse', '--batch', 'fixed', '-o', training],
    ['inspect', file],
    ['inspect', file, '--train', '--loss', 'mse'],
    ['bench', training, '--steps', '1'],
    ['export', training, '-o', out],
    ['shrink', file, '--list'],
  ]) {
    const { code, stderr } = await run(...args);
    assert.equal(code, 0, `${args}: ${stderr}`);
    const told = stderr.split('\n').filter((line) => line === `warning: ${WARNING}`);
    assert.equal(told.length, 1, `${args}: ${stderr}`);
  }
  await rm(folder, { recursive: true });
});
