/** Options of any kind, with getters that throw too, end in a TrainletError or are taken. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TrainletError } from '../../../js/base/errors.js';
import { fineTune } from '../../../js/fine-tune/fine-tune.js';
import { evaluate } from '../../../js/fit/evaluate.js';
import { fit } from '../../../js/fit/fit.js';
import { FIT_KEYS } from '../../../js/fit/options.js';
import { examples, FakeEngine, sessionOf } from '../../support/fake-engine.js';

const trap = () =>
  Object.defineProperty({}, 'type', {
    enumerable: true,
    get() {
      throw new Error('a getter');
    },
  });
const fails = () => {
  throw new Error('a proxy');
};
const odd = () => [
  null,
  7,
  -1,
  NaN,
  1e300,
  'x',
  '',
  true,
  [],
  [null],
  [{}],
  [trap()],
  {},
  { a: null },
  Symbol('s'),
  10n,
  trap(),
  new Proxy({}, { get: fails, ownKeys: fails }),
  Object.create(null),
  () => {},
  new Map(),
  Promise.resolve(1),
];
/** Options within options. */
const INSIDE = [
  ['ema', ['decay'], {}],
  ['earlyStopping', ['patience', 'monitor', 'minDelta', 'restoreBest'], { patience: 1 }],
  [
    'checkpoint',
    ['store', 'name', 'everySteps', 'everyMs', 'everyEpochs', 'base'],
    { store: { save: async () => 1 }, name: 'x' },
  ],
  ['budget', ['maxMs', 'pauseWhenHidden', 'saveBattery'], {}],
  ['cacheFeatures', ['maxBytes', 'store'], {}],
  ['schedule', ['type', 'lr', 'steps', 'warmup'], { type: 'cosine', lr: 0.1 }],
  ['schedule', ['patience', 'factor', 'monitor', 'minLr'], { type: 'plateau', lr: 0.1 }],
  ['augment', ['steps', 'input', 'layout'], { steps: ['noise'] }],
  ['classWeight', ['0', 'x'], {}],
  ['validation', ['share', 'splitBy', 'inputs', 'labels'], { share: 0.5 }],
];

/** @param {string} what @param {() => Promise<unknown>} work */
async function endsInOurs(what, work) {
  try {
    await work();
  } catch (error) {
    assert.ok(error instanceof TrainletError, `${what}: ${error.stack}`);
  }
}

const train = (options) =>
  fit(sessionOf(new FakeEngine()), examples(6), { batchSize: 4, epochs: 2, maxSteps: 3, onWarning() {}, ...options });

test('each option of fit, evaluate and fineTune, whatever it is', async () => {
  for (const key of FIT_KEYS)
    for (const [i, value] of odd().entries()) await endsInOurs(`${key} ${i}`, () => train({ [key]: value }));
  for (const key of ['batchSize', 'metrics', 'bytes', 'ema', 'adapter', 'signal'])
    for (const [i, value] of odd().entries())
      await endsInOurs(`evaluate ${key} ${i}`, () =>
        evaluate(sessionOf(new FakeEngine()), examples(6), { batchSize: 4, [key]: value }),
      );
  for (const key of ['epochs', 'lr', 'validation', 'augment', 'budget', 'checkpoint', 'replay', 'accept', 'signal'])
    for (const [i, value] of odd().entries())
      await endsInOurs(`fineTune ${key} ${i}`, () => fineTune(new Uint8Array(), {}, { [key]: value }));
});

test('each option within an option of fit', async () => {
  for (const [key, names, more] of INSIDE)
    for (const name of names)
      for (const [i, value] of odd().entries())
        await endsInOurs(`${key}.${name} ${i}`, () => train({ [key]: { ...more, [name]: value } }));
});
