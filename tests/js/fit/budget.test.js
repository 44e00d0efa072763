// Manners of a fit: it ends in time with the best so far, waits while the page is hidden or the battery low, and saves
// what it has learned when the page is left. The page is one of ours here: a document that is hidden and shown.

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { generateArtifacts, TrainingSession } from '../../../js/index.js';
import { clusters, golden } from '../../support/clusters.js';
import { HERE } from '../../support/engines.js';

const artifacts = await generateArtifacts(golden('mlp_small.onnx'), {
  ...HERE,
  loss: 'cross-entropy',
  additionalOutputs: ['logits'],
});
const sessionOf = (checkpointState = artifacts.checkpointState) =>
  TrainingSession.create({ ...artifacts, checkpointState }, HERE);
const sleep = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
const DATA = clusters(40, 1);
const BATCHES = { batchSize: 8, seed: 3 };
const weightsOf = async (session) => (await session.getContiguousParameters(false)).data;

/** A document, or what else has events and some fields. */
const target = (fields) => Object.assign(new EventTarget(), fields);
const own = Object.fromEntries(
  ['document', 'navigator', 'addEventListener', 'removeEventListener'].map((name) => [
    name,
    Object.getOwnPropertyDescriptor(globalThis, name),
  ]),
);
const put = (name, value) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
afterEach(() => {
  for (const [name, was] of Object.entries(own))
    if (was) Object.defineProperty(globalThis, name, was);
    else delete globalThis[name];
});

/** A page that is seen; `show` and `hide` it. */
function openPage() {
  const page = target({ visibilityState: 'visible' });
  const turn = (state) => () => {
    page.visibilityState = state;
    page.dispatchEvent(new Event('visibilitychange'));
  };
  put('document', page);
  const own = new EventTarget();
  for (const name of ['addEventListener', 'removeEventListener']) put(name, own[name].bind(own));
  return { hide: turn('hidden'), show: turn('visible'), leave: () => own.dispatchEvent(new Event('pagehide')) };
}

test('maxMs ends a fit in time, with the best epoch so far', async () => {
  const session = await sessionOf();
  const best = { loss: Infinity, weights: [] };
  const since = performance.now();
  const history = await session.fit(DATA, {
    ...BATCHES,
    epochs: 1e6,
    schedule: { type: 'constant', lr: 0.3 },
    validation: 0.2,
    earlyStopping: { patience: 1e6, restoreBest: true },
    budget: { maxMs: 1000 },
    onBatch: () => sleep(5),
    onEpoch: async ({ metrics }) => {
      if (metrics.val_loss >= best.loss) return;
      Object.assign(best, { loss: metrics.val_loss, weights: await weightsOf(session) });
    },
  });
  const ms = performance.now() - since;
  assert.deepEqual([history.stopped, history.pausedMs], ['max-ms', 0]);
  assert.ok(ms >= 1000 && ms < 10_000, `${ms} ms`);
  assert.ok(history.epochs.length > 0);
  assert.deepEqual(await weightsOf(session), best.weights);
  assert.equal((await session.fit(DATA, BATCHES)).epochs[0].epoch, 0, 'no place to go on at is left');
});

test('a group of batches is trained to its end, and features that take too long are left off', async () => {
  const session = await sessionOf();
  await session.setTrainable(['fc3.*']);
  const slow = { ...BATCHES, budget: { maxMs: 50 }, epochs: 9 };
  const { steps, features } = await session.fit(DATA, { ...slow, onFeatures: () => sleep(60) });
  assert.deepEqual([steps, features], [0, undefined]);
  let batches = 0;
  const history = await session.fit(DATA, {
    ...slow,
    accumulate: 2,
    cacheFeatures: false,
    onBatch: () => {
      batches++;
      return sleep(60);
    },
  });
  assert.deepEqual([history.steps, batches, history.stopped], [1, 2, 'max-ms']);
});

test('a fit waits while the page is hidden, saved first, and goes on to the bit', async () => {
  const page = openPage();
  const saved = [];
  const told = [];
  const listening = {
    checkpoint: { store: { save: async (_, bytes, { step }) => saved.push({ step, bytes }) }, name: 'run' },
    budget: { pauseWhenHidden: true },
    onBatch: ({ step }) => {
      told.push(step);
      if (step === 7) page.hide();
    },
    onPause: ({ step, reason }) => {
      told.push(`paused by ${reason} at ${step}`);
      setTimeout(page.show, 100);
    },
    onResume: ({ step, ms }) => told.push(ms >= 90 && `resumed at ${step}`),
  };
  const [session, plain] = [await sessionOf(), await sessionOf()];
  const history = await session.fit(DATA, { ...BATCHES, epochs: 2, ...listening });
  await plain.fit(DATA, { ...BATCHES, epochs: 2 });
  assert.deepEqual(told, [1, 2, 3, 4, 5, 6, 7, 'paused by hidden at 7', 'resumed at 7', 8, 9, 10]);
  assert.ok(history.pausedMs >= 90);
  assert.deepEqual(await weightsOf(session), await weightsOf(plain));
  assert.deepEqual(
    saved.map(({ step }) => step),
    [5, 7, 10],
  );
  const resumed = await sessionOf(saved[1].bytes);
  await resumed.fit(DATA, { ...BATCHES, epochs: 2 });
  assert.deepEqual(await weightsOf(resumed), await weightsOf(plain));
});

test('a signal ends the waiting at once, and time spent waiting does not count', async () => {
  const page = openPage();
  page.hide();
  const stop = new AbortController();
  const session = await sessionOf();
  const begun = performance.now();
  const fit = session.fit(DATA, {
    budget: { pauseWhenHidden: true, maxMs: 60_000 },
    signal: stop.signal,
    onPause: () => void setTimeout(() => stop.abort(), 20),
  });
  await assert.rejects(fit, { code: 'aborted' });
  assert.ok(performance.now() - begun < 2000);
  const waited = await session.fit(DATA, {
    ...BATCHES,
    epochs: 4,
    budget: { pauseWhenHidden: true, maxMs: 400 },
    onPause: () => void setTimeout(page.show, 500),
  });
  assert.deepEqual([waited.stopped, waited.epochs.length], ['completed', 4]);
});

test('a low battery that nothing charges makes a fit wait', async () => {
  const battery = target({ level: 0.2, charging: true });
  put('navigator', { getBattery: async () => battery });
  const session = await sessionOf();
  const told = [];
  await session.fit(DATA, {
    ...BATCHES,
    budget: { saveBattery: true },
    onBatch: ({ step }) => {
      if (step === 2) battery.charging = false;
      if (step === 4) battery.level = 0.21;
    },
    onPause: ({ step, reason }) => {
      told.push([step, reason]);
      setTimeout(() => {
        battery.level = 0.3;
        battery.dispatchEvent(new Event('levelchange'));
      }, 20);
    },
  });
  assert.deepEqual(told, [[2, 'battery']]);
});

test('without a page, a battery or leave to know it, the budget has no effect', async () => {
  const session = await sessionOf();
  const budget = { pauseWhenHidden: true, saveBattery: true };
  assert.equal((await session.fit(DATA, { ...BATCHES, budget })).steps, 5);
  put('navigator', { getBattery: () => Promise.reject(new Error('forbidden')) });
  assert.equal((await session.fit(DATA, { ...BATCHES, budget })).steps, 5);
});

test('what is learned when the page is hidden or left is saved at that step', async () => {
  const page = openPage();
  const saved = [];
  const session = await sessionOf();
  const save = async (_, bytes, { step }) => {
    saved.push(step);
    return bytes.length;
  };
  const options = { ...BATCHES, epochs: 2, checkpoint: { store: { save }, name: 'run' } };
  await session.fit(DATA, {
    ...options,
    onBatch: ({ step }) => {
      if (step === 2) page.hide();
      if (step === 4) page.leave();
      if (step === 7) page.show();
    },
  });
  assert.deepEqual(saved, [2, 4, 5, 10]);
  page.hide();
  assert.deepEqual(saved, [2, 4, 5, 10], 'it is over');
  let losses = 0;
  await session.fit(DATA, {
    ...options,
    accumulate: 3,
    onBatch: () => {
      if (++losses === 1) page.leave();
    },
  });
  assert.deepEqual(saved.slice(4), [1, 2, 4], 'at the end of the group of batches');
});

test('what no budget is, is refused', async () => {
  const session = await sessionOf();
  const bad = [
    [{ maxMs: 0 }, /budget: maxMs must be a whole number of at least 1, not 0/],
    [{ maxMinutes: 1 }, /budget/],
    [{ pauseWhenHidden: 'yes' }, /pauseWhenHidden is true or false, not yes/],
    ['low', /budget: wanted an object/],
  ];
  for (const [budget, message] of bad)
    await assert.rejects(session.fit(DATA, { budget }), { code: 'invalid-argument', message });
});
