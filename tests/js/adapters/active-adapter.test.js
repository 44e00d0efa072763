// The adapter that answers and trains: names, sums, and what a change of it leaves as it was.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lending } from '../../../js/adapters/adapter.js';
import { generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { INTERNALS } from '../../../js/session/open.js';
import { clusters, golden } from '../../support/clusters.js';
import { HERE } from '../../support/engines.js';

const artifacts = await generateArtifacts(golden('mlp_small.onnx'), {
  ...HERE,
  loss: 'cross-entropy',
  optimizer: { type: 'sgd', lr: 0.5 },
  lora: { r: 2, modulesToSave: ['fc3'] },
});
const data = clusters(16, 3);
const feeds = { ...data.inputs, ...data.labels };
const open = () => TrainingSession.create(artifacts, HERE);
const valuesOf = async (session) => (await session.getContiguousParameters(false)).data.slice();
const answer = async (session, options) => [...Object.values(await session.predict(data.inputs, options))[0].data];
const bias = async (session, numbers) =>
  await session.setParameter('fc3.bias', new Tensor('float32', Float32Array.from(numbers), [5]));

/** Three adapters that answer differently; the first is in use. */
async function three() {
  const session = await open();
  for (const [name, numbers] of [
    ['work', [2, 0, 0, 0, 0]],
    ['home', [0, 4, 0, 0, 0]],
  ]) {
    await session.addAdapter(name);
    await session.useAdapter(name);
    await bias(session, numbers);
  }
  await session.useAdapter('default');
  return session;
}

test('a name is a text with letters, and no zero in it', async () => {
  const session = await open();
  for (const [name, said] of [
    ['', "''"],
    ['a\0b', "'a\0b'"],
    [7, '7'],
    [undefined, 'undefined'],
    [['a'], 'an array'],
  ])
    for (const method of ['addAdapter', 'deleteAdapter', 'useAdapter'])
      if (method !== 'useAdapter' || !Array.isArray(name))
        await assert.rejects(session[method](name), {
          code: 'invalid-argument',
          message: `${method}: wanted the name of an adapter, not ${said}`,
        });
  for (const method of ['addAdapter', 'deleteAdapter'])
    await assert.rejects(session[method](null), { message: /not null$/ });
  assert.deepEqual(session.adapters, { names: ['default'], active: 'default' });
});

test('one answers for a call, and the one in use is back after it', async () => {
  const session = await three();
  const before = await answer(session);
  const [work, home, base, sum] = [
    await answer(session, { adapter: 'work' }),
    await answer(session, { adapter: 'home' }),
    await answer(session, { adapter: null }),
    await answer(session, { adapter: { work: 1, home: 1 } }),
  ];
  assert.deepEqual(base, before, 'the first has learned nothing');
  assert.deepEqual(await answer(session), before);
  for (const [name, wanted] of [
    ['work', work],
    ['home', home],
    [null, base],
    [{ work: 1, home: 1 }, sum],
  ]) {
    await session.useAdapter(name);
    assert.deepEqual(await answer(session), wanted);
    assert.deepEqual(session.adapters, { names: ['default', 'work', 'home'], active: name });
  }
  const { evalModel, ...others } = artifacts;
  const trains = await TrainingSession.create(others, HERE);
  for (const adapter of ['default', { default: 1 }])
    await assert.rejects(answer(trains, { adapter }), { code: 'invalid-argument', message: /evalModel/ });
  for (const adapter of ['none', 7])
    await assert.rejects(answer(session, { adapter }), { message: /^there is no adapter '(none|7)'/ });
});

test('a sum moves what trains whole by as much as each has moved it', async () => {
  const session = await three();
  const { data: first } = await session.getParameter('fc3.bias');
  await session.useAdapter({ work: 0.5, home: 0.25 });
  const wanted = [...first].map((x, i) => x + 0.5 * ([2, 0, 0, 0, 0][i] - x) + 0.25 * ([0, 4, 0, 0, 0][i] - x));
  const { data: sum } = await session.getParameter('fc3.bias');
  assert.ok(
    sum.every((x, i) => Math.abs(x - wanted[i]) < 1e-6),
    `${sum}, not ${wanted}`,
  );
  for (const [weights, message] of [
    [{}, 'useAdapter: a sum is of at least one adapter, { name: weight }'],
    [{ work: 0.5, home: '1' }, "useAdapter: the weight of 'home' is a number, not '1'"],
    [{ work: NaN }, "useAdapter: the weight of 'work' is a number, not NaN"],
  ])
    await assert.rejects(session.useAdapter(weights), { code: 'invalid-argument', message });
});

test('what a caller holds changes no session', async () => {
  const session = await three();
  const weights = { work: 1 };
  await session.useAdapter(weights);
  weights.work = 9;
  const { adapters } = session;
  assert.deepEqual(adapters.active, { work: 1 });
  for (const part of [adapters, adapters.names, adapters.active]) assert.ok(Object.isFrozen(part));
  await session.deleteAdapter('home');
  assert.deepEqual(session.adapters, { names: ['default', 'work'], active: { work: 1 } });
  await assert.rejects(answer(session, { adapter: 'home' }), { message: /there is no adapter 'home'/ });
});

test('files given with a name are that adapter’s alone', async () => {
  const session = await three();
  const before = await valuesOf(session);
  await session.useAdapter('work');
  const [files, work] = [await session.exportAdapter(), await valuesOf(session)];
  await session.useAdapter('default');
  await session.addAdapter('copy', files);
  assert.deepEqual(await valuesOf(session), before);
  await session.useAdapter('copy');
  assert.deepEqual(await valuesOf(session), work);
});

test('another adapter gets no gradient, and no place in a fit, of the one before', async () => {
  const [session, other] = [await three(), await three()];
  await session.runTrainStep(feeds);
  for (const one of [session, other]) {
    await one.useAdapter('work');
    await one.step(feeds);
  }
  assert.deepEqual(await valuesOf(session), await valuesOf(other), 'gradients are dropped');
  const fit = { epochs: 2, batchSize: 4, shuffle: false };
  await session.useAdapter('default');
  assert.equal((await session.fit(data, { ...fit, maxSteps: 3 })).steps, 3);
  await session.useAdapter('home');
  assert.equal((await session.fit(data, fit)).steps, 8, 'from the beginning');
});

test('no adapter is changed while a fit runs', async () => {
  const session = await three();
  let refused;
  const onBatch = async () => {
    refused ??= await session.useAdapter('work').catch((error) => error);
  };
  await session.fit(data, { epochs: 1, batchSize: 8, onBatch });
  assert.equal(refused.message, 'useAdapter: a fit of this session is running already');
  assert.equal(session.adapters.active, 'default');
});

test('a sum is computed once for all batches of a call', async () => {
  const session = await three();
  const inside = session[INTERNALS];
  let read = 0;
  const ask = (what, ...given) => {
    read += Number(what === 'getParameter');
    return inside.ask(what, ...given);
  };
  const lent = lending(session, { ...inside, ask }, { work: 1, home: 1 });
  const [one, again] = [await lent('tell', ['lend_adapter', 0]).catch(String), read];
  await lent('tell', ['lend_adapter', 0]).catch(String);
  assert.deepEqual([read, typeof one], [again, typeof one]);
  assert.ok(again > 0);
});
