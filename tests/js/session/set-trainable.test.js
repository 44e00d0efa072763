// setTrainable, getGradient and parameters with running statistics through the package, held to PyTorch.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { generateArtifacts, TrainingSession } from '../../../js/index.js';
import { artifactOptions, batchFeeds, batchUnit } from '../../support/recipe.js';

const golden = new URL('../../golden/data/', import.meta.url);
const read = (name) => JSON.parse(readFileSync(new URL(name, golden), 'utf8'));

async function make(recipe, options) {
  const model = readFileSync(new URL(recipe.model, golden));
  return await generateArtifacts(model, { ...artifactOptions(recipe), ...options });
}

async function create(t, artifacts) {
  const session = await TrainingSession.create(artifacts);
  t.after(() => session.release());
  return session;
}

const open = async (t, recipe, options) => await create(t, await make(recipe, options));

async function valuesOf(session) {
  const values = {};
  for (const { name } of session.parameters) values[name] = (await session.getParameter(name)).data.slice();
  return values;
}

const trainable = (session) => session.parameters.filter((one) => one.trainable).map(({ name }) => name);

const matches = (glob, name) => (glob.endsWith('*') ? name.startsWith(glob.slice(0, -1)) : glob === name);

for (const name of ['transformer', 'cnn_bn'])
  test(`${name}: artifacts of the first phase alone train the others later as PyTorch does`, async (t) => {
    const recipe = read(`trainable/${name}.json`);
    const session = await open(t, recipe, { requiresGrad: recipe.phases[0].trainable });
    const before = await valuesOf(session);
    const wanted = recipe.torch.losses64;
    let step = 0;
    for (const { trainable: globs, steps } of recipe.phases) {
      await session.setTrainable(globs);
      const now = trainable(session);
      assert.ok(now.length && now.every((one) => globs.some((glob) => matches(glob, one))), `${now}`);
      for (let i = 0; i < steps; i++, step++) {
        const { loss } = await session.step(batchFeeds(recipe, step));
        assert.ok(Math.abs(loss - wanted[step]) <= 1e-4 * wanted[step], `loss ${step}: ${loss}, ${wanted[step]}`);
      }
    }
    const after = await valuesOf(session);
    for (const [key, [want, size]] of Object.entries(recipe.torch.changes64)) {
      let change = 0;
      after[key].forEach((value, i) => {
        change += (value - before[key][i]) * (2 * batchUnit(7, i) - 1);
      });
      assert.ok(
        Math.abs(change - want) <= 1e-4 * size,
        `${key} changed by ${change}, in PyTorch by ${want} of ${size}`,
      );
    }
  });

test('a checkpoint says what trains, and goes on with it to the bit', async (t) => {
  const recipe = read('trainable/cnn_bn.json');
  const artifacts = await make(recipe);
  const session = await create(t, artifacts);
  await session.step(batchFeeds(recipe, 0));
  await session.setTrainable(['fc.*', 'bn2.*']);
  await session.step(batchFeeds(recipe, 1));
  const checkpointState = await session.saveCheckpoint();
  const resumed = await create(t, { ...artifacts, checkpointState });
  assert.deepEqual(resumed.parameters, session.parameters);
  for (const one of [session, resumed]) await one.setTrainable(['*']);
  for (let step = 2; step < 5; step++)
    assert.equal(
      (await session.step(batchFeeds(recipe, step))).loss,
      (await resumed.step(batchFeeds(recipe, step))).loss,
    );
  const ort = await session.saveCheckpoint({ format: 'ort' });
  const foreign = await create(t, { ...artifacts, checkpointState: ort });
  assert.deepEqual(trainable(foreign), trainable(session));
});

for (const optimizer of [
  { type: 'sgd', lr: 0.1, momentum: 0.9, weightDecay: 0.01, clipGradNorm: 0.1 },
  { type: 'adamw', lr: 0.01, weightDecay: 0.1, clipGradNorm: 0.1 },
])
  test(`${optimizer.type}: what is frozen counts for no norm, and neither decay nor momentum moves it`, async (t) => {
    const recipe = read('mlp_momentum.json');
    const head = await open(t, recipe, { optimizer, requiresGrad: ['fc3.*'] });
    const session = await open(t, recipe, { optimizer });
    await session.setTrainable(['fc3.*']);
    for (let step = 0; step < 5; step++)
      assert.equal(
        (await session.step(batchFeeds(recipe, step))).loss,
        (await head.step(batchFeeds(recipe, step))).loss,
      );
    await session.setTrainable(['*']);
    for (let step = 0; step < 3; step++) await session.step(batchFeeds(recipe, step));
    await session.setTrainable(['fc1.weight', 'fc2.bias', 'fc3.weight']);
    const before = await valuesOf(session);
    for (let step = 0; step < 3; step++) await session.step(batchFeeds(recipe, step));
    const after = await valuesOf(session);
    const moved = Object.keys(after).filter((name) => after[name].some((value, i) => value !== before[name][i]));
    assert.deepEqual(moved.sort(), trainable(session).sort());
  });

test("the artifacts' own choice is their graph, so it is resumed to the bit", async (t) => {
  const recipe = read('trainable/cnn_bn.json');
  const artifacts = await make(recipe, { requiresGrad: ['fc.*'], batchNorm: 'update' });
  const [session, plain] = [await create(t, artifacts), await create(t, artifacts)];
  const mean = (await session.getParameter('bn1.running_mean')).data;
  await session.setTrainable(['fc.*']);
  for (const one of [session, plain]) await one.step(batchFeeds(recipe, 0));
  const resumed = await create(t, { ...artifacts, checkpointState: await session.saveCheckpoint() });
  for (let step = 1; step < 4; step++)
    for (const one of [session, plain, resumed]) await one.step(batchFeeds(recipe, step));
  const values = await valuesOf(plain);
  assert.notDeepEqual(values['bn1.running_mean'], mean);
  assert.deepEqual(await valuesOf(session), values);
  assert.deepEqual(await valuesOf(resumed), values);
});

test('bad choices are refused in a sentence', async (t) => {
  const session = await open(t, read('trainable/cnn_bn.json'));
  for (const [patterns, sentence] of [
    ['fc.*', /wanted an array of names or patterns/],
    [[], /wanted an array of names or patterns/],
    [[''], /wanted an array of names or patterns/],
    [['head.*'], /'head\.\*' matches no float32 parameter of the training model/],
    [['bn1.running_var'], /'bn1\.running_var' matches no float32 parameter/],
  ])
    await assert.rejects(session.setTrainable(patterns), { code: 'invalid-argument', message: sentence });
  const feeds = batchFeeds(read('trainable/cnn_bn.json'), 0);
  let refused;
  await session.fit([feeds, feeds], {
    onBatch: () => {
      refused ??= assert.rejects(session.setTrainable(['fc.*']), /a fit of this session is running/);
    },
  });
  await refused;
});

test('what the loss does not depend on stays frozen, by its own name it is refused', async (t) => {
  const model = readFileSync(new URL('mlp_small.onnx', golden));
  const last = 'fc3.weight'; // behind the loss
  const session = await create(t, await generateArtifacts(model, { loss: 'mse', lossInputs: ['/fc2/Gemm_output_0'] }));
  await session.setTrainable(['fc1.weight']);
  await session.setTrainable(['*']);
  assert.ok(!trainable(session).includes(last) && trainable(session).length > 1);
  await assert.rejects(session.setTrainable(['*', last]), {
    code: 'invalid-argument',
    message: `setTrainable: the loss does not depend on '${last}'`,
  });
});

test('parameters are frozen objects that tell what trains now', async (t) => {
  const session = await open(t, read('trainable/cnn_bn.json'));
  const before = session.parameters;
  assert.throws(() => before.push(before[0]), TypeError);
  assert.throws(() => {
    before[0].trainable = false;
  }, TypeError);
  assert.throws(() => before[0].dims.push(1), TypeError);
  await session.setTrainable(['fc.weight']);
  assert.deepEqual(trainable(session), ['fc.weight']);
  assert.ok(before.filter((one) => one.trainable).length > 1, 'the list from before is what it was');
});

test('getGradient gives what was added up since the reset', async (t) => {
  const recipe = read('trainable/cnn_bn.json');
  const session = await open(t, recipe);
  const feeds = batchFeeds(recipe, 0);
  await session.setTrainable(['fc.*']);
  assert.ok((await session.getGradient('fc.weight')).data.every((x) => x === 0));
  await session.runTrainStep(feeds);
  const once = await session.getGradient('fc.weight');
  assert.deepEqual(once.dims, [4, 14]);
  await session.runTrainStep(feeds);
  assert.deepEqual(
    (await session.getGradient('fc.weight')).data,
    once.data.map((x) => 2 * x),
  );
  // central differences along one weight
  const weight = (await session.getParameter('fc.weight')).data;
  const lossAt = async (shift) => {
    const data = weight.slice();
    data[3] += shift;
    await session.setParameter('fc.weight', { type: 'float32', data, dims: [4, 14] });
    return (await session.runTrainStep(feeds)).loss.data[0];
  };
  const slope = ((await lossAt(0.02)) - (await lossAt(-0.02))) / 0.04;
  assert.ok(Math.abs(slope - once.data[3]) <= 1e-3 * Math.max(...once.data.map(Math.abs)), `${slope}, ${once.data[3]}`);
  await session.lazyResetGrad();
  assert.ok((await session.getGradient('fc.weight')).data.every((x) => x === 0));
  await assert.rejects(session.getGradient('conv1.weight'), {
    code: 'invalid-argument',
    message: "parameter 'conv1.weight' does not train: it has no gradient",
  });
});

test("'with-statistics' are the trainable parameters and the running statistics", async (t) => {
  const recipe = read('trainable/cnn_bn.json');
  const session = await open(t, recipe);
  const other = await open(t, recipe);
  const statistics = session.parameters.filter(({ name }) => name.includes('running'));
  const count = statistics.reduce((sum, { dims }) => sum + dims[0], 0);
  assert.equal(await session.getParametersSize('with-statistics'), (await session.getParametersSize()) + count);
  for (let step = 0; step < 3; step++) await session.step(batchFeeds(recipe, step));
  const all = await session.getContiguousParameters('with-statistics');
  await other.loadParametersBuffer(new Uint8Array(all.data.buffer), 'with-statistics');
  const feeds = batchFeeds(recipe, 9);
  assert.deepEqual((await other.runEvalStep(feeds)).loss.data, (await session.runEvalStep(feeds)).loss.data);
  await assert.rejects(session.getContiguousParameters('all'), {
    code: 'invalid-argument',
    message: "getContiguousParameters: wanted true (what trains), false (all) or 'with-statistics', not 'all'",
  });
});
