/** The engine that made artifacts is the next session's: where it may be, and what it leaves behind. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession, parametersOf, TrainingSession } from '../../../js/index.js';
import { RANDOM_MODEL, randomFeeds, slowModel } from '../../support/slow-models.js';

const OPTIONS = { loss: 'cross-entropy', optimizer: { type: 'adamw', lr: 0.01 } };
const ONE = { threads: 1 };
/** @type {import('node:worker_threads').Worker[]} */
const workers = [];
process.on('worker', (worker) => workers.push(worker));

/** Counts the workers that the work starts. */
async function started(work) {
  const before = workers.length;
  const made = await work();
  await made?.release?.();
  return workers.length - before;
}

async function lossesOf(session) {
  await session.setSeed(3);
  const losses = [];
  for (let i = 0; i < 3; i++) losses.push((await session.step(randomFeeds(i))).loss);
  await session.release();
  return losses;
}

test('a model is read, artifacts are made and trained in one worker', async () => {
  const count = await started(async () => {
    await parametersOf(RANDOM_MODEL, ONE);
    return await TrainingSession.create(await generateArtifacts(RANDOM_MODEL, { ...ONE, ...OPTIONS }), ONE);
  });
  assert.equal(count, 1);
});

test('a session with other options of the engine, and a second one, have workers of their own', async () => {
  const artifacts = await generateArtifacts(RANDOM_MODEL, { ...ONE, ...OPTIONS });
  assert.equal(await started(() => TrainingSession.create(artifacts, { ...ONE, reproducible: true })), 1);
  assert.equal(await started(() => InferenceSession.create(RANDOM_MODEL, ONE)), 0);
  assert.equal(await started(() => TrainingSession.create(artifacts, ONE)), 1);
});

test('what an engine made before changes no bit', async () => {
  const artifacts = await generateArtifacts(RANDOM_MODEL, { ...ONE, ...OPTIONS });
  await (await InferenceSession.create(RANDOM_MODEL, ONE)).release(); // it takes the engine
  const alone = await lossesOf(await TrainingSession.create(artifacts, ONE));
  await assert.rejects(generateArtifacts(slowModel(3), { ...ONE, loss: 'nonesuch' }));
  await generateArtifacts(slowModel(3), { ...ONE, loss: 'mse', optimizer: 'sgd' });
  const session = TrainingSession.create(artifacts, ONE);
  assert.equal(await started(() => session.then(() => undefined)), 0);
  assert.deepEqual(await lossesOf(await session), alone);
});

test('an engine that nobody wants is ended, and one that has died is not handed on', async () => {
  await generateArtifacts(RANDOM_MODEL, { ...ONE, ...OPTIONS });
  const held = setInterval(() => {}, 1000); // an idle engine does not hold Node
  await once(workers.at(-1), 'exit');
  clearInterval(held);
  const artifacts = await generateArtifacts(RANDOM_MODEL, { ...ONE, ...OPTIONS });
  await workers.at(-1).terminate();
  assert.equal(await started(() => TrainingSession.create(artifacts, ONE)), 1);
});
