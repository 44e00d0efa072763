/**
 * Two tabs with one store of features: in random order, what was stored is there at any time, and what was deleted
 * comes back in no tab.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Tensor } from '../../../js/base/tensor.js';
import { FeatureCache } from '../../../js/features/cache.js';
import { contentsOf } from '../../../js/storage/content-hash.js';

const BASE = '0123456789abcdef'.repeat(2);
const OUTPUTS = [{ name: 'f', type: 'float32', dims: [4] }];
const ROW = 16;
const ROUNDS = 300;

const inputsOf = (i) => ({ x: new Tensor('float32', [i], [1, 1]) });
const contentOf = async (i) => [...(await contentsOf(Object.entries(inputsOf(i))))][0];
const rowOf = (i) => new Uint8Array(ROW).fill(i);

/** Random numbers that are the same each time. */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

/** The room of both tabs: each call takes some turns of the loop, and is done at one moment amid them. */
function roomOf(random) {
  const files = new Map();
  let clock = Date.now();
  const pause = async () => {
    for (let n = Math.floor(random() * 6); n > 0; n--) await setImmediate();
  };
  const moment = async (act) => {
    await pause();
    const result = act();
    await pause();
    return result;
  };
  return {
    pack: (bytes, meta) => ({ bytes: bytes.slice(), meta: structuredClone(meta), savedAt: new Date(++clock) }),
    save: (name, packed) => moment(() => files.set(name, packed) && 1),
    read: (name) => moment(() => files.get(name)),
    list: () =>
      moment(() =>
        [...files].map(([name, { bytes, ...info }]) => ({ name, version: 1, bytes: bytes.length, ...info })),
      ),
    delete: (name) => moment(() => void files.delete(name)),
    pause,
  };
}

const limits = { maxBytes: 2 ** 20, maxMemoryBytes: 0 };
const save = async (tab, ...numbers) => {
  const rows = new Map();
  for (const i of numbers) rows.set(await contentOf(i), rowOf(i));
  const error = await tab.save(BASE, OUTPUTS, rows, { since: tab.deletions, staying: [] });
  assert.equal(error, undefined);
};
const found = async (tab, ...numbers) => {
  const contents = await Promise.all(numbers.map(contentOf));
  return (await (await tab.shelf(BASE)).rows(contents)).size;
};

/** Tabs write while another reads, whose faults are told. */
async function race(seed, writes) {
  const random = randomOf(seed);
  const room = roomOf(random);
  const [one, two, three, reader] = [0, 1, 2, 3].map(() => new FeatureCache(room, limits));
  await save(one, 1, 2, 3);
  let isOver = false;
  const lost = [];
  const reading = (async () => {
    while (!isOver) {
      await room.pause();
      if (!(await reader.has(inputsOf(3)))) lost.push('has');
      if ((await found(reader, 3)) !== 1) lost.push('rows');
      if ((await reader.total()).examples === 0) lost.push('total');
    }
  })();
  await Promise.all(writes(one, two, three));
  isOver = true;
  await reading;
  return { lost, has: async (i) => await new FeatureCache(room, limits).has(inputsOf(i)) };
}

const PAIRS = {
  'both save': [(one, two) => [save(one, 4), save(two, 5)], { there: [1, 2, 3, 4, 5], gone: [] }],
  'one deletes, the other saves': [
    (one, two) => [one.delete(inputsOf(1)), save(two, 5)],
    { there: [2, 3, 5], gone: [1] },
  ],
  'both delete': [(one, two) => [one.delete(inputsOf(1)), two.delete(inputsOf(2))], { there: [3], gone: [1, 2] }],
  'one deletes, the other saves twice': [
    (one, two) => [one.delete(inputsOf(1)), save(two, 4).then(() => save(two, 5))],
    { there: [2, 3, 4, 5], gone: [1] },
  ],
  'one deletes, then saves, while the other saves twice': [
    (one, two) => [one.delete(inputsOf(1)).then(() => save(one, 6)), save(two, 4).then(() => save(two, 5))],
    { there: [2, 3, 4, 5, 6], gone: [1] },
  ],
  'one deletes, and two save twice': [
    (one, two, three) => [
      one.delete(inputsOf(1)),
      save(two, 4).then(() => save(two, 5)),
      save(three, 6).then(() => save(three, 7)),
    ],
    { there: [2, 3, 4, 5, 6, 7], gone: [1] },
  ],
  'two delete twice, and one saves twice': [
    (one, two, three) => [one.delete(inputsOf(1)), two.delete(inputsOf(2)), save(three, 4).then(() => save(three, 5))],
    { there: [3, 4, 5], gone: [1, 2] },
  ],
};

for (const [name, [writes, { there, gone }]] of Object.entries(PAIRS)) {
  test(`${name}: nothing is missing meanwhile, and what was deleted is gone`, async () => {
    const faults = [];
    for (let seed = 1; seed <= ROUNDS; seed++) {
      const { lost, has } = await race(seed, writes);
      faults.push(...lost);
      for (const i of there) if (!(await has(i))) faults.push(`${i} is gone`);
      for (const i of gone) if (await has(i)) faults.push(`${i} is back`);
    }
    const counts = Object.fromEntries([...new Set(faults)].map((one) => [one, faults.filter((f) => f === one).length]));
    assert.deepEqual(counts, {}, `of ${ROUNDS} races`);
  });
}

test('what was there when a tab cleared the store is gone, whatever another saves meanwhile', async () => {
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const room = roomOf(randomOf(seed));
    const [one, two] = [0, 1].map(() => new FeatureCache(room, limits));
    await save(one, 1, 2, 3);
    await Promise.all([one.clear(), save(two, 4)]);
    for (const i of [1, 2, 3]) assert.equal(await one.has(inputsOf(i)), false, `race ${seed}`);
  }
});

test('a pack whose writer was killed before it counted brings nothing back', async () => {
  const room = roomOf(randomOf(1));
  const tab = new FeatureCache(room, limits);
  await save(tab, 1, 2, 3);
  const [joined] = await room.list();
  await tab.delete(inputsOf(1));
  const killed = joined.name.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'));
  await room.save('pending-0123456789abcdef', room.pack(new Uint8Array(), { packs: [killed] }));
  await room.save(killed, room.pack(new Uint8Array(3 * ROW), joined.meta));
  for (const i of [1, 2, 3]) assert.equal(await tab.has(inputsOf(i)), i > 1);
  assert.equal(await found(tab, 1), 0);
  await save(tab, 4);
  assert.deepEqual([await tab.has(inputsOf(1)), await tab.has(inputsOf(4))], [false, true]);
  await tab.delete(inputsOf(2));
  assert.ok((await room.list()).every(({ name }) => name !== killed));
});
