// Runs in the page: the same artifacts trained by this package and by onnxruntime-web 1.19.2, step by step, and
// parameters exchanged.

import { artifactOptions, batchFeeds } from '/support/recipe.js';
import * as trainlet from '/js/index.js';
import * as ort from '/ort/ort.training.wasm.min.mjs';
import { batchNormModel } from './batch-norm-model.js';

ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmPaths = '/ort/';

const STEPS = 20;
const CONTINUED = 10;

/** ONNX Runtime takes arrays for its own; each engine gets its own. */
const copyOf = (artifacts) =>
  Object.fromEntries(
    ['checkpointState', 'trainModel', 'evalModel', 'optimizerModel'].map((key) => [key, artifacts[key].slice()]),
  );

/**
 * Reproducible: fused multiply-adds round otherwise, and where AdamW divides two tiny numbers that decides the sign of
 * a step.
 */
async function openBoth(artifacts, checkpointState = artifacts.checkpointState) {
  const parts = { ...artifacts, checkpointState };
  return [
    await trainlet.TrainingSession.create(copyOf(parts), { reproducible: true }),
    await ort.TrainingSession.create(copyOf(parts)),
  ];
}

/** The losses of both, a pair a step. ONNX Runtime binds feeds by the order of the keys. */
async function train(sessions, recipe, from, count) {
  const pairs = [];
  for (let i = from; i < from + count; i++) {
    const batch = batchFeeds(recipe, i);
    const pair = [];
    for (const session of sessions) {
      const feeds = session.trainingInputNames.map((name) => [
        name,
        new ort.Tensor(batch[name].type, batch[name].data, batch[name].dims),
      ]);
      const results = await session.runTrainStep(Object.fromEntries(feeds));
      pair.push(results[session.trainingOutputNames[0]].data[0]);
      await session.runOptimizerStep();
      await session.lazyResetGrad();
    }
    pairs.push(pair);
  }
  return pairs;
}

const release = (sessions) => Promise.all(sessions.map((session) => session.release()));

/** Parameters of `from` as one buffer. */
async function bufferOf(from) {
  const { data } = await from.getContiguousParameters(false);
  return new Uint8Array(data.slice().buffer);
}

async function continueFrom(buffer, artifacts, recipe) {
  const sessions = await openBoth(artifacts);
  for (const session of sessions) await session.loadParametersBuffer(buffer, false);
  const pairs = await train(sessions, recipe, STEPS, CONTINUED);
  await release(sessions);
  return pairs;
}

/** Pairs of losses, ours first: of 20 steps, and of 10 more after each way of handing over what was learned. */
export async function roundTrip(recipe, changes = {}) {
  const model =
    recipe.model === 'batch-norm' ? batchNormModel() : await (await fetch(`/golden/${recipe.model}`)).arrayBuffer();
  const artifacts = await trainlet.generateArtifacts(model, { ...artifactOptions(recipe), ...changes });
  const sessions = await openBoth(artifacts);
  const [ours, theirs] = sessions;
  const trained = await train(sessions, recipe, 0, STEPS);
  const buffers = [await bufferOf(ours), await bufferOf(theirs)];
  const checkpoint = await ours.saveCheckpoint({ format: 'ort' });
  await release(sessions);
  const resumed = await openBoth(artifacts, checkpoint);
  const byCheckpoint = await train(resumed, recipe, STEPS, CONTINUED);
  await release(resumed);
  return {
    trained,
    byCheckpoint,
    oursByBuffer: await continueFrom(buffers[0], artifacts, recipe),
    theirsByBuffer: await continueFrom(buffers[1], artifacts, recipe),
    warnings: artifacts.warnings,
  };
}

/** Milliseconds of the first TrainingSession.create in a page, the engine's wasm fetched and compiled in it. */
export async function timeCreate(engine) {
  const folder = '/golden/ort/mnist_web/';
  const bytes = async (name) => new Uint8Array(await (await fetch(folder + name)).arrayBuffer());
  const artifacts = {
    trainModel: await bytes('training_model.onnx'),
    evalModel: await bytes('eval_model.onnx'),
    optimizerModel: await bytes('optimizer_model.onnx'),
    checkpointState: await bytes('checkpoint'),
  };
  if (engine === 'ort') artifacts.checkpointState = version2(artifacts.checkpointState);
  const { TrainingSession } = { ort, trainlet }[engine];
  const since = performance.now();
  const session = await TrainingSession.create(artifacts);
  const ms = performance.now() - since;
  await session.release();
  return ms;
}

/** Milliseconds of each of a session's first steps. */
export async function timeSteps(engine, recipe, count) {
  const model = await (await fetch(`/golden/${recipe.model}`)).arrayBuffer();
  const artifacts = copyOf(await trainlet.generateArtifacts(model, artifactOptions(recipe)));
  const session = await { ort, trainlet }[engine].TrainingSession.create(artifacts);
  const batches = Array.from({ length: count }, (_, i) => batchFeeds(recipe, i));
  const times = [];
  for (const batch of batches) {
    const feeds = Object.fromEntries(
      session.trainingInputNames.map((name) => [
        name,
        new ort.Tensor(batch[name].type, batch[name].data, batch[name].dims),
      ]),
    );
    const since = performance.now();
    if (engine === 'trainlet') await session.step(feeds);
    else await stepOrt(session, feeds);
    times.push(performance.now() - since);
  }
  await session.release();
  return times;
}

async function stepOrt(session, feeds) {
  await session.runTrainStep(feeds);
  await session.runOptimizerStep();
  await session.lazyResetGrad();
}

/**
 * The recorded checkpoint is of version 1, which 1.19.2 refuses; version 2 has the same bytes. A FlatBuffer's first
 * field is found by its vtable.
 */
function version2(checkpoint) {
  const view = new DataView(checkpoint.buffer);
  const root = view.getUint32(0, true);
  view.setInt32(root + view.getUint16(root - view.getInt32(root, true) + 4, true), 2, true);
  return checkpoint;
}
