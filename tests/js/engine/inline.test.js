/** An engine in the calling thread: calls follow each other at once, and all else has its turn. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { graphProto, info, modelProto, node, opsetId } from '../../support/onnx-file.js';
import { RANDOM_MODEL, randomFeeds } from '../../support/slow-models.js';
import { HERE } from '../../support/engines.js';

const artifacts = await generateArtifacts(RANDOM_MODEL, { ...HERE, loss: 'cross-entropy', optimizer: 'sgd' });

/** Turns of the event loop during the work, and its ms. */
async function turnsOf(work) {
  let [turns, over] = [0, false];
  const turn = () => {
    turns++;
    if (!over) setImmediate(turn);
  };
  setImmediate(turn);
  const begun = performance.now();
  await work();
  over = true;
  return { turns, ms: performance.now() - begun };
}

test('short calls do not go through the event loop one by one', async () => {
  const session = await TrainingSession.create(artifacts, HERE);
  const { turns } = await turnsOf(async () => {
    for (let i = 0; i < 1000; i++) await session.getLearningRate();
  });
  await session.release();
  assert.ok(turns < 500, `${turns} turns`);
});

test('timers go on while steps follow each other', async () => {
  const session = await TrainingSession.create(artifacts, HERE);
  const { turns, ms } = await turnsOf(async () => {
    for (const end = performance.now() + 300; performance.now() < end; ) await session.step(randomFeeds(1));
  });
  await session.release();
  assert.ok(turns >= 2, `${turns} turns in ${ms} ms`);
});

test('a release stops a step; another call before it is answered, one after it is not', async () => {
  const session = await TrainingSession.create(artifacts, HERE);
  const stopped = assert.rejects(session.step(randomFeeds(1)), { code: 'released' });
  const asked = [session.getLearningRate(), session.saveCheckpoint()];
  const released = session.release();
  const late = assert.rejects(session.getLearningRate(), { code: 'released' });
  assert.equal((await Promise.all(asked)).length, 2);
  await late;
  await stopped;
  await released;
});

const FLOAT = 1;
const sum = modelProto({
  graph: graphProto({
    node: node('Add', ['a', 'b'], 'y'),
    name: 'sum',
    input: ['a', 'b'].map((name) => info(name, FLOAT, ['N'])),
    output: info('y', FLOAT, ['N']),
  }),
  opsetImport: opsetId(17),
});
const floats = (...data) => new Tensor('float32', Float32Array.from(data), [data.length]);
const ONE = floats(1, 2);

test('a run has the feeds of its call, whatever becomes of the arrays while it waits', async () => {
  const session = await InferenceSession.create(sum, HERE);
  const [first, second] = [floats(3, 4), floats(5, 6)];
  const asked = [session.run({ a: ONE, b: first }), session.run({ a: ONE, b: second })];
  first.data.fill(100);
  second.data.fill(100);
  const [one, two] = await Promise.all(asked);
  assert.deepEqual(
    [[...one.y.data], [...two.y.data]],
    [
      [4, 6],
      [6, 8],
    ],
  );
  await session.release();
});

test('feeds of a call that was refused are not those of the next', async () => {
  for (const options of [HERE, { threads: 1 }]) {
    const session = await InferenceSession.create(sum, options);
    const wrong = new Tensor('int32', Int32Array.of(1, 2), [2]);
    await assert.rejects(session.run({ a: ONE, b: wrong }), { code: 'invalid-feed', message: /'b' wants float32/ });
    await assert.rejects(session.run({ b: ONE }), { code: 'invalid-feed' });
    const { y } = await session.run({ b: ONE, a: floats(7, 7) });
    assert.deepEqual([...y.data], [8, 9]);
    await session.release();
  }
});

test('feeds of any kind of memory and of no elements are read', async () => {
  const session = await InferenceSession.create(sum, HERE);
  const shared = new Float32Array(new SharedArrayBuffer(16), 4, 2).fill(2);
  const part = new Float32Array([0, 0, 5, 6]).subarray(2);
  const { y } = await session.run({ a: new Tensor('float32', shared, [2]), b: new Tensor('float32', part, [2]) });
  assert.deepEqual([...y.data], [7, 8]);
  const { y: none } = await session.run({ a: floats(), b: floats() });
  assert.equal(none.data.length, 0);
  await session.release();
});
