// Artifacts of earlier versions of Trainlet are still read: their own operators were in two domains, ai.trainlet and
// com.trainlet; today all are in com.trainlet.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { artifactOptions, batchFeeds } from '../../support/recipe.js';
import { ALONE } from '../../support/engines.js';

const read = (name) => readFileSync(new URL(`../../golden/data/${name}`, import.meta.url));
const recipeOf = (run) => JSON.parse(read(`${run}.json`));
const losses = JSON.parse(read('engine-losses.json'));
const artifactsOf = (recipe) => generateArtifacts(read(recipe.model), { ...artifactOptions(recipe), ...ALONE });
const isIn = (bytes, domain) => Buffer.from(bytes).includes(domain);

/** The losses of steps `from` to 10. */
async function train(artifacts, recipe, from) {
  const session = await TrainingSession.create(artifacts, ALONE);
  const found = [];
  for (let i = from; i < 10; i++) found.push((await session.step(batchFeeds(recipe, i))).loss);
  await session.release();
  return found;
}

test('an optimizer model of ai.trainlet trains to the same bits as one of com.trainlet', async () => {
  const recipe = recipeOf('mlp_nesterov');
  const artifacts = await artifactsOf(recipe);
  const optimizerModel = read('ai_trainlet/optimizer.onnx');
  assert.ok(isIn(optimizerModel, 'ai.trainlet') && !isIn(optimizerModel, 'com.trainlet'));
  assert.ok(isIn(artifacts.optimizerModel, 'com.trainlet') && !isIn(artifacts.optimizerModel, 'ai.trainlet'));
  const old = await train({ ...artifacts, optimizerModel }, recipe, 0);
  assert.deepEqual(old, await train(artifacts, recipe, 0));
  assert.deepEqual(old.map(Math.fround), losses.mlp_nesterov.map(Math.fround));
});

test('a training_info with the function ai.trainlet.PyTorchAdam goes on to the same bits', async () => {
  const recipe = recipeOf('regression_mse');
  const old = read('ai_trainlet/training_info.onnx'); // five steps, with the last bits of that version
  const session = await TrainingSession.create(await generateArtifacts(old, ALONE), ALONE);
  const now = await session.exportModel({ trainingInfo: true });
  await session.release();
  assert.ok(isIn(old, 'ai.trainlet') && !isIn(old, 'com.trainlet'));
  assert.ok(isIn(now, 'com.trainlet') && !isIn(now, 'ai.trainlet'));
  const goneOn = await train(await generateArtifacts(old, ALONE), recipe, 5);
  assert.deepEqual(goneOn, await train(await generateArtifacts(now, ALONE), recipe, 5));
  goneOn.forEach((loss, i) => {
    assert.ok(Math.abs(loss - losses.regression_mse[5 + i]) < 1e-7, `loss ${5 + i}`);
  });
});

test('a model with ai.trainlet infers as it did', async () => {
  const run = async (model) => {
    const session = await InferenceSession.create(model, ALONE);
    const input = new Tensor(
      'float32',
      Float32Array.from({ length: 9 }, (_, i) => i / 9),
      [1, 9],
    );
    const outputs = await session.run({ [session.inputNames[0]]: input });
    await session.release();
    return [...outputs[session.outputNames[0]].data];
  };
  const old = read('ai_trainlet/training_info.onnx');
  const renamed = await TrainingSession.create(await generateArtifacts(old, ALONE), ALONE);
  assert.deepEqual(await run(old), await run(await renamed.exportModel({ trainingInfo: true })));
  await renamed.release();
});
