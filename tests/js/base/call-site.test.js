/** Errors of what happens in a worker show where in the caller's code it was asked for. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';

const MODEL = fileURLToPath(new URL('../../golden/data/mlp_small.onnx', import.meta.url));
const labels = new Tensor('int64', [0, 1]);
const [input, wrong] = [20, 19].map((width) => new Tensor('float32', new Float32Array(2 * width), [2, width]));
const good = { inputs: { input }, labels: { labels } };
const bad = { inputs: { input: wrong }, labels: { labels } };

/** @type {TrainingSession} */
let session;
before(async () => {
  session = await TrainingSession.create(await generateArtifacts(MODEL, { loss: 'cross-entropy' }));
});
after(() => session.release());

/** The one who made the mistake, and awaits it. @param {() => Promise<unknown>} call */
const blunder = async (call) => await call();

/** @type {Record<string, () => Promise<unknown>>} */
const MISTAKES = {
  step: () => session.step({ input: wrong, labels }),
  runTrainStep: () => session.runTrainStep({ input: wrong, labels }),
  predict: () => session.predict({ input: wrong }),
  fit: () => session.fit(bad),
  'fit of a stream': () =>
    session.fit([
      { input, labels },
      { input: wrong, labels },
    ]),
  validation: () => session.fit(good, { validation: bad }),
  evaluate: () => session.evaluate(bad),
  artifacts: () => generateArtifacts(MODEL, { loss: /** @type {'mse'} */ ('nope') }),
  'a missing model': () => generateArtifacts('missing.onnx'),
  'a model that is none': () => InferenceSession.create(new Uint8Array(30)),
};

for (const [name, call] of Object.entries(MISTAKES)) {
  test(`${name}: the stack begins with the sentence and leads to the call`, async () => {
    const error = await blunder(call).then(assert.fail, (reason) => reason);
    const [title, ...frames] = error.stack.split('\n');
    assert.equal(title, `TrainletError: ${error.message}`);
    assert.ok(
      frames.some((/** @type {string} */ frame) => frame.includes('blunder') && frame.includes('call-site.test.js')),
      error.stack,
    );
  });
}
