// The golden networks trained through the package and the wasm file: PyTorch's losses to 1e-5, the native engine's to
// the bit.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import test from 'node:test';
import { generateArtifacts, InferenceSession, TrainingSession } from '../../../js/index.js';
import { mlp } from '../../bench/models/networks.js';
import { artifactOptions, batchFeeds, batchUnit } from '../../support/recipe.js';

const golden = new URL('../../golden/data/', import.meta.url);
const readJson = (name) => JSON.parse(readFileSync(new URL(name, golden), 'utf8'));
const literals = readJson('engine-losses.json');
const runs = readdirSync(golden)
  .filter((name) => name.endsWith('.json') && readJson(name).torch)
  .map((name) => name.slice(0, -5));

async function open(name, engine) {
  const recipe = readJson(`${name}.json`);
  const model = readFileSync(new URL(recipe.model, golden));
  const artifacts = await generateArtifacts(model, { ...artifactOptions(recipe), ...engine });
  return { recipe, session: await TrainingSession.create(artifacts, engine) };
}

/** One micro-step as the recipe says; its loss. */
async function step({ recipe, session }, index) {
  const feeds = batchFeeds(recipe, index);
  if (!recipe.accumulate) return (await session.step(feeds)).loss;
  const outputs = await session.runTrainStep(feeds);
  if ((index + 1) % recipe.accumulate === 0) {
    await session.runOptimizerStep();
    await session.lazyResetGrad();
  }
  return outputs[session.trainingOutputNames[0]].data[0];
}

async function parametersOf(session) {
  const values = {};
  for (const { name } of session.parameters) values[name] = (await session.getParameter(name)).data.slice();
  return values;
}

/** Σ (p − p0) · u(i) of each parameter, as in make_w.py. */
function assertChanges(recipe, before, after) {
  for (const [name, [want, size]] of Object.entries(recipe.torch.changes64)) {
    let change = 0;
    after[name].forEach((value, i) => {
      change += (value - before[name][i]) * (2 * batchUnit(7, i) - 1);
    });
    assert.ok(Math.abs(change - want) <= 1e-4 * size, `${name} changed by ${change}, in PyTorch by ${want} of ${size}`);
  }
}

test('every literal belongs to a run, every run has its literals', () => {
  assert.deepEqual(Object.keys(literals).sort(), runs.sort());
});

/** Half a square up to delta, linear beyond. */
const huberOf = (difference, delta) =>
  Math.abs(difference) <= delta ? difference ** 2 / 2 : delta * (Math.abs(difference) - delta / 2);

test('Huber takes its delta, and a sum', async () => {
  const recipe = readJson('regression_huber.json');
  const loss = { type: 'huber', delta: 0.375, reduction: 'sum' };
  const run = { model: readFileSync(new URL(recipe.model, golden)), feeds: batchFeeds(recipe, 0) };
  const artifacts = await generateArtifacts(run.model, { loss, additionalOutputs: ['logits'], worker: false });
  const session = await TrainingSession.create(artifacts, { worker: false });
  const { loss: got, logits } = await session.runEvalStep(run.feeds);
  const differences = Array.from(logits.data, (score, i) => score - run.feeds.target.data[i]);
  assert.ok(differences.some((d) => Math.abs(d) < 0.375) && differences.some((d) => Math.abs(d) > 0.375));
  const want = differences.reduce((sum, d) => sum + huberOf(d, 0.375), 0);
  assert.ok(Math.abs(got.data[0] - want) <= 1e-6 * want, `${got.data[0]}, by the formula ${want}`);
  await session.release();
});

for (const name of runs) {
  test(`${name} trains as in PyTorch, with the native engine's bits`, async () => {
    const run = await open(name, { worker: name === 'mlp_momentum', reproducible: true });
    const before = await parametersOf(run.session);
    const losses = [];
    for (let i = 0; i < run.recipe.steps; i++) losses.push(await step(run, i));
    run.recipe.torch.losses64.forEach((want, i) => {
      assert.ok(Math.abs(losses[i] - want) <= 1e-5 * Math.abs(want), `loss ${i} is ${losses[i]}, PyTorch's ${want}`);
    });
    assert.deepEqual(losses.map(Math.fround), literals[name].map(Math.fround));
    assertChanges(run.recipe, before, await parametersOf(run.session));
    const evaluated = await run.session.runEvalStep(batchFeeds(run.recipe, 0));
    const evalLoss = evaluated[run.session.evalOutputNames[0]].data[0];
    const want = run.recipe.torch.evalLoss64;
    assert.ok(
      Math.abs(evalLoss - want) <= 1e-5 * Math.abs(want),
      `the loss in eval mode is ${evalLoss}, PyTorch's ${want}`,
    );
    await run.session.release();
  });
}

/** The memories of the wasm modules that are made while `action` runs. */
async function memoriesMadeBy(action) {
  const { instantiate } = WebAssembly;
  const memories = [];
  WebAssembly.instantiate = async (module, imports) => {
    const made = await instantiate(module, imports);
    memories.push(imports.env.memory ?? made.exports.memory);
    return made;
  };
  try {
    return { result: await action(), memories };
  } finally {
    WebAssembly.instantiate = instantiate;
  }
}

for (const threads of [1, 2])
  test(`memory is flat from step 2 to step 2,000, threads: ${threads}`, async () => {
    const { result: run, memories } = await memoriesMadeBy(() => open('mlp_momentum', { worker: false, threads }));
    const bytes = () => memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0);
    assert.ok(memories.length > 0, 'no wasm memory was seen');
    const batches = Array.from({ length: 8 }, (_, i) => batchFeeds(run.recipe, i));
    for (let i = 0; i < 2; i++) await run.session.step(batches[i]);
    const after2 = bytes();
    for (let i = 2; i < 2000; i++) await run.session.step(batches[i % batches.length]);
    assert.equal(bytes(), after2);
    const { peakBytes } = await run.session.getMemoryPlan();
    assert.ok(peakBytes > 0 && peakBytes < after2, `the plan's peak is ${peakBytes} of ${after2} bytes`);
    await run.session.release();
  });

test('a loaded large model has its weights once, and a training session holds no more than its state', async () => {
  const model = mlp(1, [2200, 2200, 10]).onnx();
  const times = async (/** @type {() => Promise<any>} */ action) => {
    const { result, memories } = await memoriesMadeBy(action);
    return { result, times: Math.max(...memories.map(({ buffer }) => buffer.byteLength)) / model.length };
  };
  const options = { worker: false, threads: 1 };
  const inference = await times(() => InferenceSession.create(model, options));
  assert.ok(inference.times < 1.3, `the engine holds ${inference.times} times the model`);
  const artifacts = await times(() =>
    generateArtifacts(model, { loss: 'cross-entropy', optimizer: { type: 'sgd' }, ...options }),
  );
  assert.ok(artifacts.times < 2.3, `the engine holds ${artifacts.times} times the model to make artifacts`);
  const training = await times(() => TrainingSession.create(artifacts.result, options));
  const { stateBytes } = await training.result.getMemoryPlan();
  assert.ok(
    training.times < 0.3 + stateBytes / model.length,
    `the engine holds ${training.times} times the model, of which ${stateBytes} bytes are state`,
  );
  await Promise.all([inference.result.release(), training.result.release()]);
});
