/** configure: options of the engine, said once for all that is made afterwards. */

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { configure, generateArtifacts, InferenceSession, TrainingSession } from '../../../js/index.js';
import { RANDOM_MODEL, randomFeeds } from '../../support/slow-models.js';

const OPTIONS = { loss: 'cross-entropy', optimizer: 'sgd' };
const KEYS = ['worker', 'threads', 'reproducible', 'wasmUrl', 'workerUrl', 'wasmBinary'];
afterEach(() => configure(Object.fromEntries(KEYS.map((key) => [key, undefined]))));

let workers = 0;
process.on('worker', () => workers++);

/** Counts the workers that a session starts. @param {import('../../../js/types.js').SessionOptions} [options] */
async function started(options) {
  const before = workers;
  const session = await InferenceSession.create(RANDOM_MODEL, options);
  await session.release();
  return workers - before;
}

test("what is configured holds for later sessions, a call's own option goes first", async () => {
  configure({ threads: 1 });
  assert.equal(await started(), 1);
  configure({ worker: false });
  assert.equal(await started(), 0);
  assert.equal(await started({ worker: undefined }), 0);
  assert.equal(await started({ worker: true }), 1); // one thread: no helper starts
  configure({ worker: undefined });
  assert.equal(await started(), 1);
});

test('artifacts are made and trained with it, in one worker', async () => {
  configure({ threads: 1, reproducible: true });
  const before = workers;
  const session = await TrainingSession.create(await generateArtifacts(RANDOM_MODEL, OPTIONS));
  assert.ok((await session.step(randomFeeds(0))).loss > 0);
  await session.release();
  assert.equal(workers - before, 1);
});

test('an engine that was made before is not taken over', async () => {
  configure({ threads: 1 });
  await generateArtifacts(RANDOM_MODEL, OPTIONS);
  configure({ reproducible: true });
  assert.equal(await started(), 1);
});

test('a wasm file that is not there is named', async () => {
  configure({ wasmUrl: 'nowhere/trainlet.wasm' });
  await assert.rejects(generateArtifacts(RANDOM_MODEL, OPTIONS), {
    code: 'source-unreadable',
    message: /nowhere\/trainlet\.wasm/,
  });
});

for (const [options, message] of [
  [{ wasmURL: '/trainlet.wasm' }, /^configure: there is no option 'wasmURL'; it knows worker, threads, /],
  [{ maxWork: 1 }, /^configure: there is no option 'maxWork'/],
  [{ threads: 0 }, /^configure: threads must be a whole number of at least 1 or 'auto', not 0$/],
  ['/trainlet.wasm', /^configure: wanted an object, not '\/trainlet\.wasm'$/],
])
  test(`configure(${JSON.stringify(options)}) is refused`, () => {
    assert.throws(() => configure(/** @type {any} */ (options)), { code: 'invalid-argument', message });
  });
