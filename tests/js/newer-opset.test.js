/** A model of an opset newer than all that we know is read, with a warning, in the newest meanings. */

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../js/index.js';
import { info, message, node, weight } from '../bench/models/onnx_file.js';
import { run } from './run-cli.js';

const WARNING = 'the model is written in ai.onnx opset 99, newer than the 28 we know: it is read as one of 28';
const HERE = { worker: false };

/** y = x · w, (2, 3) by (3, 4). @param {number} opset */
const model = (opset) =>
  message(
    [1, 13],
    [
      7,
      message(
        [1, node('MatMul', ['x', 'w'], 'y')],
        [2, 'g'],
        [5, weight('w', [3, 4], 3, 1)],
        [11, info('x', 1, [2, 3])],
        [12, info('y', 1, [2, 4])],
      ),
    ],
    [8, message([1, ''], [2, opset])],
  );

test('its session says so, and runs it', async () => {
  const feeds = { x: new Tensor('float32', [1, 2, 3, 4, 5, 6], [2, 3]) };
  const [newer, known] = await Promise.all([99, 28].map((opset) => InferenceSession.create(model(opset), HERE)));
  assert.deepEqual(newer.warnings, [WARNING]);
  assert.deepEqual(known.warnings, []);
  assert.deepEqual((await newer.run(feeds)).y.data, (await known.run(feeds)).y.data);
  await Promise.all([newer.release(), known.release()]);
});

test('so do its artifacts, and their session', async () => {
  const made = await generateArtifacts(model(99), { loss: 'mse', batch: 'fixed', ...HERE });
  assert.ok(made.warnings.includes(WARNING));
  const session = await TrainingSession.create(made, HERE);
  assert.deepEqual(session.warnings, [WARNING]);
  await session.release();
});

test('so does the command line', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'trainlet-newer-'));
  await writeFile(path.join(folder, 'model.onnx'), model(99));
  const { code, stderr } = await run('inspect', path.join(folder, 'model.onnx'));
  await rm(folder, { recursive: true });
  assert.deepEqual([code, stderr], [0, `warning: ${WARNING}\n`]);
});
