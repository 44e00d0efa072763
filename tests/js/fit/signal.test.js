/** The listeners and the signal of a fit. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TrainletError } from '../../../js/base/errors.js';
import { evaluate } from '../../../js/fit/evaluate.js';
import { examples, FakeEngine, sessionOf } from '../../support/fake-engine.js';
import { train } from '../../support/fake-fit.js';

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
  const onBatch = async ({ batch }) => saved.push([batch, await engine.fitPosition.between(() => engine.done)]);
  await train({ accumulate: 2, onBatch }, examples(14), engine);
  assert.deepEqual(saved, [
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 2],
  ]);
  let calls = 0;
  const late = async () => {
    await engine.fitPosition.between(() => {});
    if (++calls === 1) throw new Error('the first one');
  };
  await assert.rejects(train({ accumulate: 2, onBatch: late }, examples(14), engine), /the first one/);
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
