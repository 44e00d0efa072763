/**
 * The checkpoint store in both its rooms: versions, meta, names; and IndexedDB: a full storage, one that is cleared,
 * damaged or silent.
 */

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { forceCloseDatabase, IDBFactory, IDBKeyRange, IDBObjectStore } from 'fake-indexeddb';
import { readSource } from '../../../js/sources/source.js';
import { CheckpointStore } from '../../../js/storage/checkpoint-store.js';

const bytes = (n, value = n) => new Uint8Array(n).fill(value);

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
const settled = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** @param {() => Promise<CheckpointStore>} open with keep 2 */
function behaves(open) {
  test('what is saved is loaded, the newest version', async () => {
    const store = await open();
    assert.equal(await store.load('run'), undefined);
    await store.save('run', bytes(3), { epoch: 1 });
    await store.save('run', bytes(5), { epoch: 2 });
    await store.save('run', bytes(4), { epoch: 3 });
    const found = await (await open()).load('run');
    assert.deepEqual(found.bytes, bytes(4));
    assert.deepEqual(found.meta, { epoch: 3 });
    assert.ok(Math.abs(found.savedAt - Date.now()) < 10_000);
    await store.delete('run');
    assert.equal(await store.load('run'), undefined);
  });

  test('any name is a name, and none is mistaken for another', async () => {
    const store = await open();
    const names = ['a', 'a.b', 'ab', '../a', 'ä/ö 语', 'A%2e', '.', 'x'.repeat(60)];
    await Promise.all(names.map((name, i) => store.save(name, bytes(i + 1))));
    const listed = (await store.list()).map(({ name, bytes: size }) => [name, size]).sort();
    assert.deepEqual(listed, names.map((name, i) => [name, i + 1]).sort());
    await store.delete('a');
    assert.deepEqual((await store.load('a.b')).bytes, bytes(2));
    for (const name of names) await store.delete(name);
    assert.deepEqual(await store.list(), []);
  });

  test('a version that diverged drops none that has not', async () => {
    const store = await open();
    const kept = async () => (await store.versions('poisoned')).map(({ version }) => version);
    const save = (n, diverged) => store.save('poisoned', bytes(n), { n, ...(diverged && { diverged }) });
    for (const n of [1, 2, 3]) await save(n, false);
    for (const n of [4, 5, 6]) await save(n, true);
    assert.deepEqual(await kept(), [2, 3, 5, 6]);
    assert.deepEqual((await store.load('poisoned')).meta, { n: 6, diverged: true });
    assert.deepEqual((await store.load('poisoned', { version: 3 })).bytes, bytes(3));
    await save(7, false);
    assert.deepEqual(await kept(), [3, 7]);
    await store.delete('poisoned');
  });

  test('saves of one name at one time are all whole', async () => {
    const store = await open();
    await Promise.all([1, 2, 3, 4].map((n) => store.save('same', bytes(n))));
    assert.deepEqual((await store.load('same')).bytes, bytes(4));
    await store.delete('same');
  });

  test('two that save under one name, each in its own time, make versions of their own', async () => {
    const stores = await Promise.all([open(), open(), open()]);
    const saves = stores.flatMap((store, i) => [1, 2, 3].map((n) => store.save('shared', bytes(10 * i + n), { i, n })));
    const versions = await Promise.all(saves);
    assert.equal(new Set(versions).size, 9);
    const { meta, version, bytes: found, skipped } = await stores[0].load('shared');
    assert.deepEqual([version, found, skipped], [Math.max(...versions), bytes(10 * meta.i + meta.n), []]);
    await stores[0].delete('shared');
  });

  test('versions are listed and reached by number', async () => {
    const store = await open();
    for (const n of [1, 2, 3]) assert.equal(await store.save('run', bytes(n), { n }), n);
    const listed = await store.versions('run');
    assert.deepEqual(
      listed.map(({ version, bytes: size, meta }) => [version, size, meta]),
      [
        [2, 2, { n: 2 }],
        [3, 3, { n: 3 }],
      ],
    );
    for (const { savedAt } of listed) assert.ok(Math.abs(savedAt - Date.now()) < 60_000);
    const { savedAt, ...second } = await store.load('run', { version: 2 });
    assert.deepEqual(second, { bytes: bytes(2), meta: { n: 2 }, version: 2, skipped: [] });
    assert.equal(await store.load('run', { version: 1 }), undefined);
    assert.deepEqual(await store.versions('none'), []);
    await assert.rejects(store.load('run', { versoin: 2 }), { code: 'invalid-argument' });
    await store.delete('run');
  });

  test('bytes and meta are those of the call, whatever becomes of them', async () => {
    const store = await open();
    const content = bytes(4),
      meta = { list: [1] };
    const saving = [store.save('call', bytes(1)), store.save('call', content, meta)];
    content.fill(9);
    meta.list.push(2);
    await Promise.all(saving);
    const found = await store.load('call');
    assert.deepEqual([found.bytes, found.meta], [bytes(4), { list: [1] }]);
    await store.delete('call');
  });

  test('a name must be a string that can be told again', async () => {
    const store = await open();
    for (const name of ['', '\ud800', 'a\udc00b', 7, undefined, null, ['a']]) {
      const refused = { code: 'invalid-argument', message: /name must be a string with a character in it/ };
      await assert.rejects(store.save(name, bytes(1)), refused);
      await assert.rejects(store.load(name), refused);
      await assert.rejects(store.delete(name), refused);
      await assert.rejects(store.versions(name), refused);
    }
    for (const name of ['\0', '\u{1f600}', '%', ' ', 'line\nline']) {
      await store.save(name, bytes(3));
      assert.deepEqual(
        (await store.list()).map((listed) => listed.name),
        [name],
      );
      await store.delete(name);
    }
    await assert.rejects(store.save('x', 'bytes'), {
      code: 'invalid-argument',
      message: /'x': what is saved must be a Uint8Array, not \[object String\]/,
    });
    assert.deepEqual(await store.list(), []);
  });

  test('only the view is kept of a large buffer', async () => {
    const store = await open();
    await store.save('view', bytes(100).subarray(10, 12));
    assert.deepEqual((await store.load('view')).bytes, bytes(2, 100));
    await store.delete('view');
  });
}

describe('a folder of Node', () => {
  let directory = '';
  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'trainlet-store-'));
  });
  after(() => rm(directory, { recursive: true }));
  behaves(() => CheckpointStore.open({ directory, keep: 2 }));

  test('a folder that cannot be is one sentence', async () => {
    await writeFile(path.join(directory, 'file'), '');
    await assert.rejects(CheckpointStore.open({ directory: path.join(directory, 'file', 'x') }), {
      code: 'store-failed',
      message: /could not be made/,
    });
    await assert.rejects(CheckpointStore.open({ database: 'x' }), { code: 'unsupported-browser' });
    await assert.rejects(CheckpointStore.open({ keep: 0 }), { code: 'invalid-argument' });
    await assert.rejects(CheckpointStore.open({ dir: 'x' }), { code: 'invalid-argument' });
  });
});

describe('IndexedDB', () => {
  before(() => {
    Object.assign(globalThis, { indexedDB: new IDBFactory(), IDBKeyRange });
  });
  after(() => {
    delete globalThis.indexedDB;
  });
  behaves(() => CheckpointStore.open({ database: 'test', keep: 2 }));

  test('a source named indexeddb:… is read from the store', async () => {
    await (await CheckpointStore.open()).save('model', bytes(7));
    assert.deepEqual(await readSource('checkpointState', 'indexeddb:model', {}), bytes(7));
    await assert.rejects(readSource('checkpointState', 'indexeddb:none', {}), {
      code: 'source-unreadable',
      message: /no checkpoint 'none'/,
    });
  });

  test('a source names a database and a version, too', async () => {
    const store = await CheckpointStore.open({ database: 'other one&more', keep: 3 });
    for (const n of [1, 2, 3]) await store.save('a?b=ä%', bytes(n));
    await store.save('plain', bytes(4));
    const read = (source) => readSource('checkpointState', `indexeddb:${source}`, {});
    const [name, database] = [encodeURIComponent('a?b=ä%'), encodeURIComponent('other one&more')];
    assert.deepEqual(await read(`${name}?database=${database}`), bytes(3));
    assert.deepEqual(await read(`${name}?database=${database}&version=2`), bytes(2));
    assert.deepEqual(await read(`${name}?version=1&database=${database}`), bytes(1));
    assert.deepEqual(await read(`plain?database=${database}`), bytes(4));
    const refused = (source, code, message) => assert.rejects(read(source), { code, message });
    await refused(`plain?database=${database}&version=9`, 'source-unreadable', /no version 9 of checkpoint 'plain'/);
    await refused('plain?database=nowhere', 'source-unreadable', /the store has no checkpoint 'plain'$/);
    for (const version of ['0', 'x', '', '1.5'])
      await refused(
        `plain?version=${version}`,
        'invalid-argument',
        /the version in 'indexeddb:.*' must be a whole number/,
      );
    await refused('100%?version=1', 'invalid-argument', /is not percent-encoded, as %3F for \?/);
  });

  test('a name without database and version is taken as it is, whatever is in it', async () => {
    const store = await CheckpointStore.open();
    for (const name of ['100%', 'a%3Fb', 'why?', 'a?b=c', 'x?versions=2', 'x?version=2?', 'a/b#c&version=1']) {
      await store.save(name, bytes(6));
      assert.deepEqual(await readSource('checkpointState', `indexeddb:${name}`, {}), bytes(6), name);
    }
    await store.save('x?version=2', bytes(5)); // one that ends so is encoded, with a database
    const encoded = `indexeddb:${encodeURIComponent('x?version=2')}?database=trainlet`;
    assert.deepEqual(await readSource('checkpointState', encoded, {}), bytes(5));
  });

  test('a full storage is quota-exceeded, and the save before it stays', async (t) => {
    const store = await CheckpointStore.open({ database: 'full' });
    await store.save('run', bytes(3), { n: 1 });
    t.mock.method(IDBObjectStore.prototype, 'put', () => {
      throw new DOMException('full', 'QuotaExceededError');
    });
    await assert.rejects(store.save('run', bytes(4), { n: 2 }), {
      code: 'quota-exceeded',
      message: /the storage is full/,
    });
    t.mock.restoreAll();
    assert.deepEqual((await store.load('run')).meta, { n: 1 });
  });

  test('a version with the largest number hides no later save', async () => {
    const store = await CheckpointStore.open({ database: 'planted', keep: 1 });
    await store.save('run', bytes(1));
    const db = await settled(indexedDB.open('planted'));
    const transaction = db.transaction(['info', 'bytes'], 'readwrite');
    const key = ['run', Number.MAX_SAFE_INTEGER];
    await settled(transaction.objectStore('info').put({ bytes: 2, savedAt: new Date(), meta: {} }, key));
    await settled(transaction.objectStore('bytes').put(bytes(2), key));
    db.close();
    for (const n of [3, 4]) {
      await store.save('run', bytes(n), { n });
      assert.deepEqual((await store.load('run')).meta, { n });
    }
  });

  test('a save that cannot be cloned changes nothing', async () => {
    const store = await CheckpointStore.open({ database: 'clone' });
    await store.save('run', bytes(3), { n: 1 });
    await assert.rejects(store.save('run', bytes(4), { n: () => 2 }), { code: 'store-failed' });
    assert.deepEqual((await store.load('run')).bytes, bytes(3));
  });

  test('a database that was deleted or closed by the browser is opened again', async (t) => {
    const store = await CheckpointStore.open({ database: 'cleared' });
    await store.save('run', bytes(3));
    await settled(indexedDB.deleteDatabase('cleared'));
    assert.equal(await store.load('run'), undefined);
    assert.equal(await store.save('run', bytes(4)), 1);

    for (const [n, shut] of [
      [5, forceCloseDatabase],
      [6, (db) => db.close()],
    ]) {
      // with an event, and without
      let opened;
      const { open } = IDBFactory.prototype;
      t.mock.method(IDBFactory.prototype, 'open', function remember(...values) {
        const request = open.apply(this, values);
        request.addEventListener('success', () => {
          opened = request.result;
        });
        return request;
      });
      const other = await CheckpointStore.open({ database: 'cleared' });
      t.mock.restoreAll();
      shut(opened);
      await other.save('run', bytes(n));
      assert.deepEqual((await store.load('run')).bytes, bytes(n));
    }
  });

  test('a save that the browser aborts is made again', async (t) => {
    const store = await CheckpointStore.open({ database: 'aborted' });
    await store.save('run', bytes(3));
    const { put } = IDBObjectStore.prototype;
    let times = 0;
    t.mock.method(IDBObjectStore.prototype, 'put', function aborted(...values) {
      const request = put.apply(this, values);
      if (times++ === 1) this.transaction.abort();
      return request;
    });
    assert.equal(await store.save('run', bytes(4)), 2);
    assert.ok(times > 2, 'nothing was aborted');
    assert.deepEqual((await store.load('run')).bytes, bytes(4));
  });

  /** The stores of a database, to do harm in. */
  async function harm(database, work) {
    const db = await settled(indexedDB.open(database));
    const transaction = db.transaction(['info', 'bytes'], 'readwrite');
    work({ info: transaction.objectStore('info'), bytes: transaction.objectStore('bytes') });
    await new Promise((resolve) => {
      transaction.oncomplete = resolve;
    });
    db.close();
  }

  test('a version that lost or changed its bytes is passed over, and named', async () => {
    const store = await CheckpointStore.open({ database: 'harmed', keep: 3 });
    for (const n of [1, 2, 3]) await store.save('run', bytes(n + 5), { n });
    await harm('harmed', (stores) => {
      stores.bytes.put(bytes(8, 1), ['run', 3]);
      stores.bytes.delete(['run', 2]);
    });
    const { version, meta, skipped } = await store.load('run');
    const reasons = [
      { version: 3, reason: 'has other bytes than were saved' },
      { version: 2, reason: 'has lost its bytes' },
    ];
    assert.deepEqual([version, meta, skipped], [1, { n: 1 }, reasons]);
    const corrupt = /^checkpoint 'run' could not be loaded: version 3 has other bytes than were saved$/;
    await assert.rejects(store.load('run', { version: 3 }), { code: 'checkpoint-corrupt', message: corrupt });
    await harm('harmed', (stores) => stores.bytes.clear());
    await assert.rejects(store.load('run'), {
      code: 'checkpoint-corrupt',
      message: /version 3 has lost its bytes; version 2 has .*; version 1 has/,
    });
  });

  test('records of the format before, without a checksum, are read', async () => {
    const store = await CheckpointStore.open({ database: 'before' });
    const savedAt = new Date(5);
    await harm('before', (stores) => {
      stores.info.put({ savedAt, bytes: 3, meta: { n: 1 } }, ['run', 4]);
      stores.bytes.put(bytes(3), ['run', 4]);
    });
    assert.deepEqual(await store.load('run'), { bytes: bytes(3), meta: { n: 1 }, savedAt, version: 4, skipped: [] });
    assert.equal(await store.save('run', bytes(2)), 5);
  });

  test('where the context is not secure there is no checksum, and all else is as elsewhere', async (t) => {
    const store = await CheckpointStore.open({ database: 'plain' });
    await store.save('run', bytes(3));
    t.mock.getter(Crypto.prototype, 'subtle', () => undefined);
    assert.equal(await store.save('run', bytes(4)), 2);
    for (const version of [1, 2]) assert.deepEqual((await store.load('run', { version })).bytes, bytes(version + 2));
    await harm('plain', (stores) => stores.bytes.put(bytes(9), ['run', 2]));
    assert.deepEqual((await store.load('run')).skipped, [{ version: 2, reason: 'has lost its bytes' }]);
  });

  test('a storage that does not answer is an error after a while', async (t) => {
    const store = await CheckpointStore.open({ database: 'silent' });
    await store.save('run', bytes(3));
    t.mock.timers.enable({ apis: ['setInterval'] });
    const hold = [];
    const { getAllKeys } = IDBObjectStore.prototype;
    t.mock.method(IDBObjectStore.prototype, 'getAllKeys', function silent(...values) {
      if (this.transaction.mode === 'readonly') return getAllKeys.apply(this, values);
      hold.push(() => this.transaction.abort());
      return {}; // a request that is never answered
    });
    const saving = store.save('run', bytes(4));
    while (!hold.length) await new Promise(setImmediate);
    t.mock.timers.tick(14_000);
    const told = {
      code: 'store-failed',
      message:
        /'run' could not be saved: the storage did not answer within 16 s; what was asked of it may still be done/,
    };
    const refused = assert.rejects(saving, told);
    t.mock.timers.tick(2000);
    await refused;
    t.mock.restoreAll();
    for (const abort of hold)
      try {
        abort();
      } catch {
        /* it is over */
      }
    assert.equal(await store.save('run', bytes(5)), 2);
    assert.deepEqual((await store.load('run')).bytes, bytes(5));
  });

  test('a save that was given up does not come after what is newer', async (t) => {
    await (await CheckpointStore.open({ database: 'late' })).save('run', bytes(3));
    const { open } = IDBFactory.prototype;
    const silent = {};
    t.mock.timers.enable({ apis: ['setInterval'] });
    t.mock.method(IDBFactory.prototype, 'open', () => silent);
    const opening = assert.rejects(CheckpointStore.open({ database: 'late' }), {
      code: 'store-failed',
      message: /could not be opened: the storage did not answer within 15 s/,
    });
    await new Promise((resolve) => {
      setTimeout(resolve, 50); // until it waits for the storage
    });
    t.mock.timers.tick(15_000);
    await opening;
    t.mock.restoreAll();

    const store = await CheckpointStore.open({ database: 'late' });
    await settled(indexedDB.deleteDatabase('late')); // so that it opens again
    t.mock.method(IDBFactory.prototype, 'open', () => silent);
    const saving = assert.rejects(store.save('run', bytes(4)), { code: 'store-failed' });
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
    t.mock.timers.tick(16_000);
    await saving;
    t.mock.restoreAll();
    assert.equal(await store.save('run', bytes(5)), 1);
    silent.result = await settled(open.call(indexedDB, 'late', 1));
    silent.onsuccess(); // now the first one could go on
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
    assert.deepEqual(
      (await store.versions('run')).map(({ bytes: size }) => size),
      [5],
    );
  });

  test('the browser is asked to keep the storage', async (t) => {
    const store = await CheckpointStore.open({ database: 'kept' });
    t.after(() => {
      delete globalThis.navigator;
    });
    for (const answer of [true, false]) {
      Object.defineProperty(globalThis, 'navigator', {
        configurable: true,
        value: { storage: { persist: async () => answer } },
      });
      assert.equal(await store.persist(), answer);
    }
    Object.defineProperty(globalThis, 'navigator', { configurable: true, value: {} });
    assert.equal(await store.persist(), false);
  });
});
