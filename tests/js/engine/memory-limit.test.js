/** `maxMemoryBytes` bounds all that the engine takes: loading, building and running alike, and artifacts too. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileEngine } from '../../../js/engine/compile.js';
import { Core } from '../../../js/engine/core.js';
import { generateArtifacts, InferenceSession, TrainingSession } from '../../../js/index.js';
import { onnxFile } from '../../support/onnx-file.js';
import { clusters, golden } from '../../support/clusters.js';

const MB = 2 ** 20;
const LIMIT = 64 * MB;
const refused = (error) => error.code === 'out-of-memory' && /maxMemoryBytes/.test(error.message);

const model = (nodes, weights, inputs = [{ name: 'x', type: 'float32', dims: [1, 1, 4, 4] }]) =>
  onnxFile({
    name: 'bomb',
    nodes: nodes.map((node) => ({ attributes: {}, ...node })),
    weights: Object.entries(weights),
    inputs,
    outputs: [{ name: 'y', type: 'float32', dims: ['a', 'b', 'c', 'd'] }],
  });
const floats = (...data) => ({ type: 'float32', dims: [data.length], data: Float32Array.from(data) });
const ints = (...data) => ({ type: 'int64', dims: [data.length], data: BigInt64Array.from(data, BigInt) });

/**
 * Small files that ask for much, each at another place: tables of an operator, a constant, the step's own memory,
 * contents that shapes follow from.
 */
const BOMBS = {
  'a Resize, whose tables are made while building': model(
    [{ op: 'Resize', inputs: ['x', '', 'scales'], outputs: ['y'], attributes: { mode: 'linear' } }],
    { scales: floats(1, 1, 1, 999_999) },
  ),
  'a ConstantOfShape': model(
    [
      { op: 'ConstantOfShape', inputs: ['shape'], outputs: ['big'] },
      { op: 'Add', inputs: ['x', 'big'], outputs: ['y'] },
    ],
    { shape: ints(1, 30_000_000, 4, 4) },
  ),
  'an Expand': model([{ op: 'Expand', inputs: ['x', 'shape'], outputs: ['y'] }], { shape: ints(100_000, 300, 4, 4) }),
  'a Tile': model([{ op: 'Tile', inputs: ['x', 'shape'], outputs: ['y'] }], { shape: ints(1000, 1000, 4, 4) }),
};

for (const [what, bytes] of Object.entries(BOMBS)) {
  test(`${what} is refused within the limit`, async () => {
    assert.ok(bytes.length < 400, `${bytes.length} bytes`);
    const core = await Core.create({ module: await compileEngine({ threads: 2, reproducible: true }), threads: 1 });
    const { memory } = core.open();
    const feeds = {
      tensors: [{ name: 'x', type: 'float32', dims: [1, 1, 4, 4], offset: 0, bytes: 64 }],
      sequences: [],
      buffer: new ArrayBuffer(64),
    };
    assert.throws(
      () => {
        core.load({ parts: [{ which: 'model', bytes }], external: [], maxMemoryBytes: LIMIT });
        core.run({ graph: 'model', feeds });
      },
      (error) => error.code === 'out-of-memory' && error.message.length > 20,
    );
    assert.ok(memory.buffer.byteLength < LIMIT + 8 * MB, `${memory.buffer.byteLength / MB} MB were taken`);
  });
}

const OPTIONS = { loss: 'cross-entropy', optimizer: 'adamw' };
const made = await generateArtifacts(golden('mlp_small.onnx'), OPTIONS);
const { inputs, labels } = clusters(4, 1);

test('artifacts keep to the limit, and are the same within it', async () => {
  await assert.rejects(generateArtifacts(golden('mlp_small.onnx'), { ...OPTIONS, maxMemoryBytes: 50_000 }), refused);
  assert.deepEqual(await generateArtifacts(golden('mlp_small.onnx'), { ...OPTIONS, maxMemoryBytes: 2 * MB }), made);
});

test('feeds, files and checkpoints count, the sentence says how much was wanted, and the session goes on', async () => {
  await assert.rejects(TrainingSession.create(made, { maxMemoryBytes: 50_000 }), refused);
  await assert.rejects(InferenceSession.create(golden('mlp_small.onnx'), { maxMemoryBytes: 20_000 }), refused);
  const session = await TrainingSession.create(made, { maxMemoryBytes: MB });
  await session.step({ ...inputs, ...labels });
  const { takenBytes, peakBytes } = await session.getMemoryPlan();
  assert.ok(takenBytes >= peakBytes && takenBytes < MB, `${takenBytes} of ${peakBytes}`);
  const many = clusters(50_000, 1);
  await assert.rejects(
    session.step({ ...many.inputs, ...many.labels }),
    (error) =>
      refused(error) && /maxMemoryBytes is 1048576, \d+ are taken, and \d+ more were wanted/.test(error.message),
  );
  assert.ok(Number.isFinite((await session.step({ ...inputs, ...labels })).loss));
  await session.release();
});
