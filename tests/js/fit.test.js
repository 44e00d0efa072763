/** The training loop against an engine of one number: order, schedules, stopping, NaN, checkpoints and exact resume. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TrainletError } from '../../js/base/errors.js';
import { permutation } from '../../js/data/dataset.js';
import { evaluate } from '../../js/fit/evaluate.js';
import { fit } from '../../js/fit/fit.js';
import { countRight } from '../../js/fit/metrics.js';
import { openSchedule } from '../../js/fit/schedule.js';
import { examples, FakeEngine, INFO, sessionOf } from './fake-engine.js';

/** @param {object} options */
async function train(options, data = examples(10), engine = new FakeEngine()) {
  const history = await fit(sessionOf(engine), data, { batchSize: 4, ...options });
  return { engine, history };
}
const code = (wanted) => (error) => error.code === wanted;

test('every example is taken once an epoch, the last partial batch too, in a new order each epoch', async () => {
  const { engine, history } = await train({ epochs: 2, seed: 7 });
  assert.deepEqual(
    engine.seen.map((batch) => batch.length),
    [4, 4, 2, 4, 4, 2],
  );
  const [first, second] = [engine.seen.slice(0, 3).flat(), engine.seen.slice(3).flat()];
  const all = Array.from({ length: 10 }, (_, i) => i + 1);
  for (const epoch of [first, second])
    assert.deepEqual(
      epoch.toSorted((a, b) => a - b),
      all,
    );
  assert.notDeepEqual(first, second);
  assert.notDeepEqual(first, all);
  assert.equal(history.steps, 6);
  assert.equal(history.stopped, 'completed');
});

test('the shuffle is the same for the same seed, and none without shuffle', async () => {
  assert.deepEqual((await train({ seed: 3 })).engine.seen, (await train({ seed: 3 })).engine.seen);
  assert.notDeepEqual((await train({ seed: 3 })).engine.seen, (await train({ seed: 4 })).engine.seen);
  assert.deepEqual(
    (await train({ shuffle: false })).engine.seen.flat(),
    Array.from({ length: 10 }, (_, i) => i + 1),
  );
  assert.deepEqual([...permutation(5, 1, 0)].toSorted(), [0, 1, 2, 3, 4]);
});

test('k steps, save, load and the rest are the same to the bit as all at once, wherever the cut is', async () => {
  const options = { epochs: 3, seed: 11, schedule: { type: 'cosine', lr: 0.3, steps: 9, warmup: 2 } };
  const whole = await train(options);
  for (let k = 1; k < 9; k++) {
    const before = await train({ ...options, maxSteps: k });
    assert.equal(before.history.stopped, 'max-steps');
    const engine = new FakeEngine();
    engine.restore(before.engine.save());
    const after = await train(options, examples(10), engine);
    assert.deepEqual([...before.engine.seen, ...engine.seen], whole.engine.seen, `cut after ${k}`);
    assert.equal(engine.w, whole.engine.w);
    assert.equal(after.history.steps, 9 - k);
  }
});

/** Everything that a fit tells but the time, in one list. @param {object} options @param {object[]} told */
const telling = (options, told) => ({
  ...options,
  onBatch: ({ step, epoch, batch, loss, lr, metrics }) => told.push({ step, epoch, batch, loss, lr, metrics }),
  onEpoch: ({ step, epoch, loss, lr, metrics }) => told.push({ step, epoch, loss, lr, metrics }),
});
const withNaN = () => {
  const data = examples(10);
  data.inputs.input.data[8] = NaN;
  return data;
};
const STOPPING = { validation: examples(2), earlyStopping: { patience: 2, restoreBest: true } };

for (const [what, options, data] of [
  ['without a schedule', {}],
  ['constant', { schedule: { type: 'constant', lr: 0.3, warmup: 4 } }],
  ['linear', { schedule: { type: 'linear', lr: 0.3 } }],
  ['cosine', { schedule: { type: 'cosine', lr: 0.3, warmup: 2, end: 0.01 } }],
  ['step', { schedule: { type: 'step', lr: 0.3, every: 2, factor: 0.5 } }],
  ['a function', { schedule: (step) => 0.3 / (step + 1) }],
  ['groups', { accumulate: 2, schedule: { type: 'linear', lr: 0.3 } }],
  ['early stopping', { ...STOPPING, schedule: { type: 'linear', lr: 3 } }],
  ['early stopping, groups', { ...STOPPING, accumulate: 2, schedule: { type: 'constant', lr: 3 } }],
  [
    'early stopping by the loss',
    { earlyStopping: { patience: 1, restoreBest: true }, schedule: { type: 'constant', lr: 2 } },
  ],
  ['batches left out', { onNaN: 'skip', schedule: { type: 'linear', lr: 0.3 } }, withNaN],
  ['batches left out of groups', { onNaN: 'skip', accumulate: 2, schedule: { type: 'linear', lr: 0.3 } }, withNaN],
]) {
  test(`cut by maxSteps after every step, in new sessions, a fit is what it is in one piece: ${what}`, async () => {
    const all = { epochs: 6, seed: 11, ...options };
    const told = [];
    const whole = await train(telling(all, told), (data ?? examples)(10));
    assert.equal(whole.history.stopped, all.earlyStopping ? 'early-stopping' : 'completed');
    for (let k = 1; k <= whole.history.steps; k++) {
      const pieces = [];
      let engine = new FakeEngine();
      for (let stopped = 'max-steps', rounds = 0; stopped === 'max-steps' && rounds < 40; rounds++) {
        ({
          history: { stopped },
        } = await train(telling({ ...all, maxSteps: k }, pieces), (data ?? examples)(10), engine));
        if (stopped !== 'max-steps') assert.equal(stopped, whole.history.stopped);
        const bytes = engine.save();
        engine = new FakeEngine();
        engine.restore(bytes);
      }
      assert.deepEqual(pieces, told, `cut every ${k} steps`);
      assert.equal(engine.w, whole.engine.w);
      assert.deepEqual([engine.position, engine.fit, engine.kept], [[0, 0, 0, 0, 0], '', undefined]);
    }
  });
}

test('what is saved at any moment of a fit goes on to the same bits: after a batch, before the validation, in it, after it', async () => {
  const options = { epochs: 4, seed: 3, accumulate: 2, ...STOPPING, schedule: { type: 'linear', lr: 3 } };
  const whole = await train(options);
  const saved = [];
  const engine = new FakeEngine();
  const session = sessionOf(engine);
  const ask = async (method, args) => {
    await null; // answers come later
    const answer = await session.ask(method, args);
    engine.place.between(() => saved.push(engine.save()));
    return answer;
  };
  await fit({ ...session, ask }, examples(10), { batchSize: 4, ...options });
  assert.ok(saved.length > 20, `${saved.length}`);
  for (const [i, bytes] of saved.entries()) {
    const again = new FakeEngine();
    again.restore(bytes);
    if (!again.position[0] && !again.position[1]) continue; // the beginning, or the end
    const { history } = await train(options, examples(10), again);
    assert.deepEqual(
      [again.w, history.stopped, history.epochs.at(-1).loss],
      [whole.engine.w, whole.history.stopped, whole.history.epochs.at(-1).loss],
      `save ${i}`,
    );
  }
});

test('a fit that goes on with other options has the best of before where the monitor is the same, and its parameters where they are wanted', async () => {
  const cut = async (earlyStopping) => {
    const { engine } = await train({ epochs: 9, seed: 1, validation: examples(2), earlyStopping, maxSteps: 6 });
    assert.equal(engine.place.standing.best?.epoch, earlyStopping && 1);
    return engine;
  };
  const rest = async (engine, earlyStopping) => {
    engine.evalLosses = [9, 9, 9, 9, 9, 9, 9];
    const { history } = await train(
      { epochs: 9, seed: 1, validation: examples(2), earlyStopping },
      examples(10),
      engine,
    );
    return history.epochs.at(-1).epoch;
  };
  assert.equal(await rest(await cut({ patience: 5 }), { patience: 2 }), 3, 'the best of epoch 1');
  assert.equal(
    await rest(await cut({ patience: 5 }), { patience: 2, restoreBest: true }),
    4,
    'it has no parameters, so epoch 2 is the first',
  );
  assert.equal(await rest(await cut({ patience: 5, monitor: 'loss' }), { patience: 2 }), 4);
  assert.equal(await rest(await cut(undefined), { patience: 2 }), 4);
  const kept = await cut({ patience: 5, restoreBest: true });
  assert.equal(await rest(kept, { patience: 2 }), 3);
  assert.equal(kept.kept, undefined);
});

test('checkpoints of before, and ones that make no sense, are read', async () => {
  const options = { epochs: 3, seed: 11, schedule: { type: 'linear', lr: 0.3 } };
  const whole = await train(options);
  for (const fit of [
    '',
    'null',
    '[]',
    '{',
    '{"step":1}',
    '{"step":3,"tally":[1,2,3,"x"]}',
    '{"step":0.5,"tally":[0,0,0,0]}',
    '{"step":7,"tally":[0,0,0,0],"best":7}',
  ]) {
    const {
      engine: { w, done, lr, position },
    } = await train({ ...options, maxSteps: 4 });
    const engine = new FakeEngine();
    engine.restore(new TextEncoder().encode(JSON.stringify({ w, done, lr, position, fit })));
    await train(options, examples(10), engine);
    assert.equal(engine.w, whole.engine.w, fit);
  }
});

test('a resume keeps the groups of accumulate whole', async () => {
  const options = { epochs: 2, seed: 5, accumulate: 2 };
  const whole = await train(options);
  assert.equal(whole.engine.done, 4);
  for (const k of [1, 2, 3]) {
    const before = await train({ ...options, maxSteps: k });
    const engine = new FakeEngine();
    engine.restore(before.engine.save());
    await train(options, examples(10), engine);
    assert.equal(engine.w, whole.engine.w, `cut after ${k}`);
  }
});

test('a fit begins anew where it ended, was told to, or the data differ', async () => {
  const { engine } = await train({ seed: 1 });
  assert.deepEqual(engine.position, [0, 0, 0, 0, 0]);
  for (const [options, data] of [
    [{ resume: false }, examples(10)],
    [{}, examples(12)],
    [{ batchSize: 5 }, examples(10)],
    [{ shuffle: false }, examples(10)],
  ]) {
    const { engine: cut } = await train({ seed: 1, maxSteps: 1 });
    assert.notEqual(cut.position[1], 0);
    cut.seen = [];
    await train(options, data, cut);
    assert.equal(cut.seen.flat().length, data.inputs.input.dims[0]);
  }
});

test('other data of the same length begin anew, which is told, unless resume is asked for', async () => {
  const other = examples(10);
  other.inputs.input.data[13] += 1;
  const relabeled = examples(10, (i) => (i === 6 ? 1n : 0n));
  for (const [data, options, done] of [
    [other, {}, 10],
    [relabeled, {}, 10],
    [other, { resume: true }, 6],
    [examples(10), {}, 6],
  ]) {
    const { engine } = await train({ seed: 1, maxSteps: 1 });
    const again = new FakeEngine();
    again.restore(engine.save());
    const told = [];
    await train({ ...options, onWarning: (text) => told.push(text) }, data, again);
    assert.equal(again.seen.flat().length, done);
    assert.equal(told.length, options.resume || done === 6 ? 0 : 1, String(told));
    if (told.length) assert.match(told[0], /not the data of the fit that was cut short in epoch 0.*resume: true/);
    const old = new FakeEngine();
    old.restore(engine.save());
    old.fit = JSON.stringify({ ...JSON.parse(old.fit), data: undefined });
    old.place.standing = { ...old.place.standing, data: undefined };
    await train(options, data, old);
    assert.equal(old.seen.flat().length, 6, 'what a place of before says nothing of');
  }
});

test('callbacks that give promises are awaited, and their rejection rejects the fit', async () => {
  for (const name of ['onBatch', 'onEpoch', 'onCheckpoint']) {
    const order = [];
    const store = { save: async () => order.push('save') };
    const checkpoint = { store, name: 'run', everySteps: 1 };
    const slow = async () => {
      order.push('begun');
      await new Promise((resolve) => setTimeout(resolve, 5));
      order.push('done');
    };
    await train({ epochs: 2, checkpoint, [name]: slow });
    const events = order.filter((event) => event !== 'save');
    assert.ok(events.length >= 4);
    assert.deepEqual(
      events,
      events.map((_, i) => (i % 2 ? 'done' : 'begun')),
    );
    const fails = async () => {
      throw new Error(`no ${name}`);
    };
    await assert.rejects(train({ checkpoint, [name]: fails }), new RegExp(`no ${name}`));
  }
});

test('a callback may wait for a save in the midst of a group of batches', async () => {
  const engine = new FakeEngine();
  const saved = [];
  const onBatch = async ({ batch }) => saved.push([batch, await engine.place.between(() => engine.done)]);
  await train({ accumulate: 2, onBatch }, examples(14), engine);
  assert.deepEqual(saved, [
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 2],
  ]);
  let calls = 0;
  const late = async () => {
    await engine.place.between(() => {});
    if (++calls === 1) throw new Error('the first one');
  };
  await assert.rejects(train({ accumulate: 2, onBatch: late }, examples(14), engine), /the first one/);
});

test('an epoch of which nothing is left is an error, not NaN', async () => {
  const data = examples(4);
  data.inputs.input.data.fill(NaN);
  await assert.rejects(train({ onNaN: 'skip' }, data), {
    code: 'non-finite-loss',
    message: /epoch 0 has no mean loss/,
  });
});

test('a validation loss that is not finite is an error, not NaN', async () => {
  const engine = new FakeEngine();
  engine.evalLosses = [NaN];
  const options = { validation: examples(2) };
  await assert.rejects(train(options, examples(10), engine), { code: 'non-finite-loss', message: /batch 1 is NaN/ });
});

test('batches as they come: an iterable, an async generator, a function for several epochs', async () => {
  const batch = { ...examples(3).inputs, ...examples(3).labels };
  async function* two() {
    yield batch;
    yield batch;
  }
  assert.equal((await train({ batchSize: undefined }, [batch, batch])).engine.done, 2);
  assert.equal((await train({ batchSize: undefined }, two())).engine.done, 2);
  assert.equal((await train({ batchSize: undefined, epochs: 3 }, two)).engine.done, 6);
  assert.equal(
    (await train({ batchSize: undefined, accumulate: 4 }, two)).engine.done,
    1,
    'an unfinished group is a step',
  );
  await assert.rejects(train({ batchSize: undefined, epochs: 2 }, two()), /no batch in epoch 1/);
  await assert.rejects(train({}, two), /batchSize is for whole arrays/);
  await assert.rejects(train({ batchSize: undefined, validation: 0.5 }, two), /needs whole arrays/);
  await assert.rejects(train({ batchSize: undefined }, [{ inptu: batch.input }]), /no input 'inptu'/);
});

test('events tell step, epoch, loss, rate, speed, time left and accuracy', async () => {
  const batches = [];
  const epochs = [];
  await train(
    { epochs: 2, onBatch: (e) => batches.push(e), onEpoch: (e) => epochs.push(e) },
    examples(10, (i) => (i < 5 ? 0n : 1n)),
  );
  assert.deepEqual(
    batches.map(({ step, epoch, batch }) => [step, epoch, batch]),
    [
      [1, 0, 1],
      [2, 0, 2],
      [3, 0, 3],
      [4, 1, 1],
      [5, 1, 2],
      [6, 1, 3],
    ],
  );
  assert.deepEqual([batches[0].steps, batches[0].batches, batches[0].epochs, batches[0].lr], [6, 3, 2, 0.1]);
  assert.ok(batches[0].etaMs >= 0 && batches[0].samplesPerSecond > 0);
  assert.equal(batches.at(-1).etaMs, 0);
  assert.equal(epochs[0].metrics.accuracy, 0.5);
  assert.deepEqual(
    epochs.map(({ epoch }) => epoch),
    [0, 1],
  );
});

test('validation by a share holds out the end of the arrays', async () => {
  const { engine, history } = await train({ validation: 0.2 });
  assert.equal(Math.max(...engine.seen.flat()), 8);
  assert.equal(typeof history.epochs[0].metrics.val_loss, 'number');
  assert.equal(history.epochs[0].metrics.val_accuracy, 1);
  await assert.rejects(train({ validation: 1.5 }), /between 0 and 1/);
});

test('early stopping waits for its patience and restores the best', async () => {
  const engine = new FakeEngine();
  engine.evalLosses = [3, 2, 4, 5, 6];
  const after = [];
  const { history } = await train(
    {
      epochs: 9,
      validation: examples(2),
      earlyStopping: { patience: 2, restoreBest: true },
      onEpoch: () => after.push(Math.fround(engine.w)),
    },
    examples(10),
    engine,
  );
  assert.equal(history.stopped, 'early-stopping');
  assert.equal(history.epochs.length, 4);
  assert.equal(engine.w, after[1]);
  await assert.rejects(
    train({ earlyStopping: { patience: 1, monitor: 'val_f1' } }),
    /no 'val_f1' to monitor; there are loss, accuracy/,
  );
});

test('a stop between two steps: aborted, with the history, and the session goes on where it was', async () => {
  const options = { epochs: 2, seed: 2 };
  const whole = await train(options);
  const stop = new AbortController();
  const engine = new FakeEngine();
  const stopped = train(
    {
      ...options,
      signal: stop.signal,
      onBatch: ({ step }) => {
        if (step === 4) stop.abort();
      },
    },
    examples(10),
    engine,
  );
  await assert.rejects(
    stopped,
    (error) => error.code === 'aborted' && error.history.steps === 4 && error.history.stopped === 'aborted',
  );
  await train(options, examples(10), engine);
  assert.equal(engine.w, whole.engine.w);
});

test('a loss that is not finite is thrown, stops or is left out', async () => {
  const data = examples(10);
  data.inputs.input.data[8] = NaN;
  const options = { shuffle: false };
  await assert.rejects(train(options, data), (error) => error.code === 'non-finite-loss' && error.history.steps === 1);
  const stop = await train({ ...options, onNaN: 'stop' }, data);
  assert.deepEqual([stop.history.stopped, stop.history.steps], ['non-finite-loss', 1]);
  const skip = await train({ ...options, onNaN: 'skip' }, data);
  assert.deepEqual([skip.history.stopped, skip.history.steps, skip.history.skipped], ['completed', 2, 1]);
  assert.ok(Number.isFinite(skip.history.epochs[0].loss) && Number.isFinite(skip.engine.w));
});

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
    code('aborted'),
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

test('a save that fails is told, training goes on, and the next one comes after a while, not at each step', async () => {
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

test('what cannot be saved at any time ends the fit: a name that the store refuses, parameters that are not finite', async () => {
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

test('schedules: warm-up, constant, linear, cosine, step, function', async () => {
  const rates = (schedule, n = 5, last = 4) =>
    Array.from({ length: n }, (_, i) => Number(openSchedule(schedule, last)(i).toFixed(6)));
  assert.deepEqual(rates({ type: 'constant', lr: 1, warmup: 2 }), [0.5, 1, 1, 1, 1]);
  assert.deepEqual(rates({ type: 'linear', lr: 1 }), [1, 0.75, 0.5, 0.25, 0]);
  assert.deepEqual(rates({ type: 'cosine', lr: 1, end: 0.5 }), [1, 0.926777, 0.75, 0.573223, 0.5]);
  assert.deepEqual(rates({ type: 'step', lr: 1, every: 2, factor: 0.5 }), [1, 1, 0.5, 0.5, 0.25]);
  assert.deepEqual((await train({ schedule: (step) => step / 10 })).engine.rates, [0, 0.1, 0.2]);
  assert.throws(() => openSchedule({ type: 'poly', lr: 1 }), /not poly/);
  assert.throws(() => openSchedule({ type: 'linear', lr: 1 }, undefined), /steps is needed/);
  assert.throws(() => openSchedule({ type: 'linear', lr: 1, gamma: 2 }, 3), /no option 'gamma'/);
  assert.throws(() => openSchedule({ type: 'constant', lr: NaN }, 3), /cannot be NaN/);
});

test('a stream that hangs is left when the signal comes, by fit and by evaluate', { timeout: 20_000 }, async () => {
  for (const batches of [0, 2]) {
    const stream = async function* () {
      for (let i = 0; i < batches; i++) yield { ...examples(3).inputs, ...examples(3).labels };
      await new Promise(() => {});
    };
    const signal = () => {
      const stop = new AbortController();
      setTimeout(() => stop.abort(), 50);
      return stop.signal;
    };
    await assert.rejects(
      train({ batchSize: undefined, signal: signal() }, stream()),
      (error) => error.code === 'aborted' && error.history.steps === batches,
    );
    const session = sessionOf(new FakeEngine());
    await assert.rejects(evaluate(session, stream(), { signal: signal() }), (error) => error.code === 'aborted');
  }
});

test('an option that is not known is refused', async () => {
  await assert.rejects(train({ batchsize: 3 }), /no option 'batchsize'; it knows epochs, batchSize/);
  await assert.rejects(train({ classWeights: 'balanced' }), /no option 'classWeights'/);
  await assert.rejects(train({ epochs: 0 }), /epochs must be a whole number of at least 1, not 0/);
  await assert.rejects(
    train({ metrics: ['f2'] }),
    /no metric 'f2'; there are loss, accuracy, perplexity, bits-per-byte, top-K-accuracy, precision/,
  );
  await assert.rejects(train({ onNaN: 'ignore' }), /not 'ignore'/);
  await assert.rejects(
    train({}, { inputs: { input: examples(3).inputs.input }, labels: examples(4).labels }),
    /'labels' has 4 examples, but 'input' has 3/,
  );
  await assert.rejects(train({ batchSize: undefined }, 5), /wanted \{ inputs, labels \}/);
});

test('evaluate weighs batches by their size', async () => {
  const engine = new FakeEngine();
  engine.evalLosses = [1, 1, 4];
  const found = await evaluate(
    sessionOf(engine),
    examples(10, (i) => (i === 9 ? 1n : 0n)),
    { batchSize: 4 },
  );
  assert.deepEqual(found, { loss: 1.6, accuracy: 0.9 });
  assert.deepEqual(Object.keys(await evaluate(sessionOf(engine), examples(4), { metrics: ['loss'] })), ['loss']);
  const noLabels = { ...INFO, train: { ...INFO.train, inputs: [INFO.train.inputs[0]] } };
  await assert.rejects(
    evaluate(sessionOf(engine, noLabels), examples(4), { metrics: ['accuracy'] }),
    /accuracy needs class indices/,
  );
  await assert.rejects(evaluate(sessionOf(engine), [], {}), /it gave no batch/);
});

test('accuracy follows the class axis and leaves out labels that are no class', () => {
  const tensor = (data, dims) => ({ type: 'float32', data: new Float32Array(data), dims });
  const labels = (data, dims) => ({ data: new BigInt64Array(data.map(BigInt)), dims });
  assert.deepEqual(countRight(tensor([1, 2, 4, 3], [2, 2]), labels([1, 1], [2])), { right: 1, counted: 2 });
  assert.deepEqual(countRight(tensor([1, 2, 4, 3], [2, 2]), labels([1, -100], [2])), { right: 1, counted: 1 });
  assert.deepEqual(countRight(tensor([5, 0, 0, 4, 1, 1], [1, 2, 3]), labels([0, 0, 1], [1, 3])), {
    right: 2,
    counted: 3,
  });
  assert.deepEqual(countRight(tensor([5, 0, 0, 5, 1, 2], [1, 3, 2]), labels([0, 1, 1], [1, 3])), {
    right: 3,
    counted: 3,
  });
  assert.throws(() => countRight(tensor([1, 2], [2, 1]), labels([1], [1])), /do not fit the prediction/);
});

for (const name of ['onBatch', 'onEpoch', 'onCheckpoint', 'onWarning'])
  test(`the signal is heard while ${name} never settles`, async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 20);
    const options = {
      epochs: 3,
      batchSize: 3,
      signal: stop.signal,
      checkpoint: { store: { save: async () => 1 }, name: 'run' },
    };
    const data = examples(9);
    const work = train({ ...options, [name]: () => new Promise(() => {}) }, data, withoutGradients());
    const late = new Promise((_, reject) => {
      setTimeout(() => reject(new Error('nothing came for 2 s')), 2000).unref();
    });
    await assert.rejects(
      Promise.race([work, late]),
      (error) => error.code === 'aborted' && error.history.stopped === 'aborted',
    );
  });

/** An engine whose gradients are 0, of which a fit warns. */
function withoutGradients() {
  const engine = new FakeEngine();
  const step = engine.step.bind(engine);
  engine.step = (args) => ({ ...step(args), gradientNorm: 0 });
  return engine;
}

test('a fit that is aborted before its first batch has a history', async () => {
  const engine = new FakeEngine();
  engine.steps = () => {
    throw new TrainletError('aborted', 'stopped by the signal');
  };
  await assert.rejects(train({}, examples(10), engine), (error) => error.history?.stopped === 'aborted');
});

test('a fit that was killed behind its last save is not repeated with resume: true, and else trains again', async () => {
  const saves = [];
  const save = async (_name, bytes, meta) => saves.push({ bytes, meta });
  const options = { epochs: 2, seed: 1, checkpoint: { store: { save }, name: 'run' } };
  await train(options);
  assert.deepEqual(saves.at(-1).meta, { epoch: 1, step: 6, ended: true });
  const restored = () => {
    const engine = new FakeEngine();
    engine.restore(saves.at(-1).bytes);
    return engine;
  };
  const again = { ...options, resume: true };
  const engine = restored();
  const { history } = await train(again, examples(10), engine);
  assert.deepEqual([history.steps, history.stopped, history.epochs], [0, 'completed', []]);
  assert.equal((await train(again, examples(10), engine)).history.steps, 6); // that is another one
  for (const other of [
    { ...again, resume: false },
    options,
    { ...again, epochs: 3 },
    { ...again, batchSize: 5 },
    { ...again, checkpoint: undefined },
    { ...again, checkpoint: { store: { save }, name: 'other' } },
  ])
    assert.ok((await train(other, examples(10), restored())).history.steps > 0);
  assert.ok((await train(again, examples(9), restored())).history.steps > 0);
});
