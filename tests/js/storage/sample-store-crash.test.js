/** The folder of samples when its process is killed: what was acknowledged holds, and nothing is torn. */

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SampleStore } from '../../../js/index.js';
import { startProgram } from '../../crash/witness.js';

const ROUNDS = 6;
const WRITER = fileURLToPath(new URL('../../crash/sample-writer.js', import.meta.url));
const sleep = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

let directory = '';
before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'trainlet-sample-crash-'));
});
after(() => rm(directory, { recursive: true }));

/** Last report of each sample. @param {Record<string, any>[]} told */
const lastOf = (told) => new Map(told.map((line) => [line.id, line]));

test('two processes add, label and delete, and are killed: each acknowledged sample is as it was told', async () => {
  const all = [];
  for (let round = 0; round < ROUNDS; round++) {
    const writers = [0, 1].map((who) => startProgram(WRITER, directory, 'killed', who));
    await Promise.all(writers.map(({ begun }) => begun));
    await sleep(23 * round + 20);
    for (const writer of writers) await writer.kill();
    assert.ok(writers.every(({ told }) => told.length > 0));
    all.push(...writers.flatMap(({ told }) => told));
  }
  const store = await SampleStore.open({ directory, name: 'killed' });
  const listed = new Map((await store.list()).map((info) => [info.id, info]));
  for (const [id, { n, label, labelling, deleting, deleted }] of lastOf(all)) {
    const found = await store.get(id);
    if (deleted) assert.equal(found, undefined, `${id} was deleted`);
    if (deleted || (deleting && !found)) continue;
    assert.ok(found, `${id} was acknowledged`);
    assert.ok(found.inputs.x.data.every((value) => value === n) && found.meta.n === n, `${id} is torn`);
    if (label) assert.equal(found.label, label);
    if (labelling) assert.match(found.label, /^(third|of \d)$/);
    assert.equal(listed.get(id)?.label, found.label);
  }
  const told = new Set(all.map(({ id }) => id));
  for (const id of listed.keys())
    assert.ok(told.has(id) || (await store.get(id)).inputs.x.size === 5000, `${id} is whole, though not acknowledged`);
});
