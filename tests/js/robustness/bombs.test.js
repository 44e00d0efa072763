// Bombs: each small file that asks for much is refused with one sentence or done, soon, and within its memory.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { BOMBS, LARGE } from '../../support/bombs.js';

const SMALL = 2048; // bytes of a bomb
const SECONDS = 2; // processor time, for each of run, artifacts and training
const HANGS_MS = 60_000; // clock time, where the machine may have much else to do
const ITSELF_BYTES = 2e6; // the engine's own data and stack, and pages that memory grows by
const LIMITS = { maxMemoryBytes: 64e6, maxWork: 5e8 };
const REFUSALS = ['invalid-model', 'unsupported-op', 'out-of-memory', 'too-much-work', 'non-finite-loss'];

let worker;
after(() => worker?.terminate());

/** The worker's answer; a silent or dead one is given up. */
async function setOff(name, limits) {
  worker ??= new Worker(new URL('../../support/bombs-worker.js', import.meta.url));
  const { promise, resolve, reject } = withResolvers();
  const timer = setTimeout(() => reject(new Error(`it has not ended after ${HANGS_MS} ms`)), HANGS_MS);
  const listeners = {
    message: resolve,
    error: reject,
    exit: (code) => reject(new Error(`the worker ended with ${code}`)),
  };
  for (const [event, listener] of Object.entries(listeners)) worker.on(event, listener);
  worker.postMessage({ name, limits });
  try {
    return await promise;
  } catch (error) {
    void worker.terminate();
    worker = undefined;
    throw error;
  } finally {
    clearTimeout(timer);
    for (const [event, listener] of Object.entries(listeners)) worker?.off(event, listener);
  }
}

function withResolvers() {
  let resolve, reject;
  const promise = new Promise((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

function checkEnd({ what, error, seconds, bytes }, { maxMemoryBytes, most }) {
  if (error) {
    assert.equal(error.name, 'TrainletError', `${what}: ${error.message}`);
    assert.ok(REFUSALS.includes(error.code), `${what}: ${error.code}: ${error.message}`);
    assert.match(error.message, /^[^\n]{20,1000}$/, what);
  }
  assert.ok(seconds < most, `${what} took ${seconds} s`);
  assert.ok(bytes <= maxMemoryBytes + ITSELF_BYTES, `${what} took ${bytes} bytes`);
}

const toldOf = ({ what, error, seconds, bytes }) =>
  `${what}: ${error?.code ?? 'done'}, ${seconds.toFixed(2)} s, ${Math.round(bytes / 1e6)} MB`;

test('they are many, and each another one', () => {
  const names = [...BOMBS, ...LARGE].map(([name]) => name);
  assert.equal(new Set(names).size, names.length);
  assert.ok(BOMBS.length >= 120, `${BOMBS.length}`);
});

for (const [name] of BOMBS) {
  test(`a bomb: ${name}`, async (t) => {
    const { modelBytes, ends } = await setOff(name, LIMITS);
    assert.ok(modelBytes <= SMALL, `it has ${modelBytes} bytes`);
    t.diagnostic(ends.map(toldOf).join(' · '));
    for (const end of ends) checkEnd(end, { ...LIMITS, most: SECONDS });
  });
}

for (const [name] of LARGE) {
  test(`a large file: ${name}`, async (t) => {
    const limits = { ...LIMITS, maxMemoryBytes: 512e6 };
    const { ends } = await setOff(name, limits);
    t.diagnostic(ends.map(toldOf).join(' · '));
    for (const end of ends) checkEnd(end, { ...limits, most: 5 * SECONDS });
  });
}
