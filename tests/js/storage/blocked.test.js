/** Storage that the browser blocks: its getter throws, as in a frame without an origin. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CheckpointStore, FeatureStore, SampleStore } from '../../../js/index.js';

before(() => {
  Object.defineProperty(globalThis, 'indexedDB', {
    configurable: true,
    get() {
      throw new DOMException('The operation is insecure.', 'SecurityError');
    },
  });
});
after(() => {
  delete globalThis.indexedDB;
});

for (const store of [CheckpointStore, SampleStore, FeatureStore])
  test(`${store.name}.open says that IndexedDB is blocked`, async () => {
    await assert.rejects(store.open(), {
      name: 'TrainletError',
      code: 'store-failed',
      message: 'IndexedDB could not be opened: The operation is insecure.',
    });
  });
