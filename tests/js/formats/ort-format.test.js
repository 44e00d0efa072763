/**
 * Models in ONNX Runtime's own format: it runs them as it runs the same models in ONNX, the last release that trains
 * and the newest one, and read back they train here to the bit.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { randomFeeds } from '../../../js/cli/bench.js';
import { ortFormatOf } from '../../../js/formats/ort-model.js';
import * as trainlet from '../../../js/index.js';
import { ALONE } from '../../support/engines.js';
import { graphProto, info, modelProto, node, nodeProto, opsetId, weight } from '../../support/onnx-file.js';
import { loadNewestOrt, loadOrtTraining } from '../../support/ort.js';
import { artifactOptions, batchFeeds } from '../../support/recipe.js';
import { assertNear } from '../../support/near.js';

const { generateArtifacts, TrainingSession } = trainlet;
const [trains, newest] = [loadOrtTraining(), loadNewestOrt()];

const golden = new URL('../../golden/data/', import.meta.url);
const recipeOf = (name) => JSON.parse(readFileSync(new URL(`${name}.json`, golden), 'utf8'));
const modelOf = (name) => new Uint8Array(readFileSync(new URL(recipeOf(name).model ?? `${name}.onnx`, golden)));
const near = (a, b, what) => assertNear(a, b, { absolute: 1e-5, relative: 1e-5 }, what);

/** Losses of steps on the recipe's batches, then that of the eval model, by either package. */
async function lossesOf({ TrainingSession, Tensor }, artifacts, recipe) {
  const { checkpointState, trainModel, evalModel, optimizerModel } = artifacts;
  const session = await TrainingSession.create({ checkpointState, trainModel, evalModel, optimizerModel });
  const losses = [];
  const feeds = (step) =>
    Object.fromEntries(
      Object.entries(batchFeeds(recipe, step)).map(([name, { type, data, dims }]) => [
        name,
        new Tensor(type, data, dims),
      ]),
    );
  for (let step = 0; step < 3; step++) {
    losses.push((await session.runTrainStep(feeds(step)))[session.trainingOutputNames[0]].data[0]);
    await session.runOptimizerStep();
    await session.lazyResetGrad();
  }
  losses.push((await session.runEvalStep(feeds(3)))[session.evalOutputNames[0]].data[0]);
  await session.release();
  return losses;
}

/** Both optimizers that the runtime has, with and without a clipped norm. */
const adamw = { type: 'adamw', lr: 0.01, clipGradNorm: 1 },
  sgd = { type: 'sgd', lr: 0.1 };

/** y = HardSwish(x · w), which ONNX Runtime has only as a function in ONNX. */
function swish() {
  const graph = graphProto({
    node: [node('MatMul', ['x', 'w'], 'h'), node('HardSwish', ['h'], 'y')],
    name: 'g',
    initializer: weight('w', [4, 3], 1, 1),
    input: info('x', 1, ['N', 4]),
    output: info('y', 1, ['N', 3]),
  });
  return modelProto({ graph, opsetImport: opsetId(17) });
}
const numbers = (name, size, seed) => ({ name, type: 'float32', dims: [size], low: -3, high: 3, seed });

const runs = Object.entries({
  w1: adamw,
  w2: sgd,
  cnn_bn: adamw,
  regression_mse: adamw,
  conv1d: sgd,
  transformer: adamw,
  causal: adamw,
}).map(([name, optimizer]) => ({ name, optimizer, recipe: recipeOf(name), model: modelOf(name) }));
const recipe = { loss: 'mse', batch: 5, input: numbers('x', 4, 1), label: numbers('target', 3, 2) };

for (const { name, optimizer, recipe: of, model } of [
  ...runs,
  { name: 'HardSwish', optimizer: adamw, recipe, model: swish() },
]) {
  const options = { ...artifactOptions(of), optimizer };

  test(`artifacts of ${name} train in both formats alike, here and in onnxruntime-web 1.19.2`, async () => {
    const onnx = await generateArtifacts(model, options);
    const ort = await generateArtifacts(model, { ...options, ortFormat: true });
    for (const part of ['trainModel', 'evalModel', 'optimizerModel'])
      assert.equal(Buffer.from(ort[part].subarray(4, 8)).toString(), 'ORTM', part);
    assert.deepEqual(ort.checkpointState, onnx.checkpointState);
    const [ours, same] = [await lossesOf(trainlet, ort, of), await lossesOf(trainlet, onnx, of)];
    if (name === 'HardSwish') near(ours, same, name);
    else assert.deepEqual(ours, same);
    near(await lossesOf(trains, ort, of), await lossesOf(trains, onnx, of), name);
  });

  test(`the model exported from ${name} predicts alike in both formats, here and in onnxruntime-web 1.30`, async () => {
    const session = await TrainingSession.create(await generateArtifacts(model, options));
    const [onnx, ort] = [await session.exportModel(), await session.exportModel({ format: 'ort' })];
    await session.release();
    const { type, data, dims } = batchFeeds(of, 0)[of.input.name];
    const run = async ({ InferenceSession, Tensor }, bytes) => {
      const one = await InferenceSession.create(bytes);
      const outputs = await one.run({ [of.input.name]: new Tensor(type, data, dims) });
      return [...outputs[one.outputNames[0]].data];
    };
    if (name === 'HardSwish') near(await run(trainlet, ort), await run(trainlet, onnx), name);
    else assert.deepEqual(await run(trainlet, ort), await run(trainlet, onnx));
    near(await run(newest, ort), await run(newest, onnx), name);
  });
}

test('every golden network, exported as .ort and read back, predicts to the bit', async (t) => {
  const names = readdirSync(golden).filter((name) => name.endsWith('.onnx'));
  for (const name of names) {
    const session = await TrainingSession.create(
      await generateArtifacts(new Uint8Array(readFileSync(new URL(name, golden))), { loss: 'outside', ...ALONE }),
      ALONE,
    );
    const models = [await session.exportModel(), await session.exportModel({ format: 'ort' })];
    await session.release();
    const sessions = await Promise.all(models.map((model) => trainlet.InferenceSession.create(model, ALONE)));
    const [onnx, ort] = sessions;
    const feeds = randomFeeds(onnx.inputs, 4);
    assert.deepEqual(await ort.run(feeds), await onnx.run(feeds), name);
    await Promise.all(sessions.map((one) => one.release()));
  }
  t.diagnostic(`${names.length} networks`);
});

test('what ONNX Runtime has no kernel for is refused by name, and so are formats there are not', async () => {
  const artifacts = (name, more) => generateArtifacts(modelOf(name), { ...artifactOptions(recipeOf(name)), ...more });
  await assert.rejects(artifacts('recurrent', { ortFormat: true }), {
    code: 'unsupported-op',
    message: /an \.ort file is for ONNX Runtime, which has no kernel for com\.trainlet's \w+Grad \('.+'\)/,
  });
  await assert.rejects(artifacts('w1', { ortFormat: true, optimizer: { type: 'rmsprop' } }), {
    code: 'unsupported-op',
    message: /no kernel for com\.trainlet's RMSprop/,
  });
  await assert.rejects(artifacts('w1', { ortFormat: 'yes' }), { code: 'invalid-argument', message: /ortFormat/ });
  const session = await TrainingSession.create({ ...(await artifacts('w1')) });
  after(() => session.release());
  for (const options of [{ format: 'tflite' }, { format: 'ort', trainingInfo: true }])
    await assert.rejects(session.exportModel(options), {
      code: 'invalid-argument',
      message: `exportModel: the format is 'onnx' or, without trainingInfo, 'ort', not '${options.format}'`,
    });
});

test('every value needs a type, which the engine tells where it is asked', () => {
  const relu = (from, to) => nodeProto({ input: from, output: to, name: `to ${to}`, opType: 'Relu' });
  const graph = graphProto({
    node: [relu('x', 'h'), relu('h', 'y')],
    input: info('x', 1, [3]),
    output: info('y', 1, [3]),
  });
  assert.throws(() => ortFormatOf(modelProto({ graph, opsetImport: opsetId(17) })), {
    code: 'unsupported-op',
    message:
      "an .ort file tells the type of every value, and 'h' of 'to h' gets one only when it is run: ONNX can have it",
  });
});
