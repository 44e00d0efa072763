// Several adapters over one base: one learns while another answers, sums, checkpoints of adapters alone.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sumOfRank } from '../../../js/adapters/sum.js';
import { compactArtifacts, generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { batchOf, configOf, folderOf, prefixOf, sessionOf } from '../../support/lora-runs.js';
import { HERE, root } from '../../support/engines.js';

const mlp = readFileSync(join(root, 'tests/golden/data/mlp_small.onnx'));
const artifactsOf = (lora, more) =>
  generateArtifacts(mlp, { ...HERE, loss: 'cross-entropy', optimizer: { type: 'adamw', lr: 0.01 }, lora, ...more });
const open = (artifacts, options) => TrainingSession.create(artifacts, { ...HERE, ...options });
const fresh = async (lora = { r: 2 }, more = {}) => open(await artifactsOf(lora, more));
const x = new Tensor(
  'float32',
  Float32Array.from({ length: 6 * 20 }, (_, i) => Math.sin(i)),
  [6, 20],
);
const labelsOf = (shift) =>
  new Tensor(
    'int64',
    BigInt64Array.from({ length: 6 }, (_, i) => BigInt((i + shift) % 3)),
    [6],
  );
const mine = { input: x, labels: labelsOf(0) };
const theirs = { input: x, labels: labelsOf(1) };
const answer = async (session, options) => {
  const [first] = Object.values(await session.predict({ input: x }, options));
  return [...first.data];
};
const steps = async (session, feeds, count = 4) => {
  const losses = [];
  for (let i = 0; i < count; i++) losses.push((await session.step(feeds)).loss);
  return losses;
};
const far = (a, b) => Math.max(...a.map((one, i) => Math.abs(one - b[i])));

test('there is one at first; another begins as the first did, and has moments of its own', async () => {
  const session = await fresh();
  assert.deepEqual(session.adapters, { names: ['default'], active: 'default' });
  const alone = await answer(session);
  const losses = await steps(session, mine);
  await session.addAdapter('work');
  assert.deepEqual(session.adapters, { names: ['default', 'work'], active: 'default' });
  assert.deepEqual(await answer(session, { adapter: 'work' }), alone);
  await session.useAdapter('work');
  assert.equal(session.adapters.active, 'work');
  assert.deepEqual(await steps(session, mine), losses, 'with moments and steps from zero');
  await session.deleteAdapter('default');
  assert.deepEqual(session.adapters, { names: ['work'], active: 'work' });
});

for (const more of [{}, { r: 2, dropout: 0.2, modulesToSave: ['fc3'] }])
  test(`one that trains while others answer has the bits of one alone: ${JSON.stringify(more)}`, async () => {
    const apart = await fresh(more);
    const wanted = [await steps(apart, mine, 8), await answer(apart)];
    const session = await fresh(more);
    await session.addAdapter('work');
    const losses = [];
    for (let i = 0; i < 8; i++) {
      losses.push(...(await steps(session, mine, 1)));
      const base = await answer(session, { adapter: null });
      assert.deepEqual(await answer(session, { adapter: 'work' }), base);
      assert.notDeepEqual(await answer(session), base);
      await session.evaluate({ inputs: { input: x }, labels: { labels: labelsOf(2) } }, { adapter: 'work' });
    }
    assert.deepEqual([losses, await answer(session)], wanted);
  });

test('a sum for a call leaves what trains as it is', async () => {
  const apart = await fresh();
  const wanted = [await steps(apart, mine, 6), await answer(apart)];
  const session = await fresh();
  await session.addAdapter('work');
  await session.useAdapter('work');
  await steps(session, theirs);
  await session.useAdapter('default');
  const losses = [];
  const data = { inputs: { input: x }, labels: { labels: labelsOf(2) } };
  const adapter = { default: 0.7, work: 0.3 };
  for (let i = 0; i < 6; i++) {
    losses.push(...(await steps(session, mine, 1)));
    const [sum, { loss }] = [await answer(session, { adapter }), await session.evaluate(data, { adapter })];
    await session.useAdapter(adapter);
    assert.deepEqual([await answer(session), (await session.evaluate(data)).loss], [sum, loss]);
    const base = await answer(session, { adapter: null });
    assert.deepEqual(await answer(session, { adapter: { default: 0, work: 0 } }), base, 'beside a sum in use');
    assert.deepEqual(await answer(session), sum);
    await session.useAdapter('default');
  }
  assert.deepEqual([losses, await answer(session)], wanted);
  for (const [adapter, message] of [
    [{ nobody: 1 }, /there is no adapter 'nobody'/],
    [{ work: '1' }, /adapter: the weight of 'work' is a number/],
    [{}, /adapter: a sum is of at least one adapter/],
  ])
    await assert.rejects(answer(session, { adapter }), { code: 'invalid-argument', message });
});

test('two that take turns end as each alone', async () => {
  const alone = async (feeds) => {
    const session = await fresh();
    return [await steps(session, feeds, 6), await answer(session)];
  };
  const session = await fresh();
  await session.addAdapter('work');
  const losses = { default: [], work: [] };
  for (let i = 0; i < 6; i++)
    for (const [name, feeds] of [
      ['default', mine],
      ['work', theirs],
    ]) {
      await session.useAdapter(name);
      losses[name].push(...(await steps(session, feeds, 1)));
    }
  assert.deepEqual([losses.default, await answer(session, { adapter: 'default' })], await alone(mine));
  assert.deepEqual([losses.work, await answer(session)], await alone(theirs));
});

test('in a worker it is the same', async () => {
  const session = await open(await artifactsOf({ r: 2 }), { worker: true });
  const here = await fresh();
  for (const one of [session, here]) {
    await steps(one, mine);
    await one.addAdapter('work', await one.exportAdapter());
    await steps(one, theirs);
  }
  for (const adapter of ['work', null])
    assert.deepEqual(await answer(session, { adapter }), await answer(here, { adapter }));
  await session.release();
});

test('the base alone has what trained whole as it was at first, and neither it nor a sum trains', async () => {
  const session = await fresh({ modulesToSave: ['fc3'] });
  const before = await answer(session);
  await steps(session, mine);
  const after = await answer(session);
  await session.useAdapter(null);
  assert.deepEqual(await answer(session), before);
  const refused = { code: 'invalid-argument', message: /no adapter is in use that could train/ };
  await assert.rejects(session.step(mine), refused);
  await assert.rejects(session.fit({ inputs: { input: x }, labels: { labels: labelsOf(0) } }), refused);
  await session.useAdapter({ default: 1 });
  assert.ok(far(await answer(session), after) < 1e-6);
  await assert.rejects(session.step(mine), refused);
  assert.deepEqual(await answer(session, { adapter: null }), before);
  assert.ok(far(await answer(session), after) < 1e-6, 'the sum is back after another was lent');
  await session.useAdapter('default');
  assert.deepEqual(await answer(session), after);
});

test('a sum is w₁ s B₁ A₁ + w₂ s B₂ A₂: exact where the rank has room, else the nearest', async () => {
  const session = await fresh({ r: 4 });
  await steps(session, mine, 12);
  await session.addAdapter('work');
  await session.useAdapter('work');
  await steps(session, theirs, 12);
  const deltaOf = async (module) => {
    const [a, b] = await Promise.all(['A', 'B'].map((m) => session.getParameter(`${module}.lora_${m}.weight`)));
    const [r, ins] = a.dims;
    return Array.from({ length: b.dims[0] * ins }, (_, i) => {
      let sum = 0;
      for (let k = 0; k < r; k++) sum += b.data[Math.floor(i / ins) * r + k] * a.data[k * ins + (i % ins)];
      return sum;
    });
  };
  const modules = ['fc1', 'fc2'];
  const deltas = {};
  for (const name of session.adapters.names) {
    await session.useAdapter(name);
    deltas[name] = await Promise.all(modules.map(deltaOf));
  }
  await session.useAdapter({ default: 0.7, work: -0.4 });
  assert.deepEqual(session.adapters.active, { default: 0.7, work: -0.4 });
  for (const [i, module] of modules.entries()) {
    const wanted = deltas.default[i].map((one, k) => 0.7 * one - 0.4 * deltas.work[i][k]);
    const size = Math.hypot(...wanted);
    const left = Math.hypot(...(await deltaOf(module)).map((one, k) => one - wanted[k]));
    assert.ok(left < 0.5 * size, `${module}: ${left} of ${size}`);
  }
  const random = (seed) => (_, i) => Math.sin(seed * 12.9898 + i * 78.233) * 2;
  const pair = (seed, a = seed) => ({
    a: Float32Array.from({ length: 3 * 7 }, random(a)),
    b: Float32Array.from({ length: 5 * 3 }, random(seed + 0.5)),
  });
  const same = [pair(1), pair(2, 1)];
  const { a, b } = sumOfRank(same, [0.7, 0.3], 3);
  const product = (one, o, i) => [0, 1, 2].reduce((sum, k) => sum + one.b[o * 3 + k] * one.a[k * 7 + i], 0);
  for (let o = 0; o < 5; o++)
    for (let i = 0; i < 7; i++) {
      const wanted = 0.7 * product(same[0], o, i) + 0.3 * product(same[1], o, i);
      assert.ok(Math.abs(product({ a, b }, o, i) - wanted) < 1e-5, `${product({ a, b }, o, i)}, not ${wanted}`);
    }
});

const sums = JSON.parse(readFileSync(join(root, 'tests/golden/data/lora_sums.json'), 'utf8'));
for (const [name, { weights, logits }] of Object.entries(sums))
  test(`${name}: a sum of two of PEFT's adapters answers as PEFT's of combination_type svd`, async () => {
    const [first, last] = [folderOf(name, 'first'), folderOf(name, 'last')];
    const session = await sessionOf(name, configOf(first));
    await session.loadAdapter(first);
    await session.addAdapter('last', last);
    const { inputs } = batchOf(name);
    const sum = { default: weights[0], last: weights[1] };
    const once = (await session.predict(inputs, ['logits'], { adapter: sum })).logits;
    await session.useAdapter(sum);
    const given = (await session.predict(inputs, ['logits'])).logits;
    assert.deepEqual(once, given, 'the same for one call');
    const answers = [...given.data.slice(0, logits.length)];
    assert.ok(far(answers, logits) < 2e-5, `${far(answers, logits)} from PEFT`);
    const files = await session.exportAdapter({ prefix: prefixOf(name) });
    await session.useAdapter('default');
    await session.loadAdapter(files);
    assert.ok(
      far([...(await session.predict(inputs, ['logits'])).logits.data.slice(0, logits.length)], answers) < 1e-6,
    );
  });

test('a checkpoint of adapters alone goes on to the bit, has nothing of the base, and wants its own', async () => {
  const artifacts = await artifactsOf({ r: 2, modulesToSave: ['fc3'] });
  const session = await open(artifacts);
  const base = await answer(session);
  await steps(session, mine);
  await session.addAdapter('work');
  await session.useAdapter('work');
  await steps(session, theirs);
  for (const active of ['work', 'default', null, { work: 0.5, default: 0.25 }]) {
    await session.useAdapter(active);
    const [alone, whole] = [await session.saveCheckpoint({ base: false }), await session.saveCheckpoint()];
    assert.ok(alone.length < whole.length - 20 * 32 * 4, `${alone.length} of ${whole.length} bytes`);
    for (const parts of [
      { ...artifacts, adapterState: alone },
      { ...artifacts, checkpointState: whole },
    ]) {
      const again = await open(parts);
      assert.deepEqual(again.adapters.names, ['default', 'work']);
      assert.deepEqual(again.adapters.active, typeof active === 'string' ? active : null);
      assert.deepEqual(await answer(again), await answer(session));
      assert.deepEqual(await answer(again, { adapter: null }), base, 'the base is as it was before all training');
      for (const name of ['default', 'work'])
        assert.deepEqual(await answer(again, { adapter: name }), await answer(session, { adapter: name }));
    }
  }
  await session.useAdapter('default');
  const again = await open({ ...artifacts, adapterState: await session.saveCheckpoint({ base: false }) });
  for (const name of ['default', 'work']) {
    for (const one of [session, again]) await one.useAdapter(name);
    assert.deepEqual(await steps(again, mine), await steps(session, mine));
  }
});

test('one adapter alone is saved as before, and its checkpoint without the base goes on to the bit', async () => {
  const artifacts = await artifactsOf({ r: 2, dropout: 0.3 });
  const session = await open(artifacts);
  await session.setSeed(5);
  await steps(session, mine);
  assert.equal((await session.saveCheckpoint())[6], 1, 'version 1 of the format, which older versions read');
  const again = await open({ ...artifacts, adapterState: await session.saveCheckpoint({ base: false }) });
  assert.deepEqual(await steps(again, mine), await steps(session, mine));
  const compact = await compactArtifacts(artifacts, HERE);
  const small = await open({ compact, adapterState: await session.saveCheckpoint({ base: false }) });
  assert.deepEqual(await steps(small, mine), await steps(session, mine));
});

test('a fit that was cut short goes on with its adapter alone', async () => {
  const artifacts = await artifactsOf({ r: 2 });
  const [data, options] = [
    { inputs: { input: x }, labels: { labels: labelsOf(0) } },
    { epochs: 4, batchSize: 2 },
  ];
  const whole = await open(artifacts);
  await whole.fit(data, options);
  const session = await open(artifacts);
  const saved = [];
  const store = { save: async (_, bytes) => saved.push(bytes) };
  const stop = new AbortController();
  const onBatch = ({ step }) => step === 5 && stop.abort();
  const checkpoint = { store, name: 'fit', base: false };
  await assert.rejects(session.fit(data, { ...options, checkpoint, onBatch, signal: stop.signal }), {
    code: 'aborted',
  });
  const again = await open({ ...artifacts, adapterState: saved.at(-1) });
  await again.fit(data, options);
  assert.deepEqual(await answer(again), await answer(whole));
});

test('what is asked for and cannot be is one sentence, and nothing has changed', async () => {
  const artifacts = await artifactsOf({ r: 2 });
  const session = await open(artifacts);
  await steps(session, mine);
  await session.addAdapter('work');
  const before = await answer(session);
  const code = 'invalid-argument';
  const wrong = [
    [() => session.addAdapter('work'), /there is an adapter 'work' already/],
    [() => session.addAdapter(''), /wanted the name of an adapter, not ''/],
    [() => session.addAdapter('a'.repeat(1025)), /has 1025 bytes, at most 1024/],
    [() => session.useAdapter('home'), /there is no adapter 'home'; there are 'default', 'work'/],
    [() => session.useAdapter(), /wanted the name of an adapter, not undefined/],
    [() => session.useAdapter({}), /a sum is of at least one adapter/],
    [() => session.useAdapter({ work: '1' }), /the weight of 'work' is a number, not '1'/],
    [() => session.useAdapter({ home: 1 }), /there is no adapter 'home'/],
    [() => session.deleteAdapter('default'), /the adapter 'default' is in use/],
    [() => session.deleteAdapter('home'), /there is no adapter 'home'/],
    [() => answer(session, { adapter: 'home' }), /there is no adapter 'home'/],
    [() => answer(session, { adapter: 1 }), /there is no adapter '1'/],
    [
      () => session.evaluate({ inputs: { input: x }, labels: { labels: labelsOf(0) } }, { adapter: 'work', ema: true }),
      /ema/,
    ],
    [() => session.saveCheckpoint({ base: false, format: 'ort' }), /'ort' with version 1 or 2 and the base/],
    [
      () => session.addAdapter('new', { 'adapter_model.safetensors': new Uint8Array(3) }),
      /too few/,
      'source-unreadable',
    ],
  ];
  for (const [act, message, expected = code] of wrong) await assert.rejects(act(), { code: expected, message });
  assert.deepEqual(session.adapters, { names: ['default', 'work'], active: 'default' });
  assert.deepEqual(await answer(session), before);
  const plain = await open(await artifactsOf(undefined));
  assert.deepEqual(plain.adapters, { names: [], active: null });
  const none = { code, message: /make its artifacts with the option lora/ };
  for (const act of [
    () => plain.addAdapter('work'),
    () => plain.useAdapter('work'),
    () => plain.useAdapter({ work: 1 }),
    () => plain.saveCheckpoint({ base: false }),
    () => answer(plain, { adapter: 'work' }),
  ])
    await assert.rejects(act(), none);
});

test('a checkpoint of adapters is refused over another base, and in the place of a whole one', async () => {
  const artifacts = await artifactsOf({ r: 2 });
  const session = await open(artifacts);
  await steps(session, mine);
  const adapterState = await session.saveCheckpoint({ base: false });
  const code = 'checkpoint-mismatch';
  await assert.rejects(open({ ...artifacts, checkpointState: adapterState }), {
    code,
    message: /give it as adapterState/,
  });
  await assert.rejects(open({ ...artifacts, adapterState: await session.saveCheckpoint() }), {
    code,
    message: /give it as checkpointState/,
  });
  const { name, dims, data } = { name: 'fc1.weight', ...(await session.getParameter('fc1.weight')) };
  await session.setParameter(
    name,
    new Tensor(
      'float32',
      data.map((one, i) => one + (i === 3 ? 1e-3 : 0)),
      dims,
    ),
  );
  const other = await session.saveCheckpoint({ base: false });
  await assert.rejects(open({ ...artifacts, adapterState: other }), {
    code,
    message: /saved over another base: its parameters have the hash [0-9a-f]{8}, those of the checkpointState here/,
  });
  await assert.rejects(open({ ...(await artifactsOf({ r: 3 })), adapterState }), {
    code,
    message: /another shape of 'fc1/,
  });
  await assert.rejects(open({ ...(await artifactsOf({ r: 2, modulesToSave: ['fc3'] })), adapterState }), {
    code,
    message: /does not have 'fc3/,
  });
  await assert.rejects(open({ trainModel: artifacts.trainModel, adapterState }), {
    message: /checkpointState is needed/,
  });
  await assert.rejects(compactArtifacts({ ...artifacts, adapterState }, HERE), {
    message: /holds one adapter and its base/,
  });
});
