/**
 * Checkpoints in a folder: nobody else's files are touched, damage is seen, and the files of the format before are
 * read.
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { readSource } from '../../../js/sources/source.js';
import { CheckpointStore } from '../../../js/storage/checkpoint-store.js';
import { buildDist } from '../../../tools/dist.mjs';

const bytes = (n, value = n) => new Uint8Array(n).fill(value);

let directory = '';
beforeEach(async () => {
  directory = await fs.mkdtemp(path.join(tmpdir(), 'trainlet-folder-'));
});
afterEach(() => fs.rm(directory, { recursive: true }));

const at = (file) => path.join(directory, file);
const open = (keep = 2) => CheckpointStore.open({ directory, keep });
const listed = async () => (await fs.readdir(directory)).sort();

/** Puts a function in the place of one of Node's for a test. */
function replace(t, name, work) {
  const whole = fs[name];
  t.mock.method(fs, name, (...values) => work(whole, ...values));
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
}

test('files of someone else stay, whatever they are called, and break nothing', async () => {
  const foreign = [
    'model.onnx',
    'model.py',
    '.env',
    '.00000001.ckpt',
    'model.00000009.json',
    'model.00000001.ckpt',
    'model.1.trainlet',
    '%zz.00000001.ckpt',
    '%zz.00000001.json',
    '%zz.00000001.trainlet',
    'Model.00000007.trainlet',
    'model.00000001.ckpt.x.tmp',
    'model.00000003.trainlet.bak',
    '.00000001.trainlet',
    'model.12345678-1-0123456789abcdef.trainlet-tmp.txt',
    `model.${'9'.repeat(20)}.trainlet`,
  ];
  for (const file of foreign) await fs.writeFile(at(file), 'mine');
  await fs.mkdir(at('model.00000002.trainlet'));
  await fs.symlink(at('nowhere'), at('model.00000005.trainlet'));
  const store = await open(1);
  for (const n of [1, 2, 3, 4]) await store.save('model', bytes(n));
  const all = [...foreign, 'model.00000002.trainlet', 'model.00000005.trainlet'];
  assert.deepEqual(await listed(), [...all, 'model.00000006.trainlet'].sort());
  assert.deepEqual(
    (await store.list()).map(({ name, bytes: size }) => [name, size]),
    [['model', 4]],
  );
  assert.deepEqual((await store.load('model')).bytes, bytes(4));
  await store.delete('model');
  assert.deepEqual(await store.list(), []);
  assert.deepEqual(await listed(), all.sort());
  for (const file of foreign) assert.equal(await fs.readFile(at(file), 'utf8'), 'mine');
});

test('names that differ in case alone have files that differ in more', async () => {
  const store = await open();
  await store.save('run', bytes(1));
  await store.save('Run', bytes(2));
  const files = await listed();
  assert.deepEqual(files, ['%52un.00000001.trainlet', 'run.00000001.trainlet']);
});

test('a name is as long as a file name lets it be', async () => {
  const store = await open();
  for (const name of ['x'.repeat(200), '语'.repeat(22), 'X'.repeat(66)]) {
    await store.save(name, bytes(3));
    assert.deepEqual((await store.load(name)).bytes, bytes(3));
    await assert.rejects(store.save(`${name}XX`, bytes(1)), {
      code: 'invalid-argument',
      message: /takes 20\d bytes of a file's name, and may take 200/,
    });
    await assert.rejects(store.load(`${name}XX`), { code: 'invalid-argument' });
  }
});

/** A version as it was written before. */
async function writeBefore(stem, content, meta) {
  await fs.writeFile(at(`${stem}.json`), JSON.stringify(meta));
  await fs.writeFile(at(`${stem}.ckpt`), content);
}

test('files of the format before are read, listed, followed by new ones, and removed in their turn', async () => {
  await writeBefore('Run.00000006', bytes(6), { n: 6 });
  await writeBefore('Run.00000007', bytes(7), { n: 7 });
  const store = await open();
  assert.deepEqual(
    (await store.list()).map(({ name, bytes: size }) => [name, size]),
    [['Run', 7]],
  );
  assert.deepEqual(
    (await store.versions('Run')).map(({ version, bytes: size, meta }) => [version, size, meta]),
    [
      [6, 6, { n: 6 }],
      [7, 7, { n: 7 }],
    ],
  );
  const { savedAt, ...found } = await store.load('Run');
  assert.deepEqual(found, { bytes: bytes(7), meta: { n: 7 }, version: 7, skipped: [] });
  assert.deepEqual((await store.load('Run', { version: 6 })).bytes, bytes(6));
  assert.deepEqual(await readSource('checkpointState', at('Run.00000007.ckpt'), {}), bytes(7));
  assert.equal(await store.save('Run', bytes(8)), 8);
  assert.deepEqual(await listed(), ['%52un.00000008.trainlet', 'Run.00000007.ckpt', 'Run.00000007.json']);
  await store.delete('Run');
  assert.deepEqual(await listed(), []);
});

test('a version is a plain file that is a source, if it is whole', async () => {
  const store = await open();
  await store.save('plain', bytes(5));
  assert.deepEqual(await readSource('checkpointState', at('plain.00000001.trainlet'), {}), bytes(5));
  const file = await fs.readFile(at('plain.00000001.trainlet'));
  file[file.length - 1] ^= 1;
  await fs.writeFile(at('plain.00000001.trainlet'), file);
  await assert.rejects(readSource('checkpointState', at('plain.00000001.trainlet'), {}), {
    code: 'checkpoint-corrupt',
    message: /other bytes than were saved/,
  });
});

test('whatever byte is changed and wherever a file is cut, the version before it is loaded, and told', async () => {
  const store = await open();
  await store.save('run', bytes(9), { n: 1 });
  await store.save('run', bytes(10), { n: 2 });
  const file = at('run.00000002.trainlet'),
    whole = await fs.readFile(file);
  const damaged = [...whole.keys()].flatMap((i) => [
    whole.subarray(0, i),
    whole.map((byte, j) => (i === j ? byte ^ 0x41 : byte)),
  ]);
  for (const content of [...damaged, Buffer.concat([whole, bytes(1)])]) {
    await fs.writeFile(file, content);
    const { bytes: found, meta, version, skipped } = await store.load('run');
    assert.deepEqual([found, meta, version, skipped.length, skipped[0].version], [bytes(9), { n: 1 }, 1, 1, 2]);
    assert.match(
      skipped[0].reason,
      /^(is cut short or no checkpoint|has other bytes than were saved|is of version 64 of its format, we read 1)$/,
    );
    assert.equal((await store.list()).length, 1);
  }
  assert.equal((await store.versions('run'))[1].meta, undefined);
  await fs.writeFile(at('run.00000001.trainlet'), 'x');
  const none = {
    code: 'checkpoint-corrupt',
    message: /^checkpoint 'run' could not be loaded: version 2 has other .*; version 1 is cut short or no checkpoint$/,
  };
  await fs.writeFile(file, damaged.at(-1));
  await assert.rejects(store.load('run'), none);
  assert.equal(await store.save('run', bytes(3)), 3);
  assert.equal((await store.load('run')).version, 3);
});

test('versions that are not whole do not count among those kept', async () => {
  const store = await open();
  for (const n of [1, 2, 3]) await store.save('run', bytes(n));
  await fs.truncate(at('run.00000003.trainlet'), 50);
  await store.save('run', bytes(4));
  assert.deepEqual(
    (await store.versions('run')).map(({ version }) => version),
    [2, 3, 4],
  );
});

test('a writer that others overtook takes the newest number all the same', async (t) => {
  const [slow, quick] = [await open(1), await open(1)];
  await quick.save('run', bytes(1));
  let first = true;
  replace(t, 'link', async (link, ...names) => {
    if (!first) return await link(...names);
    first = false;
    for (const n of [2, 3, 4]) await quick.save('run', bytes(n)); // only 4 stays: number 2 is free again
    return await link(...names);
  });
  const version = await slow.save('run', bytes(9));
  assert.equal(version, 5);
  assert.deepEqual((await slow.load('run')).bytes, bytes(9));
  assert.deepEqual(await listed(), ['run.00000005.trainlet']);
});

test('a load whose version another writer removes meanwhile gives the newer one', async (t) => {
  const [reader, writer] = [await open(1), await open(1)];
  await writer.save('run', bytes(1));
  let first = true;
  replace(t, 'readFile', async (readFile, ...values) => {
    if (first) await writer.save('run', bytes(2));
    first = false;
    return await readFile(...values);
  });
  const { version, bytes: found, skipped } = await reader.load('run');
  assert.deepEqual([version, found, skipped], [2, bytes(2), []]);
});

test('a save removes no version that others saved meanwhile after they had deleted all', async (t) => {
  let at = 0;
  for (let hits = true; hits; at++) {
    await fs.rm(directory, { recursive: true });
    const [before, slow, quick] = [await open(3), await open(1), await open(1)];
    for (const n of [1, 2, 3]) await before.save('run', bytes(n));
    let calls = -2; // they count once the slow one has its number: it links, and lists
    for (const name of ['link', 'readdir', 'stat', 'open', 'rename', 'unlink'])
      replace(t, name, async (whole, ...values) => {
        if (calls >= 0 && calls++ === at) {
          await quick.delete('run');
          await quick.save('run', bytes(9));
        }
        const result = await whole(...values);
        if (name === (calls === -2 ? 'link' : 'readdir') && calls < 0) calls++;
        return result;
      });
    await slow.save('run', bytes(4));
    hits = calls > at;
    t.mock.restoreAll();
    syncBuiltinESMExports();
    assert.deepEqual(
      (await open(1).then((store) => store.load('run')))?.bytes,
      bytes(hits ? 9 : 4),
      `before call ${at}`,
    );
  }
  assert.ok(at > 20, `${at} calls`);
});

test('a file system without hard links will do', async (t) => {
  replace(t, 'link', async () => {
    throw Object.assign(new Error('EPERM: operation not permitted, link'), { code: 'EPERM' });
  });
  const stores = await Promise.all([open(9), open(9)]);
  const versions = await Promise.all(
    stores.flatMap((store, i) => [1, 2, 3].map((n) => store.save('run', bytes(10 * i + n)))),
  );
  assert.deepEqual(versions.toSorted(), [1, 2, 3, 4, 5, 6]);
  const contents = await Promise.all(
    (await stores[0].versions('run')).map(
      async ({ version }) => (await stores[0].load('run', { version })).bytes.length,
    ),
  );
  assert.deepEqual(
    contents.toSorted((a, b) => a - b),
    [1, 2, 3, 11, 12, 13],
  );
  assert.equal((await listed()).length, 6);
});

test('a save that fails leaves nothing behind', async (t) => {
  const store = await open();
  await store.save('run', bytes(1));
  for (const [name, code, told] of [
    ['link', 'EIO', 'store-failed'],
    ['link', 'ENOSPC', 'quota-exceeded'],
  ]) {
    replace(t, name, async () => {
      throw Object.assign(new Error(`${code}: here`), { code });
    });
    replace(t, 'copyFile', async () => {
      throw Object.assign(new Error(`${code}: here`), { code });
    });
    await assert.rejects(store.save('run', bytes(2)), { code: told });
    t.mock.restoreAll();
    syncBuiltinESMExports();
  }
  assert.deepEqual(await listed(), ['run.00000001.trainlet']);
});

test('a disk that fails when the folder is synced is a failed save', async (t) => {
  const store = await open();
  const handle = await fs.open(directory);
  const FileHandle = Object.getPrototypeOf(handle);
  await handle.close();
  const { sync } = FileHandle;
  t.mock.method(FileHandle, 'sync', async function failing() {
    if ((await this.stat()).isDirectory()) throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' });
    return await sync.call(this);
  });
  await assert.rejects(store.save('run', bytes(1)), { code: 'store-failed', message: /'run' could not be saved: EIO/ });
});

test('a folder that was removed is made again for the next save', async () => {
  const store = await open();
  await store.save('run', bytes(1));
  await fs.rm(directory, { recursive: true });
  assert.equal(await store.save('run', bytes(2)), 1);
  assert.deepEqual((await store.load('run')).bytes, bytes(2));
});

test('what killed writers left is removed, and nothing of a living one', async () => {
  const host = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
  const gone = 2 ** 22 + 1; // more than any process has for a number
  const temporary = (name, where, pid, minutes) => ({
    file: `${name}.${where}-${pid}-0123456789abcdef.trainlet-tmp`,
    minutes,
  });
  const left = [
    temporary('run', host, gone, 2),
    temporary('other', host, gone, 2),
    temporary('run', 'ffffffff', gone, 25 * 60),
  ];
  const stay = [
    temporary('run', host, process.pid, 2),
    temporary('still', host, gone, 0),
    temporary('run', 'ffffffff', gone, 2),
    temporary('Run', host, gone, 2),
  ];
  for (const { file, minutes } of [...left, ...stay]) {
    await fs.writeFile(at(file), 'torn');
    await fs.utimes(at(file), new Date(), new Date(Date.now() - minutes * 60_000));
  }
  await (await open()).save('run', bytes(1));
  assert.deepEqual(await listed(), ['run.00000001.trainlet', ...stay.map(({ file }) => file)].sort());
});

test('a bundle for browsers has no folders, and says so', async () => {
  await buildDist();
  const stdin = {
    contents: "export { CheckpointStore } from 'trainlet';",
    resolveDir: fileURLToPath(new URL('../../..', import.meta.url)),
  };
  const outfile = at('bundle.mjs');
  for (const [platform, check] of [
    [
      'browser',
      (opening) => assert.rejects(opening, { code: 'unsupported-browser', message: /this build is for browsers/ }),
    ],
    ['node', async (opening) => assert.equal(await (await opening).save('run', bytes(1)), 1)],
  ]) {
    const { warnings } = await build({
      stdin,
      bundle: true,
      format: 'esm',
      platform,
      outfile,
      logLevel: 'silent',
      logOverride: { 'ignored-bare-import': 'silent' }, // like node_modules
    });
    assert.deepEqual(warnings, []);
    const bundle = await import(`${pathToFileURL(outfile)}?${platform}`);
    await check(bundle.CheckpointStore.open({ directory }));
  }
});

/** Does something once, after the next listing of a folder. */
function afterListing(t, work) {
  let done = false;
  replace(t, 'readdir', async (whole, ...values) => {
    const found = await whole(...values);
    if (done) return found;
    done = true;
    return (await work(found)) ?? found;
  });
}

for (const [what, read] of [
  ['load', async (store) => [await store.load('run')]],
  ['versions', (store) => store.versions('run')],
  ['list', (store) => store.list()],
]) {
  test(`${what} finds the newest version, though each listed file is gone before it is opened`, async (t) => {
    const [store, other] = [await open(1), await open(1)];
    await store.save('run', bytes(3));
    afterListing(t, async () => void (await other.save('run', bytes(4))));
    assert.deepEqual(
      (await read(store)).map((found) => found.bytes.length ?? found.bytes),
      [4],
    );
  });

  test(`${what} finds a version that the listing missed because it was replaced meanwhile`, async (t) => {
    const store = await open(1);
    await store.save('run', bytes(3));
    afterListing(t, async () => []);
    assert.equal((await read(store)).filter(Boolean).length, 1);
  });
}

test('a newest version that is gone before it is opened is not taken for the one before it', async (t) => {
  const [store, other] = [await open(2), await open(1)];
  await store.save('run', bytes(3));
  await store.save('run', bytes(4));
  afterListing(t, async () => {
    await other.save('run', bytes(5));
    await fs.writeFile(at('run.00000001.trainlet'), bytes(9)); // seemingly not removed yet
  });
  assert.deepEqual((await store.load('run')).bytes, bytes(5));
});

test('a file with the largest number hides no later save', async () => {
  const store = await open(2);
  await store.save('a', bytes(1));
  await fs.writeFile(at(`a.${'9'.repeat(15)}.trainlet`), 'planted');
  for (const n of [2, 3]) {
    await store.save('a', bytes(n), { n });
    assert.deepEqual((await store.load('a')).meta, { n });
  }
  assert.deepEqual(
    (await store.versions('a')).map(({ meta }) => meta),
    [{}, { n: 3 }],
  );
});

test('a list is not empty because what it found moved to another name meanwhile', async (t) => {
  const [store, other] = [await open(1), await open(1)];
  await store.save('run', bytes(3));
  afterListing(t, async () => {
    await other.save('moved', bytes(4));
    await other.delete('run');
  });
  assert.deepEqual(
    (await store.list()).map(({ name }) => name),
    ['moved'],
  );
});
