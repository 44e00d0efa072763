/** The training loop against an engine of one number: order, validation, schedules, early stopping, NaN, events. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { permutation } from '../../../js/data/dataset.js';
import { evaluate } from '../../../js/fit/evaluate.js';
import { countRight } from '../../../js/fit/metrics.js';
import { openSchedule } from '../../../js/fit/schedule.js';
import { examples, FakeEngine, INFO, sessionOf } from '../../support/fake-engine.js';
import { train } from '../../support/fake-fit.js';

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
