/** The checkpoints of a fit: when they are saved, and what happens when a save fails. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TrainletError } from '../../../js/base/errors.js';
import { examples, FakeEngine } from '../../support/fake-engine.js';
import { hasCode, train } from '../../support/fake-fit.js';

test('checkpoints are saved every so many steps, after each epoch, at the end and when aborted', async () => {
  const saved = [];
  const store = {
    save: async (name, bytes, meta) => {
      saved.push({ name, ...meta, position: JSON.parse(new TextDecoder().decode(bytes)).position });
    },
  };
  await train({ epochs: 2, checkpoint: { store, name: 'run', everySteps: 2 } });
  assert.deepEqual(
    saved.map(({ step }) => step),
    [2, 3, 5, 6],
  );
  assert.deepEqual(
    saved.map(({ position }) => position.slice(0, 2)),
    [
      [0, 2],
      [1, 0],
      [1, 2],
      [0, 0],
    ],
  );
  saved.length = 0;
  const stop = new AbortController();
  await assert.rejects(
    train({ checkpoint: { store, name: 'run' }, signal: stop.signal, onBatch: () => stop.abort() }),
    hasCode('aborted'),
  );
  assert.deepEqual(
    saved.map(({ step, name }) => [step, name]),
    [[1, 'run']],
  );
  for (const [everyEpochs, steps] of [
    [2, [6, 12, 15]],
    [Infinity, [15]],
  ]) {
    saved.length = 0;
    await train({ epochs: 5, checkpoint: { store, name: 'run', everyEpochs } });
    assert.deepEqual(
      saved.map(({ step }) => step),
      steps,
    );
  }
});

/** A store that fails as often as it is told to. @param {number} failures @param {() => unknown} fail */
function storeThatFails(
  failures,
  fail = () => {
    throw new TrainletError('quota-exceeded', "checkpoint 'run' could not be saved: the storage is full");
  },
) {
  const store = {
    tried: 0,
    saved: [],
    save: async (_, bytes, meta) => {
      if (store.tried++ < failures) await fail();
      store.saved.push({ ...meta, bytes });
    },
  };
  return store;
}

test('a save that fails is told, training goes on, the next one comes after a while, not at each step', async () => {
  const store = storeThatFails(Infinity);
  const events = [];
  const failing = train({
    epochs: 40,
    checkpoint: { store, name: 'run', everySteps: 1 },
    onCheckpoint: (e) => events.push(e),
  });
  await assert.rejects(
    failing,
    (error) =>
      error.code === 'quota-exceeded' &&
      error.cause.code === 'quota-exceeded' &&
      error.history.steps === 120 &&
      error.history.stopped === 'completed' &&
      /'run': the 120 steps since step 0, up to epoch 39, are not saved, only in the session: .*storage is full/.test(
        error.message,
      ),
  );
  assert.deepEqual(
    events.map(({ step, error, retryMs }) => [step, error.code, retryMs]),
    [
      [1, 'quota-exceeded', 1000],
      [120, 'quota-exceeded', undefined],
    ],
  );
});

test('a save that fails once is made up for, and one that fails at the end alone names what is not saved', async () => {
  const batch = { ...examples(3).inputs, ...examples(3).labels };
  async function* slowly() {
    for (let i = 0; i < 3; i++) {
      if (i === 2)
        await new Promise((resolve) => {
          setTimeout(resolve, 1100);
        });
      yield batch;
    }
  }
  const [store, steps] = [storeThatFails(1), []];
  await train(
    {
      batchSize: undefined,
      checkpoint: { store, name: 'run', everySteps: 1 },
      onCheckpoint: ({ step, error }) => steps.push([step, error?.code]),
    },
    slowly(),
  );
  assert.deepEqual(steps, [
    [1, 'quota-exceeded'],
    [2, undefined],
    [3, undefined],
    [3, undefined],
  ]);
  const last = {
    tried: 0,
    save: async () => {
      if (++last.tried >= 3) throw new Error('no disk');
    },
  };
  await assert.rejects(
    train({ checkpoint: { store: last, name: 'run', everySteps: 1 } }),
    (error) =>
      error.code === 'store-failed' &&
      /the 1 steps since step 2.*no disk/.test(error.message) &&
      error.cause.cause.message === 'no disk',
  );
  const end = {
    tried: 0,
    save: async () => {
      if (++end.tried === 4) throw new Error('no disk');
    },
  };
  await assert.rejects(
    train({ checkpoint: { store: end, name: 'run', everySteps: 1 } }),
    /the end of the fit is not saved, only in the session: no disk/,
  );
});

test('aborted and not saved is told as not saved', async () => {
  const stop = new AbortController();
  const options = {
    checkpoint: { store: storeThatFails(9), name: 'run' },
    signal: stop.signal,
    onBatch: () => stop.abort(),
  };
  await assert.rejects(
    train(options),
    (error) =>
      error.code === 'quota-exceeded' &&
      error.history.stopped === 'aborted' &&
      /the 1 steps since step 0/.test(error.message),
  );
});

test('a store that does not answer fails after a minute', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const store = storeThatFails(2, () => new Promise(() => {}));
  const failing = train({ checkpoint: { store, name: 'run', everySteps: 2 } });
  const rejected = assert.rejects(
    failing,
    (error) =>
      error.code === 'store-failed' && /not answered for 60 seconds/.test(error.message) && error.history.steps === 3,
  );
  for (let i = 0; i < 2; i++) {
    while (store.tried === i)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    t.mock.timers.tick(59_000);
    t.mock.timers.tick(2000);
  }
  await rejected;
});

for (const when of ['amid a save', 'before the last one'])
  test(`an aborted fit does not wait a minute for a store that hangs (the signal comes ${when})`, async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const stop = new AbortController();
    const store = storeThatFails(9, () => {
      if (when === 'amid a save') setImmediate(() => stop.abort());
      return new Promise(() => {});
    });
    const onBatch = () => when === 'before the last one' && stop.abort();
    const everySteps = when === 'amid a save' ? 1 : 9;
    let over = false;
    const rejected = assert
      .rejects(
        train({ checkpoint: { store, name: 'run', everySteps }, signal: stop.signal, onBatch }),
        (error) =>
          error.code === 'store-failed' &&
          error.history.stopped === 'aborted' &&
          /the 1 steps since step 0, .*: the store has not answered for 3 seconds/.test(error.message),
      )
      .finally(() => {
        over = true;
      });
    for (let seconds = 0; seconds < 6 && !over; seconds += store.tried) {
      if (store.tried) t.mock.timers.tick(1000);
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    assert.ok(over, 'the fit goes on');
    await rejected;
    assert.equal(store.tried, 1);
  });

test('a checkpoint without a store, a name or an interval is refused before anything is learned', async () => {
  const store = storeThatFails(0);
  for (const [checkpoint, sentence] of [
    [{ name: 'run' }, /store is what CheckpointStore.open gives, not undefined/],
    [{ store: Promise.resolve(store), name: 'run' }, /not a promise: await it/],
    [{ store }, /name must be a string, not undefined/],
    [{ store, name: 'run', everySteps: NaN }, /everySteps must be a number from 0 up, not NaN/],
    [{ store, name: 'run', everyMs: 'soon' }, /everyMs must be/],
  ])
    await assert.rejects(
      train({ checkpoint }),
      (error) => error.code === 'invalid-argument' && error.history === undefined && sentence.test(error.message),
    );
  assert.equal(store.tried, 0);
});

test('what can never be saved ends the fit: a name that the store refuses, parameters not finite', async () => {
  const wrong = {
    save: async () => {
      throw new TrainletError('invalid-argument', 'a name must not be empty');
    },
  };
  await assert.rejects(
    train({ epochs: 9, checkpoint: { store: wrong, name: '' } }),
    (error) => error.code === 'invalid-argument' && error.history.steps === 3,
  );
  const engine = new FakeEngine();
  engine.save = () => {
    throw new TrainletError('non-finite-loss', "parameter 'w' has 1 values that are not finite");
  };
  const store = storeThatFails(0);
  await assert.rejects(
    train({ epochs: 9, checkpoint: { store, name: 'run' } }, examples(10), engine),
    (error) => error.code === 'non-finite-loss' && error.history.steps === 3,
  );
  assert.equal(store.tried, 0);
});
