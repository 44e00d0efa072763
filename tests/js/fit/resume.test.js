/** A fit that was cut short goes on to the same bits. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fit } from '../../../js/fit/fit.js';
import { examples, FakeEngine, sessionOf } from '../../support/fake-engine.js';
import { train } from '../../support/fake-fit.js';

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

test('a fit saved at any moment goes on to the same bits: after a batch, before, in and after validation', async () => {
  const options = { epochs: 4, seed: 3, accumulate: 2, ...STOPPING, schedule: { type: 'linear', lr: 3 } };
  const whole = await train(options);
  const saved = [];
  const engine = new FakeEngine();
  const session = sessionOf(engine);
  const ask = async (method, args) => {
    await null; // answers come later
    const answer = await session.ask(method, args);
    engine.fitPosition.between(() => saved.push(engine.save()));
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

test('a fit with other options keeps the best of the same monitor, and its parameters if they are wanted', async () => {
  const cut = async (earlyStopping) => {
    const { engine } = await train({ epochs: 9, seed: 1, validation: examples(2), earlyStopping, maxSteps: 6 });
    assert.equal(engine.fitPosition.saved.best?.epoch, earlyStopping && 1);
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
    old.fitPosition.saved = { ...old.fitPosition.saved, data: undefined };
    await train(options, data, old);
    assert.equal(old.seen.flat().length, 6, 'what a place of before says nothing of');
  }
});

test('a fit killed behind its last save is not repeated with resume: true, and else trains again', async () => {
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
