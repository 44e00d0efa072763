/** Many examples in batches: the same numbers as all at once, in less memory, with progress and a signal. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { HERE, root } from '../../support/engines.js';
import { attribute, graphProto, info, modelProto, node, opsetId } from '../../support/onnx-file.js';

const read = (file) => new Uint8Array(readFileSync(join(root, file)));
const BACKBONE = read('models/pictures.onnx');
const MB = 1 << 20;

const pictures = (count) =>
  new Tensor(
    'float32',
    Float32Array.from({ length: count * 3 * 96 * 96 }, (_, i) => Math.sin(i)),
    [count, 3, 96, 96],
  );

/** A model of plain nodes. */
const model = (nodes, inputs, outputs) =>
  modelProto({
    graph: graphProto({ node: nodes, name: 'g', input: inputs, output: outputs }),
    opsetImport: opsetId(17),
  });
const run = async (bytes, ...args) => {
  const session = await InferenceSession.create(bytes, HERE);
  try {
    return await session.run(...args);
  } finally {
    await session.release();
  }
};
const refused = (work, code, text) =>
  assert.rejects(work, (error) => {
    assert.deepEqual([error.name, error.code], ['TrainletError', code], error.stack);
    assert.match(error.message, text);
    return true;
  });

for (const [options, count, limit] of [
  [HERE, 512, 64 * MB],
  [{}, 128, 24 * MB],
])
  test(`${count} pictures through the demo's network in ${limit / MB} MB`, async () => {
    const artifacts = await generateArtifacts(BACKBONE, {
      ...HERE,
      loss: 'cross-entropy',
      head: { classes: ['cat', 'dog', 'other'] },
    });
    const image = pictures(count);
    const whole = await TrainingSession.create(artifacts, options);
    const wanted = await whole.predict({ image }, { labels: true, probabilities: true });
    assert.ok((await whole.getMemoryPlan()).takenBytes > 2 * limit, 'at once they take more');
    await whole.release();

    const limited = await TrainingSession.create(artifacts, { ...options, maxMemoryBytes: limit });
    await refused(
      limited.runEvalStep({ image, labels: new Tensor('int64', Array(count).fill(0)) }),
      'out-of-memory',
      /\d/,
    );
    const found = await limited.predict({ image }, { labels: true, probabilities: true });
    assert.deepEqual(found, wanted);
    assert.ok((await limited.getMemoryPlan()).takenBytes <= limit);
    await limited.release();
  });

test('batches give the same bits as all at once, of each size, and tell how far they are', async () => {
  const session = await InferenceSession.create(BACKBONE, HERE);
  const image = pictures(10);
  const { features } = await session.run({ image });
  for (const [batchSize, dones] of [
    [1, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
    [3, [3, 6, 9, 10]],
    [5, [5, 10]],
    [10, [10]],
    [64, [10]],
    [undefined, [10]],
  ]) {
    const told = [];
    const onProgress = (progress) => told.push(progress);
    assert.deepEqual((await session.run({ image }, { batchSize, onProgress })).features, features);
    assert.deepEqual(
      told,
      dones.map((done) => ({ done, of: 10 })),
    );
  }
  const own = new Tensor('float32', new Float32Array(3200), [10, 320]);
  const { features: same } = await session.run({ image }, { features: own }, { batchSize: 4 });
  assert.equal(same, own);
  assert.deepEqual(own.data, features.data);
  await session.release();
});

test('run stays whole unless batches are asked for', async () => {
  const session = await InferenceSession.create(BACKBONE, { ...HERE, maxMemoryBytes: 24 * MB });
  const image = pictures(64);
  await refused(session.run({ image }), 'out-of-memory', /maxMemoryBytes/);
  const dones = [];
  const onProgress = ({ done }) => dones.push(done);
  const { features } = await session.run({ image }, { batchSize: 64, onProgress });
  assert.deepEqual(features.dims, [64, 320]);
  assert.ok(dones.length > 1 && dones.at(-1) === 64, `halved: ${dones}`);
  await session.release();
});

test('a signal stops between batches', async () => {
  const session = await InferenceSession.create(BACKBONE, HERE);
  const stop = new AbortController();
  const dones = [];
  const onProgress = ({ done }) => {
    dones.push(done);
    if (done === 4) stop.abort();
  };
  await refused(
    session.run({ image: pictures(10) }, { batchSize: 2, onProgress, signal: stop.signal }),
    'aborted',
    /signal/,
  );
  assert.deepEqual(dones, [2, 4]);
  await refused(
    session.run({ image: pictures(2) }, { batchSize: 0 }),
    'invalid-argument',
    /^batchSize must be a whole number/,
  );
  await refused(
    session.run({ image: pictures(2) }, { onProgress: 7 }),
    'invalid-argument',
    /onProgress must be a function/,
  );
  await session.release();
});

for (const fixed of [1, 2])
  test(`a model for a batch of ${fixed} takes many, the last batch filled`, async () => {
    const session = await InferenceSession.create(
      read(`tests/golden/data/fixed_batch/conv_dynamo_${fixed}.onnx`),
      HERE,
    );
    const [, ...dims] = session.inputs[0].dims;
    const each = dims.reduce((a, b) => a * b, 1);
    const x = (from, count) =>
      new Tensor(
        'float32',
        Float32Array.from({ length: count * each }, (_, i) => Math.cos(from * each + i)),
        [count, ...dims],
      );
    const { y } = await session.run({ x: x(0, 5) }, { batchSize: fixed });
    assert.equal(y.dims[0], 5);
    for (let row = 0; row + fixed <= 5; row++) {
      const { y: part } = await session.run({ x: x(row, fixed) });
      const width = y.data.length / 5;
      assert.deepEqual(y.data.slice(row * width, (row + fixed) * width), part.data);
    }
    await refused(
      session.run({ x: x(0, 5) }, { batchSize: 3 }),
      'invalid-argument',
      new RegExp(`takes batches of ${fixed} alone$`),
    );
    await session.release();
  });

test('inputs that all examples share go in whole, and strings are put together', async () => {
  const shared = model(
    [node('Mul', ['x', 's'], 'y')],
    [info('x', 1, ['N', 2]), info('s', 1, [2])],
    [info('y', 1, ['N', 2])],
  );
  const x = new Tensor('float32', [1, 2, 3, 4, 5, 6], [3, 2]);
  const { y } = await run(shared, { x, s: new Tensor('float32', [10, 100], [2]) }, { batchSize: 2 });
  assert.deepEqual([...y.data], [10, 200, 30, 400, 50, 600]);
  const two = model(
    [node('Add', ['a', 'b'], 'y')],
    [info('a', 1, ['N', 2]), info('b', 1, ['M', 2])],
    [info('y', 1, ['K', 2])],
  );
  assert.deepEqual(
    (await run(two, { a: x, b: x }, { batchSize: 1 })).y.data,
    x.data.map((v) => 2 * v),
  );
  const words = model([node('Identity', ['w'], 'v')], [info('w', 8, ['N'])], [info('v', 8, ['N'])]);
  const { v } = await run(words, { w: new Tensor('string', ['a', 'b', 'c'], [3]) }, { batchSize: 2 });
  assert.deepEqual([v.type, v.data, v.dims], ['string', ['a', 'b', 'c'], [3]]);
});

test('outputs without an example a row are refused, and so are feeds without examples', async () => {
  const sum = model(
    [node('ReduceSum', ['x'], 'y', attribute('keepdims', 0))],
    [info('x', 1, ['N'])],
    [info('y', 1, [])],
  );
  const x = new Tensor('float32', [1, 2, 3], [3]);
  await refused(
    run(sum, { x }, { batchSize: 2 }),
    'invalid-argument',
    /^output 'y' has no example a row, .*: leave out batchSize$/,
  );
  assert.deepEqual([...(await run(sum, { x }, { batchSize: 3 })).y.data], [6]);
  const scalar = model([node('Neg', ['x'], 'y')], [info('x', 1, [])], [info('y', 1, [])]);
  await refused(
    run(scalar, { x: 1 }, { batchSize: 3 }),
    'invalid-argument',
    /^batches need an input with an example a row/,
  );
});
