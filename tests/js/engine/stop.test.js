/**
 * Stopping: by signal or terminate, before, amid and after; what is left is as if nothing had been asked, and no
 * promise stays open.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { bind } from '../../../js/base/feeds.js';
import { pack } from '../../../js/base/tensor.js';
import { Core } from '../../../js/engine/core.js';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { ENGINES } from '../../../tools/programs.mjs';
import { examples } from '../../support/fake-engine.js';
import { RANDOM_MODEL, randomFeeds, slowFeeds, slowInput, slowModel } from '../../support/slow-models.js';
import { STRING_BOMBS } from '../../support/string-bombs.js';

const OPTIONS = { loss: 'cross-entropy', optimizer: { type: 'adamw', lr: 0.01 } };
const PARTS = { trainModel: 'train', evalModel: 'eval', optimizerModel: 'optimizer', checkpointState: 'checkpoint' };
const random = await generateArtifacts(RANDOM_MODEL, OPTIONS);
const slow = await generateArtifacts(slowModel(40), OPTIONS);
const X = bind({ x: new Tensor('float32', new Float32Array(4).fill(0.5), [1, 4]) }, [
  { name: 'x', type: 'float32', dims: [1, 4] },
]);
const is =
  (code, message = /./) =>
  (error) =>
    error.name === 'TrainletError' && error.code === code && message.test(error.message);

const pause = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** A signal that comes after some time, and when it came. */
function signalAfter(ms) {
  const controller = new AbortController();
  const stop = { signal: controller.signal, at: NaN };
  setTimeout(() => {
    stop.at = performance.now();
    controller.abort();
  }, ms);
  return stop;
}

// ── the engine itself, told to stop at a moment of the test's choice ──

/** An engine whose n-th question from now, counted by `left`, is answered with yes. */
async function coreOf(artifacts) {
  const stop = { left: Infinity };
  const module = await WebAssembly.compile(readFileSync(new URL('../../../js/engine/trainlet.wasm', import.meta.url)));
  const env = { emscripten_notify_memory_growth() {}, stopped: () => Number(stop.left-- <= 0), now: () => 0 };
  const core = new Core(await WebAssembly.instantiate(module, { env }));
  const parts = Object.entries(PARTS).map(([name, which]) => ({ which, bytes: artifacts[name] }));
  const { info } = core.load({ parts, external: [], maxMemoryBytes: 0 });
  const feeds = (seed) => pack(bind(randomFeeds(seed), info.train.inputs));
  return { core, stop, feeds };
}

test('an engine asks nothing else of its surroundings', async () => {
  for (const name of ENGINES) {
    const bytes = readFileSync(new URL(`../../../js/engine/${name}`, import.meta.url));
    if (!WebAssembly.validate(bytes)) continue; // an older Node's, without relaxed SIMD
    const module = await WebAssembly.compile(bytes);
    const imports = WebAssembly.Module.imports(module)
      .map((entry) => `${entry.module}.${entry.name}`)
      .sort();
    const memory = name.includes('threads') ? ['env.memory'] : [];
    assert.deepEqual(imports, ['env.emscripten_notify_memory_growth', ...memory, 'env.now', 'env.stopped'], name);
  }
});

for (const accumulate of [1, 3]) {
  test(`a step stopped at any moment leaves the next its bits (${accumulate} batches to a step)`, async () => {
    const plain = await coreOf(random),
      stopped = await coreOf(random);
    const step = ({ core, feeds }, i) => core.step({ feeds: feeds(i), optimize: (i + 1) % accumulate === 0 }).loss;
    let stops = 0;
    for (let i = 0; i < 6 * accumulate; i++) {
      const losses = [step(plain, i)];
      for (let left = Math.floor(i / accumulate); i % accumulate === 0; left += 2) {
        stopped.stop.left = left;
        const save = stopped.core.save({ optimizerState: true, format: 'trainlet' });
        try {
          losses.push(step(stopped, i));
          break;
        } catch (error) {
          assert.ok(is('aborted', /^the run was stopped; no parameter was changed$/)(error), String(error));
          stops++;
        }
        stopped.stop.left = Infinity;
        // random state, statistics and all
        assert.deepEqual(stopped.core.save({ optimizerState: true, format: 'trainlet' }), save);
      }
      stopped.stop.left = Infinity;
      if (losses.length === 1) losses.push(step(stopped, i));
      assert.equal(losses[1], losses[0], `batch ${i}`);
    }
    assert.deepEqual(stopped.core.copyOut('all'), plain.core.copyOut('all'));
    assert.ok(stops > 20, `${stops} stops`);
  });
}

test('operators on strings stop amid their work, while a run is planned and while it computes', async () => {
  const module = await WebAssembly.compile(readFileSync(new URL('../../../js/engine/trainlet.wasm', import.meta.url)));
  const opened = async (make) => {
    const stop = { left: Infinity, asked: 0 };
    const stopped = () => {
      stop.asked++;
      return Number(stop.left-- <= 0);
    };
    const env = { emscripten_notify_memory_growth() {}, stopped, now: () => 0 };
    const core = new Core(await WebAssembly.instantiate(module, { env }));
    core.load({ parts: [{ which: 'model', bytes: make() }], external: [], maxMemoryBytes: 0, maxWork: 1e11 });
    return { stop, run: () => core.run({ graph: 'model', feeds: pack(X), fetches: ['y'] }) };
  };
  const takesLong = /^(Cast|Tokenizer|RegexFullMatch) of fed|^StringSplit of a fed| of 131072 long/;
  for (const [name, make] of STRING_BOMBS.filter(([name]) => takesLong.test(name))) {
    const whole = await opened(make);
    const begun = process.cpuUsage();
    whole.run();
    const ms = process.cpuUsage(begun).user / 1e3;
    assert.ok(
      whole.stop.asked >= (/ long /.test(name) ? 64 : ms / 100),
      `${name}: asked ${whole.stop.asked} times in ${ms} ms`,
    );
    const { stop, run } = await opened(make);
    stop.left = Math.floor(whole.stop.asked / 2);
    assert.throws(run, is('aborted', /the run was stopped; no parameter was changed$/), name);
    stop.left = Infinity;
    run();
  }
});

test('gradients that were being added up are dropped by a stop amid them, and the sentence says so', async () => {
  const { core, stop, feeds } = await coreOf(random),
    other = await coreOf(random);
  const step = (which, i, optimize) => which.step({ feeds: feeds(i), optimize }).loss;
  step(core, 0, false);
  stop.left = 8;
  assert.throws(() => step(core, 1, false), is('aborted', /the gradients that were added up so far are dropped/));
  stop.left = Infinity;
  step(other.core, 5, true);
  step(other.core, 5, true);
  core.setSeed(1n);
  other.core.setSeed(1n);
  core.copyIn({ which: 'all', bytes: new Uint8Array(other.core.copyOut('all').buffer) });
  assert.equal(step(core, 2, true), step(other.core, 2, true)); // a step of its own, and no other gradient in it
});

// ── sessions ──

for (const [what, call] of Object.entries({
  step: (session, options) => session.step(slowFeeds(), options),
  runTrainStep: (session, options) => session.runTrainStep(slowFeeds(), options),
  runEvalStep: (session, options) => session.runEvalStep(slowFeeds(), ['loss'], options),
  predict: (session, options) => session.predict(slowInput(), options),
  evaluate: (session, { signal }) =>
    session.evaluate({ inputs: slowInput(), labels: { labels: slowFeeds().labels } }, { signal, batchSize: 1024 }),
  fit: (session, { signal }) =>
    session.fit({ inputs: slowInput(), labels: { labels: slowFeeds().labels } }, { signal, batchSize: 1024 }),
})) {
  for (const threads of [1, 2]) {
    test(`${what} is stopped while it computes (${threads} threads)`, { timeout: 60_000 }, async () => {
      const session = await TrainingSession.create(slow, { threads, reproducible: true });
      await session.predict(slowInput(1)); // planned, and helpers have come
      const before = await session.getContiguousParameters(false);
      const stop = signalAfter(300);
      await assert.rejects(call(session, { signal: stop.signal }), is('aborted', /stopped/));
      const late = performance.now() - stop.at;
      assert.ok(late < 1500, `${late} ms after the signal`);
      assert.deepEqual(await session.getContiguousParameters(false), before);
      assert.ok(Number.isFinite((await session.step(slowFeeds(2))).loss));
      await session.release();
    });
  }
}

test('an inference is stopped, and drawn anew the same', { timeout: 60_000 }, async () => {
  const session = await InferenceSession.create(slowModel(40), { threads: 2 });
  const { signal } = signalAfter(300);
  await assert.rejects(session.run(slowInput(), { signal }), is('aborted'));
  assert.equal((await session.run(slowInput(2))).logits.dims[0], 2);
  await session.release();
});

test('terminate is honoured at the call and while the run goes on', { timeout: 60_000 }, async () => {
  const session = await TrainingSession.create(slow, { threads: 2 });
  await assert.rejects(session.runTrainStep(slowFeeds(), { terminate: true }), is('aborted'));
  const options = { terminate: false };
  setTimeout(() => {
    options.terminate = true;
  }, 300);
  await assert.rejects(session.step(slowFeeds(), options), is('aborted'));
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error('enough')), 300);
  await assert.rejects(
    session.step(slowFeeds(), { terminate: false, signal: controller.signal }),
    (error) => is('aborted')(error) && error.cause.message === 'enough',
  );
  assert.ok((await session.step(slowFeeds(2), { terminate: false })).loss > 0);
  await session.release();
});

test('a call that waits for others is taken back, and they are not touched', { timeout: 60_000 }, async () => {
  const session = await TrainingSession.create(slow, { threads: 2 });
  const controller = new AbortController();
  const calls = [
    session.step(slowFeeds(64)),
    session.step(slowFeeds(64), { signal: controller.signal }),
    session.step(slowFeeds(64)),
  ];
  controller.abort();
  const [first, second, third] = await Promise.allSettled(calls);
  assert.ok(is('aborted')(second.reason));
  assert.deepEqual([first.status, third.status], ['fulfilled', 'fulfilled']);
  await assert.rejects(session.step(slowFeeds(1), { signal: controller.signal }), is('aborted'));
  await assert.rejects(session.step(slowFeeds(1), { signal: 'now' }), is('invalid-argument', /AbortSignal/));
  await session.release();
});

test('a save and an export that wait for others are taken back; in a fit a save waits for a step', {
  timeout: 60_000,
}, async () => {
  const session = await TrainingSession.create(slow, { threads: 2 });
  for (const call of ['saveCheckpoint', 'exportModel']) {
    const stop = new AbortController();
    const step = session.step(slowFeeds(64));
    const waiting = session[call]({ signal: stop.signal });
    stop.abort();
    await assert.rejects(waiting, is('aborted'));
    await assert.rejects(session[call]({ signal: stop.signal }), is('aborted'));
    await assert.rejects(session[call]({ signal: 'now' }), is('invalid-argument', /AbortSignal/));
    assert.ok((await session[call]({ signal: new AbortController().signal })).length > 1000);
    await step;
  }
  const [stop, saving] = [new AbortController(), new AbortController()];
  const data = { inputs: slowInput(), labels: { labels: slowFeeds().labels } };
  const fitted = session.fit(data, { signal: stop.signal, batchSize: 1024 });
  await pause(300); // its step of seconds is under way
  const since = performance.now();
  const kept = session.saveCheckpoint();
  const waiting = session.saveCheckpoint({ signal: saving.signal });
  saving.abort();
  await assert.rejects(waiting, is('aborted'));
  await assert.rejects(session.saveCheckpoint({ signal: saving.signal }), is('aborted'));
  await assert.rejects(session.saveCheckpoint({ signal: 'now' }), is('invalid-argument', /AbortSignal/));
  assert.ok(performance.now() - since < 200, `${performance.now() - since} ms`);
  stop.abort();
  await assert.rejects(fitted, is('aborted'));
  assert.ok((await kept).length > 1000); // the others are not touched
  await session.release();
});

test('an output may be called signal', async () => {
  const session = await TrainingSession.create(random);
  await assert.rejects(session.runEvalStep(randomFeeds(0), { signal: null }), is('invalid-feed', /'signal'/));
  await session.release();
});

// ── engines that do not answer ──

const DEAF = { workerUrl: new URL('../../support/deaf-worker.js', import.meta.url) };
const NOTHING = new Uint8Array(1);
const FAKE = { trainModel: NOTHING, evalModel: NOTHING, optimizerModel: NOTHING, checkpointState: NOTHING };
const FEEDS = { ...examples(2).inputs, ...examples(2).labels };

test('an engine that does not stop within 3 s is ended, and every call hears of it', { timeout: 30_000 }, async () => {
  const session = await TrainingSession.create(FAKE, DEAF);
  const stop = signalAfter(100);
  const calls = [session.step(FEEDS, { signal: stop.signal }), session.getLearningRate(), session.step(FEEDS)];
  const [asked, ...others] = await Promise.allSettled(calls);
  const late = performance.now() - stop.at;
  assert.ok(is('aborted', /within 3 s.*last checkpoint/)(asked.reason), String(asked.reason));
  for (const { reason } of others) assert.ok(is('worker-died', /last checkpoint/)(reason), String(reason));
  assert.ok(late > 2500 && late < 6000, `${late} ms`);
  await assert.rejects(session.getLearningRate(), is('worker-died', /last checkpoint/));
  await session.release();
});

test('an export that does not stop within 3 s ends its engine', { timeout: 30_000 }, async () => {
  const session = await TrainingSession.create(FAKE, DEAF);
  const { signal } = signalAfter(100);
  const calls = [session.exportModel({ signal }), session.saveCheckpoint()];
  const [{ reason: asked }, { reason: other }] = await Promise.allSettled(calls);
  assert.ok(is('aborted', /within 3 s.*last checkpoint/)(asked), String(asked));
  assert.ok(is('worker-died', /last checkpoint/)(other), String(other));
  await session.release();
});

test('a fit whose engine had to be ended is aborted, whatever could not be saved', { timeout: 30_000 }, async () => {
  const session = await TrainingSession.create(FAKE, DEAF);
  const stop = signalAfter(100);
  const saved = [];
  const store = {
    save: async (/** @type {string} */ name) => {
      saved.push(name);
    },
  };
  const checkpoint = /** @type {any} */ ({ store, name: 'deaf', everySteps: 1 });
  const fitted = session.fit(examples(4), { signal: stop.signal, checkpoint });
  await assert.rejects(
    fitted,
    (error) => is('aborted', /within 3 s.*last checkpoint/)(error) && error.history.stopped === 'aborted',
  );
  assert.deepEqual(saved, []);
  await session.release();
});

test('release waits 0.3 s at most, at once with a signal, and may be called again', { timeout: 30_000 }, async () => {
  for (const [options, most, least] of [
    [undefined, 2000, 250],
    [{ signal: AbortSignal.abort() }, 2000, 0],
  ]) {
    const session = await TrainingSession.create(FAKE, DEAF);
    const calls = [session.step(FEEDS), session.getLearningRate()];
    const since = performance.now();
    const released = [session.release(), session.release(options)];
    for (const { reason } of await Promise.allSettled(calls))
      assert.ok(is('released', /^the session was released: this has no answer/)(reason), String(reason));
    await Promise.all(released);
    const took = performance.now() - since;
    assert.ok(took > least && took < most, `${took} ms`);
    await session.release();
    await assert.rejects(session.step(FEEDS), is('released'));
  }
});

test('a creation is stopped while the engine is fetched, and while it loads', { timeout: 30_000 }, async (t) => {
  const server = createServer(() => {}); // never answers
  await new Promise((resolve) => {
    server.listen(0, 'localhost', resolve);
  });
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const silent = `http://localhost:${server.address().port}/`;
  for (const make of [
    (signal) => TrainingSession.create(FAKE, { signal, wasmUrl: `${silent}engine.wasm` }),
    (signal) => TrainingSession.create({ ...FAKE, trainModel: `${silent}model.onnx` }, { signal }),
    (signal) => generateArtifacts(new Response(new ReadableStream({})), { signal }),
    (signal) => TrainingSession.create({ ...FAKE, trainModel: new Uint8Array(2) }, { ...DEAF, signal }),
  ]) {
    const stop = signalAfter(400);
    await assert.rejects(make(stop.signal), is('aborted'));
    assert.ok(performance.now() - stop.at < 1000, `${performance.now() - stop.at} ms`);
  }
});
