/** Code that is loaded when it is first used: what is told where it cannot be. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TrainletError } from '../../../js/base/errors.js';
import { lazy } from '../../../js/base/lazy.js';

test('what could not be loaded is a sentence with a code, and its cause', async () => {
  const cause = new TypeError('Failed to fetch dynamically imported module: https://page/fit.js');
  const error = await lazy(() => Promise.reject(cause)).then(assert.fail, (reason) => reason);
  assert.ok(error instanceof TrainletError);
  assert.equal(error.code, 'source-unreadable');
  assert.equal(error.cause, cause);
  assert.match(error.message, /^a part of trainlet could not be loaded \(offline, .*\): Failed to fetch.*fit\.js$/);
});

test('in a service worker, which has no import(), the file to import is named', async (t) => {
  Object.assign(globalThis, { ServiceWorkerGlobalScope: class {} });
  t.after(() => Reflect.deleteProperty(globalThis, 'ServiceWorkerGlobalScope'));
  await assert.rejects(
    lazy(() => Promise.reject(new TypeError('import() is disallowed'))),
    {
      code: 'source-unreadable',
      message: /\(a service worker needs trainlet\.min\.js, or a bundle in one file\): import\(\) is disallowed$/,
    },
  );
});

test('what was loaded is given', async () => {
  assert.equal((await lazy(() => import('../../../js/fit/fit.js'))).fit.name, 'fit');
});
