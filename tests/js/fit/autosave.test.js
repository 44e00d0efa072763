// The saver of a fit: when a checkpoint is due, what is stored, when one that failed is tried again, what is told.

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { TrainletError } from '../../../js/base/errors.js';
import { Autosave, saveWithTimeout } from '../../../js/fit/autosave.js';

const BYTES = new Uint8Array(10);

/** A clock that stands still until it is told otherwise. */
function clockOf(t) {
  const clock = { ms: 5000 };
  t.mock.method(performance, 'now', () => clock.ms);
  return clock;
}

/** A saver whose store keeps what it is given, or fails with the next of `failures`. */
function saverOf(checkpoint = {}, options = {}) {
  const [saved, asked, told, failures] = [[], [], [], []];
  const store = {
    save: async (name, bytes, meta) => {
      const failure = failures.shift();
      if (failure) throw failure;
      return saved.push({ name, bytes, ...meta });
    },
  };
  const ask = async (...args) => {
    asked.push(args);
    return BYTES;
  };
  const position = { text: 'position', between: (work) => work() };
  const onCheckpoint = (event) => told.push(event);
  const wish = checkpoint && { store, name: 'run', ...checkpoint };
  const saver = new Autosave(ask, position, { onCheckpoint, ...options, checkpoint: wish });
  return { saver, saved, asked, told, failures };
}

const full = () => new TrainletError('quota-exceeded', 'the storage is full');
const steps = (saved) => saved.map(({ step }) => step);
const at = (step, epoch = 0) => ({ step, epoch });

test('a save holds the state, where the fit stands, its moment and, once, its end', async () => {
  const { saver, saved, asked, told } = saverOf();
  await saver.save({ step: 3, epoch: 1, more: 9 });
  await saver.save(at(4, 1), true, true);
  await saverOf({ base: false }).saver.save(at(1));
  assert.deepEqual(saved, [
    { name: 'run', bytes: BYTES, epoch: 1, step: 3 },
    { name: 'run', bytes: BYTES, epoch: 1, step: 4, ended: true },
  ]);
  assert.deepEqual(asked[0], ['save', { optimizerState: true, format: 'trainlet', fit: 'position' }]);
  assert.deepEqual(told, [at(3, 1), at(4, 1)]);
  const adapters = saverOf({ base: false });
  await adapters.saver.save(at(1));
  assert.equal(adapters.asked[0][1].format, 'adapters');
});

test('a save above a thousand times the smallest loss of an epoch has diverged', async () => {
  const { saver, saved } = saverOf({ everyEpochs: 2 });
  await saver.save({ step: 1, epoch: 0, loss: 9e9 }); // there is no epoch before it
  for (const [epoch, loss] of [0.5, 0.25, 250, 250.2, 0.25].entries())
    await saver.saveEpoch({ step: 2 + epoch, epoch, loss });
  await saver.save({ step: 7, epoch: 5, loss: 251 });
  await saver.save({ step: 8, epoch: 5, loss: 250 });
  await saver.save({ step: 9, epoch: 5, loss: NaN });
  assert.deepEqual(
    saved.map(({ step, diverged = false }) => [step, diverged]),
    [
      [1, false],
      [3, false],
      [5, true],
      [7, true],
      [8, false],
      [9, true],
    ],
  );
  assert.equal(saver.least, 0.25);
});

test('nothing has diverged where no loss is known, or the smallest is none to multiply', async () => {
  for (const [least, loss] of [
    [1e-4, undefined],
    [0, 5],
    [-1, 5],
  ]) {
    const { saver, saved } = saverOf();
    saver.least = least;
    await saver.saveEpoch({ ...at(1), loss });
    assert.ok(!('diverged' in saved[0]), `${loss} after ${least}`);
    assert.equal(saver.least, least);
  }
});

test('one is due after so many steps, or so long a time, since the last', async (t) => {
  const clock = clockOf(t);
  const { saver, saved } = saverOf({ everySteps: 3, everyMs: 100 });
  saver.begin(10, () => at(99));
  for (const step of [10, 11, 12, 13, 15, 16]) await saver.saveIfDue(at(step));
  assert.deepEqual(steps(saved), [13, 16]);
  clock.ms += 99;
  await saver.saveIfDue(at(17));
  clock.ms += 1;
  await saver.saveIfDue(at(16));
  await saver.saveIfDue(at(17));
  await saver.saveIfDue(at(18));
  assert.deepEqual(steps(saved), [13, 16, 17], 'where nothing is new there is nothing to save');
  const never = saverOf();
  clock.ms += 1e9;
  await never.saver.saveIfDue(at(1e9));
  assert.deepEqual(never.saved, [], 'without an interval none is due');
  const without = saverOf(null);
  await without.saver.saveIfDue(at(1));
  await without.saver.saveEpoch(at(1));
  await without.saver.saveNew(at(1));
  await without.saver.saveLast(at(1), true);
  assert.deepEqual([without.asked, without.told], [[], []]);
});

test('an epoch is saved, or every so many; what is new once', async () => {
  const { saver, saved } = saverOf();
  for (const epoch of [0, 1]) await saver.saveEpoch(at(1, epoch));
  const third = saverOf({ everyEpochs: 3 });
  for (const epoch of [0, 1, 2, 3, 4, 5]) await third.saver.saveEpoch(at(1, epoch));
  assert.deepEqual(
    [saved, third.saved].map((all) => all.map(({ epoch }) => epoch)),
    [
      [0, 1],
      [2, 5],
    ],
  );
  await saver.saveNew(at(1, 2));
  await saver.saveNew(at(2, 2));
  await saver.saveNew(at(2, 2));
  assert.deepEqual(steps(saved), [1, 1, 2]);
});

test('after a save of an earlier step the later one stays the last', async () => {
  const { saver, saved } = saverOf();
  await saver.save(at(9));
  await saver.save(at(4));
  await saver.saveNew(at(9));
  assert.deepEqual(steps(saved), [9, 4]);
});

test('the first save is timed from the beginning', async (t) => {
  const clock = clockOf(t);
  const { saver, saved } = saverOf({ everyMs: 50 });
  clock.ms += 49;
  await saver.saveIfDue(at(1));
  assert.deepEqual(saved, []);
  clock.ms += 1;
  await saver.saveIfDue(at(1));
  assert.deepEqual(steps(saved), [1]);
});

test('one that failed is tried again after a second, two, four, a minute at most; time is counted', async (t) => {
  const clock = clockOf(t);
  const { saver, saved, told, failures, asked } = saverOf({ everySteps: 1000 });
  failures.push(...Array.from({ length: 8 }, full));
  await saver.save(at(100));
  for (const [waits, step] of [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000].map((ms, i) => [ms, 101 + i])) {
    assert.equal(told.at(-1).retryMs, waits);
    assert.equal(told.at(-1).error.code, 'quota-exceeded');
    clock.ms += waits - 1;
    const count = told.length;
    await saver.saveIfDue(at(step));
    assert.equal(told.length, count, 'not before its time');
    clock.ms += 1;
    await saver.saveIfDue(at(step));
  }
  assert.deepEqual(steps(saved), [108]);
  assert.deepEqual(told.at(-1), at(108));
  await saver.saveIfDue(at(109));
  assert.equal(asked.length, 9, 'all is well again');
  failures.push(full());
  await saver.saveIfDue(at(1108));
  assert.equal(told.at(-1).retryMs, 1000, 'a later failure begins with a second');
  assert.equal(saver.ms, 0);
});

test('the time that saves take is added up', async (t) => {
  const clock = clockOf(t);
  const slow = {
    save: async () => {
      clock.ms += 7;
    },
  };
  const { saver } = saverOf({ store: slow });
  await saver.save(at(1));
  await saver.save(at(2));
  assert.equal(saver.ms, 14);
  const timed = saverOf({ store: slow, everyMs: 10 });
  await timed.saver.save(at(1));
  clock.ms += 9;
  await timed.saver.saveIfDue(at(2));
  assert.deepEqual(timed.told, [at(1)], 'the interval is counted from the end of the save');
});

test('what is no matter of storage ends the fit at once', async () => {
  const { saver, failures } = saverOf();
  failures.push(new TrainletError('invalid-argument', 'no such name'));
  await assert.rejects(saver.save(at(1)), { code: 'invalid-argument' });
  const strange = saverOf();
  strange.failures.push(new RangeError('odd'));
  await strange.saver.save(at(1));
  assert.equal(strange.told[0].error.code, 'store-failed');
  assert.match(strange.told[0].error.message, /odd/);
  assert.ok(strange.told[0].error.cause instanceof RangeError);
  const broken = new Autosave(
    async () => assert.fail('of the engine'),
    { text: '' },
    { checkpoint: { store: {}, name: 'a' } },
  );
  await assert.rejects(broken.save(at(1)), { name: 'AssertionError' });
  for (const code of ['store-failed', 'out-of-memory']) {
    const later = saverOf();
    later.failures.push(new TrainletError(code, 'later'));
    await later.saver.save(at(1));
    assert.equal(later.told[0].error.code, code);
  }
});

test('the last save waits for no time to pass, and what it could not save is an error', async (t) => {
  clockOf(t);
  const { saver, saved, told, failures } = saverOf();
  failures.push(full(), full());
  await saver.save(at(5, 1));
  await assert.rejects(saver.saveLast(at(7, 2), false), {
    code: 'quota-exceeded',
    message:
      "checkpoint 'run': the 7 steps since step 0, up to epoch 2, are not saved, only in the session: " +
      'the storage is full',
  });
  assert.deepEqual([told.length, told[1].retryMs, 'retryMs' in told[1]], [2, undefined, true]);
  await saver.saveLast(at(7, 2), true);
  assert.deepEqual(saved, [{ name: 'run', bytes: BYTES, epoch: 2, step: 7, ended: true }]);
  failures.push(full());
  const sentence = "checkpoint 'run': the end of the fit is not saved, only in the session: the storage is full";
  await assert.rejects(saver.saveLast(at(7, 2), true), ({ message, cause }) => {
    assert.deepEqual([message, cause], [sentence, told.at(-1).error]);
    return true;
  });
});

test('what failed when the signal had come is not tried again', async () => {
  const stop = new AbortController();
  const { saver, told, failures } = saverOf({}, { signal: stop.signal });
  failures.push(full());
  await saver.save(at(1));
  stop.abort();
  await saver.saveLast(at(1), false);
  assert.equal(told.length, 2, 'it failed before the signal');
  failures.push(full());
  await saver.save(at(2), true);
  await assert.rejects(saver.saveLast(at(2), false), { code: 'quota-exceeded' });
  assert.equal(told.length, 3);
  await saver.save(at(3), true);
  await saver.saveLast(at(3), true);
  assert.equal(told.length, 5, 'after one that did not fail the end is saved, too');
});

test('an end that is the first save is saved', async () => {
  const { saver, saved } = saverOf();
  await saver.saveLast(at(2), true);
  assert.deepEqual(saved[0].ended, true);
});

test('a listener is waited for', async () => {
  let heard = 0;
  const onCheckpoint = async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    heard++;
  };
  const { saver } = saverOf({}, { onCheckpoint });
  await saver.save(at(1));
  assert.equal(heard, 1);
  await saverOf({}, { onCheckpoint: undefined }).saver.save(at(1));
});

/** A page as far as its being hidden or left is heard. */
function pageOf(t) {
  const page = new EventTarget();
  globalThis.document = Object.assign(new EventTarget(), { visibilityState: 'hidden' });
  t.mock.method(globalThis, 'addEventListener', (...args) => page.addEventListener(...args));
  t.mock.method(globalThis, 'removeEventListener', (...args) => page.removeEventListener(...args));
  t.after(() => delete globalThis.document);
  return () => page.dispatchEvent(new Event('pagehide'));
}

test('a page that is left saves what is new, once at a time, and the end waits for it', async (t) => {
  globalThis.addEventListener ??= () => {};
  globalThis.removeEventListener ??= () => {};
  const leave = pageOf(t);
  const { saver, saved, failures } = saverOf();
  saver.begin(2, () => at(2));
  leave();
  await saver.saveNew(at(2));
  assert.deepEqual(saved, [], 'all was there');
  saver.end();
  let step = 3;
  saver.begin(2, () => at(step));
  leave();
  leave();
  await saver.saveNew(at(3));
  assert.deepEqual(steps(saved), [3]);
  step = 4;
  failures.push(new TrainletError('invalid-argument', 'a failure that nobody waits for'));
  leave();
  await saver.saveNew(at(3));
  leave();
  await saver.saveNew(at(3));
  assert.deepEqual(steps(saved), [3, 4]);
  saver.end();
  step = 5;
  leave();
  await saver.saveNew(at(4));
  assert.deepEqual(steps(saved), [3, 4]);
  const none = saverOf(null).saver;
  none.begin(0, () => assert.fail('nobody saves'));
  leave();
  none.end();
});

/** When a store that never answers is given up, in seconds. */
async function patienceOf(bytes, signal) {
  const clock = { ms: 0 };
  mock.method(performance, 'now', () => clock.ms);
  mock.timers.enable({ apis: ['setInterval'] });
  let error;
  const saving = saveWithTimeout({ save: () => new Promise(() => {}) }, 'run', bytes, {}, signal).catch((one) => {
    error = one;
  });
  for (; !error && clock.ms < 200_000; clock.ms += 0) {
    clock.ms += 1000;
    mock.timers.tick(1000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await saving;
  mock.timers.reset();
  mock.restoreAll();
  return [clock.ms / 1000, error];
}

test('a store is given a minute, 3 seconds once the signal has come, and one more a megabyte', async () => {
  const [seconds, error] = await patienceOf(BYTES);
  assert.deepEqual(
    [seconds, error.code, error.message],
    [60, 'store-failed', 'the store has not answered for 60 seconds'],
  );
  assert.equal((await patienceOf({ length: 5e6 }))[0], 65);
  assert.equal((await patienceOf(BYTES, AbortSignal.abort()))[0], 3);
  assert.equal((await patienceOf(BYTES, new AbortController().signal))[0], 60);
  assert.equal(
    await saveWithTimeout({ save: async (...args) => args }, 'a', BYTES, { b: 1 }).then(String),
    `a,${BYTES},[object Object]`,
  );
  const own = new TrainletError('quota-exceeded', 'full');
  await assert.rejects(
    saveWithTimeout({ save: async () => Promise.reject(own) }, 'a', BYTES, {}),
    (one) => one === own,
  );
});
