/**
 * The folder store when its process is killed, with another one at its side, and when the disk is full: what it
 * acknowledged is there.
 */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CheckpointStore } from '../../../js/storage/checkpoint-store.js';
import { assertKept, startWriter } from '../../crash/witness.js';

const ROUNDS = 5;
const BYTES = 300_000;
const WRITER = fileURLToPath(new URL('../../crash/writer.js', import.meta.url));
const sleep = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

let directory = '';
before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'trainlet-crash-'));
});
after(() => rm(directory, { recursive: true }));

test('a kill at any moment loses nothing that was acknowledged', async () => {
  const store = await CheckpointStore.open({ directory, keep: 1 });
  for (let round = 0; round < ROUNDS; round++) {
    const writer = startWriter(directory, 'killed', 0, BYTES, 1);
    await writer.begun;
    await sleep(17 * round);
    await writer.kill();
    assert.ok(writer.told.length > 0);
    await assertKept(store, 'killed', writer.told, 1);
  }
});

test('two processes on one name lose, tear and mix nothing, whichever is suspended or killed', async () => {
  const store = await CheckpointStore.open({ directory, keep: 2 });
  for (let round = 0; round < ROUNDS; round++) {
    const writers = [0, 100].map((who) => startWriter(directory, 'shared', who, BYTES, 2));
    await Promise.all(writers.map(({ begun }) => begun));
    await sleep(17 * round);
    for (const writer of writers) await writer.suspend(80); // in a save or between two, while the other goes on
    await writers[round % 2].kill();
    await sleep(60);
    await writers[1 - (round % 2)].kill();
    assert.ok(writers.every(({ told }) => told.length > 0));
    await assertKept(
      store,
      'shared',
      writers.flatMap(({ told }) => told),
      2,
    );
  }
});

/** No temporary is left, and every file is a whole version. @param {string} folder */
async function assertWhole(folder) {
  const store = await CheckpointStore.open({ directory: folder });
  const versions = await store.versions('run');
  assert.deepEqual((await readdir(folder)).length, versions.length);
  for (const { version } of versions) await store.load('run', { version });
  return versions;
}

test('on a full disk a save fails in a sentence, leaves nothing, and what was saved stays', async (t) => {
  const disk = path.join(directory, 'disk');
  await CheckpointStore.open({ directory: disk });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk], { stdio: 'pipe' });
  } catch (error) {
    return t.skip(`no disk of a size can be mounted here: ${error.message.trim()}`);
  }
  try {
    const store = await CheckpointStore.open({ directory: disk, keep: 2 });
    for (const n of [1, 2, 3]) await store.save('run', new Uint8Array(300_000).fill(n), { n });
    for (const size of [500_000, 2_000_000]) {
      await assert.rejects(store.save('run', new Uint8Array(size)), {
        code: 'quota-exceeded',
        message: /'run' could not be saved: the storage is full/,
      });
      assert.deepEqual(
        (await assertWhole(disk)).map(({ version }) => version),
        [2, 3],
      );
    }
    await store.delete('run');
    assert.equal(await store.save('run', new Uint8Array(900_000)), 1);
  } finally {
    execFileSync('umount', [disk]);
  }
});

test('a file larger than the system lets it be is a failed save that leaves nothing', {
  skip: process.platform === 'win32',
}, async () => {
  const folder = path.join(directory, 'limited');
  await (await CheckpointStore.open({ directory: folder })).save('run', new Uint8Array(9));
  const limited = `ulimit -f 100; exec "$0" "$@"`;
  const { stdout } = spawnSync(
    'sh',
    ['-c', limited, process.execPath, WRITER, folder, 'run', 0, BYTES, 2].map(String),
    { encoding: 'utf8' },
  );
  const { code, message } = JSON.parse(stdout);
  assert.equal(code, 'store-failed');
  assert.match(message, /'run' could not be saved: EFBIG/);
  assert.equal((await assertWhole(folder)).length, 1);
});
