/** Page and worker: order, transfers, errors, release, and that nothing waits for ever when a worker dies. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { TrainletError } from '../../../js/base/errors.js';
import { Client } from '../../../js/engine/client.js';
import { serve } from '../../../js/engine/serve.js';
import { portTransport } from '../../../js/engine/transport-inline.js';
import { TrainingSession } from '../../../js/session/index.js';
import { examples, FakeEngine } from '../../support/fake-engine.js';

const NOTHING = new Uint8Array(1);
const ARTIFACTS = { trainModel: NOTHING, evalModel: NOTHING, optimizerModel: NOTHING, checkpointState: NOTHING };
const FEEDS = { ...examples(2).inputs, ...examples(2).labels };
const create = () =>
  TrainingSession.create(ARTIFACTS, { workerUrl: new URL('../../support/fake-worker.js', import.meta.url) });
const is =
  (code, message = /./) =>
  (error) =>
    error instanceof TrainletError && error.code === code && message.test(error.message);

/** A client of an engine in this thread. @param {object} engine */
async function talk(engine) {
  const { port1, port2 } = new MessageChannel();
  serve(port2, async () => engine);
  const client = new Client(portTransport(port1, port2, [port1, port2]));
  await client.ask('open', {});
  return client;
}

for (const [rate, way] of [
  [666, 'exits'],
  [667, 'throws'],
]) {
  test(`a worker that ${way} rejects every call, pending and later`, async () => {
    const session = await create();
    const pending = [session.setLearningRate(rate), session.step(FEEDS), session.getLearningRate()];
    const results = await Promise.allSettled(pending);
    for (const { reason } of results) assert.ok(is('worker-died', /make a new session/)(reason), String(reason));
    await assert.rejects(session.step(FEEDS), is('worker-died'));
    await assert.rejects(session.fit(examples(4)), is('worker-died'));
    await session.release();
  });
}

test('an answer that comes after the end does not let go of a worker that is being closed', async () => {
  const held = [];
  let hear, dead;
  const transport = {
    post() {},
    listen: (...told) => {
      [hear, dead] = told;
    },
    hold: (busy) => {
      held.push(busy);
    },
    close() {},
  };
  const asked = new Client(transport).ask('steps', {});
  dead('it exited');
  await assert.rejects(asked, is('worker-died'));
  hear({ id: 1, out: 3 });
  assert.deepEqual(held, [false, true]); // Node would end before the worker has, and leave release() waiting
});

test('a worker that was ended before it had an engine is not waited for without end', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const client = new Client({ post() {}, listen() {}, hold() {}, close() {} });
  await client.open(Promise.resolve({ module: undefined, threads: 1 }));
  const loading = client.ask('load', {});
  for (let i = 0; i < 4; i++) t.mock.timers.tick(15_000);
  await assert.rejects(loading, is('worker-died', /did not start within 60 s/));
});

test('a worker that cannot be started says so', async () => {
  const opening = TrainingSession.create(ARTIFACTS, { workerUrl: new URL('./no-such-worker.js', import.meta.url) });
  await assert.rejects(opening, is('worker-died', /no-such-worker/));
});

test('release lets what was asked be answered and refuses what comes later', async () => {
  const session = await create();
  const pending = session.step(FEEDS);
  const released = session.release();
  await assert.rejects(session.step(FEEDS), is('released'));
  assert.equal(typeof (await pending).loss, 'number');
  await released;
  await session.release();
  await assert.rejects(session.getLearningRate(), is('released'));
});

test('a session can be used with `await using`', async () => {
  const session = await create();
  await session[Symbol.asyncDispose]();
  await assert.rejects(session.getLearningRate(), is('released'));
});

test('the arrays of a user stay whole', async () => {
  const session = await create();
  await session.step(FEEDS);
  assert.equal(FEEDS.input.data.length, 4);
  assert.equal((await session.predict(FEEDS)).logits.data.length, 4);
  await session.release();
});

test('questions are answered one at a time, in order', async () => {
  const log = [];
  const client = await talk({
    open() {},
    async steps() {
      log.push('steps begins');
      await new Promise((resolve) => {
        setTimeout(resolve, 20);
      });
      log.push('steps ends');
    },
    resetGrad() {
      log.push('reset');
    },
  });
  await Promise.all([client.ask('steps'), client.ask('resetGrad')]);
  assert.deepEqual(log, ['steps begins', 'steps ends', 'reset']);
  await client.release();
});

test('errors keep code, sentence and node; an unknown one is internal', async () => {
  const client = await talk({
    open() {},
    steps() {
      throw new TrainletError('invalid-feed', "Gemm 'fc1': inner sizes differ", { node: 'fc1' });
    },
    optimize() {
      throw new TypeError('oops');
    },
  });
  await assert.rejects(
    client.ask('steps'),
    (error) => is('invalid-feed', /inner sizes/)(error) && error.node === 'fc1',
  );
  await assert.rejects(client.ask('optimize'), is('internal', /oops/));
  await client.release();
});

test('feeds and results are transferred, not copied', async () => {
  const engine = new FakeEngine();
  const client = await talk(engine);
  const buffer = new ArrayBuffer(16);
  const feeds = {
    tensors: [{ name: 'input', type: 'float32', dims: [2, 2], offset: 0, bytes: 16 }],
    sequences: [],
    buffer,
  };
  const answered = client.ask('step', { feeds, fetches: [], optimize: true }, [buffer]);
  assert.equal(buffer.byteLength, 0);
  await answered;
  const kept = new Float32Array(3);
  engine.copyOut = () => kept;
  assert.equal((await client.ask('copyOut', 'trainable')).length, 3);
  assert.equal(kept.length, 0);
  await client.release();
});

test('the signal stops a creation', async () => {
  await assert.rejects(TrainingSession.create(ARTIFACTS, { signal: AbortSignal.abort() }), is('aborted'));
});

test('the property bag is read at once and written through', async () => {
  const session = await create();
  session.properties.set('epoch', 3n);
  session.properties.set('best', 0.1);
  session.properties.set('labels', 'a,b');
  assert.deepEqual(
    [...session.properties.entries()],
    [
      ['epoch', 3n],
      ['best', Math.fround(0.1)],
      ['labels', 'a,b'],
    ],
  );
  assert.equal(session.properties.delete('labels'), true);
  assert.equal(session.properties.get('labels'), undefined);
  assert.throws(() => session.properties.set('x', 2n ** 64n), is('invalid-argument'));
  assert.throws(() => session.properties.set('x', NaN), is('invalid-argument', /finite/));
  assert.throws(() => session.properties.set('x', {}), is('invalid-argument'));
  await session.release();
});

test('options that are not known, or not yet, are refused', async () => {
  const open = (options, artifacts = ARTIFACTS) => TrainingSession.create(artifacts, options);
  await assert.rejects(
    open({ threads: 0 }),
    is('invalid-argument', /threads must be a whole number of at least 1 or 'auto', not 0/),
  );
  await assert.rejects(
    open({ externalData: { 'w.bin': [1] } }),
    is(
      'source-unreadable',
      /externalData\['w.bin'\] could not be loaded: expected a URL, a path, bytes, a Blob or a Response/,
    ),
  );
  await assert.rejects(open({ integrity: { train: 'sha256-' } }), is('invalid-argument', /no option 'train'/));
  await assert.rejects(open({}, { trainModel: NOTHING }), is('invalid-argument', /checkpointState is needed/));
  const session = await create();
  await assert.rejects(
    session.saveCheckpoint({ format: 'onnx' }),
    is('invalid-argument', /version 1 or 2 and the base, not 'onnx'/),
  );
  await assert.rejects(
    session.saveCheckpoint({ format: 'ort', version: 3 }),
    is('invalid-argument', /not 'ort' with version 3/),
  );
  await assert.rejects(session.saveCheckpoint({ version: 1 }), is('invalid-argument', /not 'trainlet' with version 1/));
  await assert.rejects(session.getParameter('v'), is('invalid-argument', /no parameter 'v'; there are w/));
  await assert.rejects(
    session.setParameter('w', { type: 'float32', data: new Float32Array(2), dims: [2] }),
    is('invalid-argument', /float32 \[1\], not float32 \[2\]/),
  );
  await assert.rejects(session.setLearningRate(-1), is('invalid-argument'));
  await session.release();
});

test('one fit at a time', async () => {
  const session = await create();
  const first = session.fit(examples(4));
  await assert.rejects(session.fit(examples(4)), is('invalid-argument', /running already/));
  assert.equal((await first).steps, 1);
  await session.release();
});

test('a process that forgot its sessions ends', async () => {
  const script = `
    import { TrainingSession } from ${JSON.stringify(fileURLToPath(new URL('../../../js/index.js', import.meta.url)))};
    const bytes = new Uint8Array(1);
    const session = await TrainingSession.create({ trainModel: bytes, checkpointState: bytes, optimizerModel: bytes },
      { workerUrl: new URL(${JSON.stringify(new URL('../../support/fake-worker.js', import.meta.url).href)}) });
    console.log(await session.getLearningRate());`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    timeout: 20_000,
  });
  assert.equal(stdout, '0.1\n');
});
