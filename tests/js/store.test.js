/** The checkpoint store in both its rooms: versions, meta, names, a full disk, and a kill in the middle of a save. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { IDBFactory, IDBKeyRange, IDBObjectStore } from 'fake-indexeddb';
import { readSource } from '../../js/source.js';
import { CheckpointStore } from '../../js/store.js';

const bytes = (n, value = n) => new Uint8Array(n).fill(value);

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

  test('saves of one name at one time are all whole', async () => {
    const store = await open();
    await Promise.all([1, 2, 3, 4].map((n) => store.save('same', bytes(n))));
    assert.deepEqual((await store.load('same')).bytes, bytes(4));
    await store.delete('same');
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
  before(async () => { directory = await mkdtemp(path.join(tmpdir(), 'trainlet-store-')); });
  after(() => rm(directory, { recursive: true }));
  behaves(() => CheckpointStore.open({ directory, keep: 2 }));

  test('the last versions stay as plain files, and what a kill left is removed', async () => {
    const store = await CheckpointStore.open({ directory, keep: 2 });
    await writeFile(path.join(directory, 'plain.00000009.json'), '{}');
    await writeFile(path.join(directory, 'plain.00000001.ckpt.x.tmp'), 'torn');
    for (const n of [1, 2, 3]) await store.save('plain', bytes(n));
    assert.deepEqual((await readdir(directory)).sort(), [2, 3].flatMap((n) => [`plain.0000000${n}.ckpt`, `plain.0000000${n}.json`]));
    assert.deepEqual(await readSource('checkpointState', path.join(directory, 'plain.00000003.ckpt'), {}), bytes(3));
  });

  test('a kill at any moment leaves the last whole save', async () => {
    const script = `
      import { CheckpointStore } from ${JSON.stringify(new URL('../../js/store.js', import.meta.url).href)};
      const store = await CheckpointStore.open({ directory: process.argv[1], keep: 1 });
      for (let n = 1; ; n++) {
        await store.save('killed', new Uint8Array(300_000).fill(n % 251), { n });
        console.log(n);
      }`;
    for (let round = 0; round < 4; round++) {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
      let told = 0;
      child.stdout.on('data', (text) => { told = Number(String(text).trim().split('\n').at(-1)); });
      await once(child.stdout, 'data');
      await new Promise((resolve) => { setTimeout(resolve, 20 + 17 * round); });
      child.kill('SIGKILL');
      await once(child, 'close');
      const { bytes: found, meta } = await (await CheckpointStore.open({ directory })).load('killed');
      assert.ok(meta.n >= told, `saved ${told}, found ${meta.n}`);
      assert.deepEqual(found, bytes(300_000, meta.n % 251));
    }
  });

  test('a folder that cannot be is one sentence', async () => {
    await writeFile(path.join(directory, 'file'), '');
    await assert.rejects(CheckpointStore.open({ directory: path.join(directory, 'file', 'x') }), { code: 'store-failed', message: /could not be made/ });
    await assert.rejects(CheckpointStore.open({ database: 'x' }), { code: 'unsupported-browser' });
    await assert.rejects(CheckpointStore.open({ keep: 0 }), { code: 'invalid-argument' });
    await assert.rejects(CheckpointStore.open({ dir: 'x' }), { code: 'invalid-argument' });
  });
});

describe('IndexedDB', () => {
  before(() => { Object.assign(globalThis, { indexedDB: new IDBFactory(), IDBKeyRange }); });
  after(() => { delete globalThis.indexedDB; });
  behaves(() => CheckpointStore.open({ database: 'test', keep: 2 }));

  test('a source named indexeddb:… is read from the store', async () => {
    await (await CheckpointStore.open()).save('model', bytes(7));
    assert.deepEqual(await readSource('checkpointState', 'indexeddb:model', {}), bytes(7));
    await assert.rejects(readSource('checkpointState', 'indexeddb:none', {}), { code: 'source-unreadable', message: /no checkpoint 'none'/ });
  });

  test('a full storage is quota-exceeded, and the save before it stays', async (t) => {
    const store = await CheckpointStore.open({ database: 'full' });
    await store.save('run', bytes(3), { n: 1 });
    t.mock.method(IDBObjectStore.prototype, 'put', () => { throw new DOMException('full', 'QuotaExceededError'); });
    await assert.rejects(store.save('run', bytes(4), { n: 2 }), { code: 'quota-exceeded', message: /the storage is full/ });
    t.mock.restoreAll();
    assert.deepEqual((await store.load('run')).meta, { n: 1 });
  });

  test('a save that cannot be cloned changes nothing', async () => {
    const store = await CheckpointStore.open({ database: 'clone' });
    await store.save('run', bytes(3), { n: 1 });
    await assert.rejects(store.save('run', bytes(4), { n: () => 2 }), { code: 'store-failed' });
    assert.deepEqual((await store.load('run')).bytes, bytes(3));
  });
});
