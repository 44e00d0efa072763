// Features in the browsers' own IndexedDB: after a kill the next session computes what is new alone, with the same
// weights to the bit; what is damaged is computed again, two tabs share them, and nothing is left of what is forgotten.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { startBrowser } from '../crash/browsers.js';
import { openRepository } from './repository.js';

/** Each time that the page is opened it is told by the server what to do, and tells what came of it. */
const script = `
  import { FeatureStore, fineTune, Tensor } from './js/index.js';
  const model = './tests/golden/data/resnet_folded.onnx';
  const ask = (path, body) => fetch('/talk/' + path, { method: 'POST', body: JSON.stringify(body ?? null) });
  const wave = (at, i) => Math.sin((1 + at[Math.floor(i / 784)]) * (i % 784));
  const rowsOf = (at) =>
    new Tensor(
      'float32', Float32Array.from({ length: 784 * at.length }, (_, i) => wave(at, i)), [at.length, 1, 28, 28]);
  const dataOf = (from, to) => {
    const at = Array.from({ length: to - from }, (_, i) => from + i);
    return { inputs: { input: rowsOf(at) }, labels: at.map((i) => (i < 20 ? 'ab'[i % 2] : 'c')) };
  };
  const hashOf = async ({ session }) => {
    const { data } = await session.getContiguousParameters(false);
    return String(new Uint32Array(await crypto.subtle.digest('SHA-256', data)));
  };
  const tune = async (data, store, more) => {
    const tuned = await fineTune(model, data, { epochs: 2, cacheFeatures: store && { store }, ...more });
    const hash = await hashOf(tuned);
    await tuned.session.release();
    return { hash, from: tuned.report.features.store };
  };
  const database = (name) => new Promise((resolve) => {
    indexedDB.open('trainlet-features-' + name).onsuccess = ({ target }) => resolve(target.result);
  });
  const allIn = async (name) => {
    const stored = (await database(name)).transaction('bytes').objectStore('bytes').getAll();
    await new Promise((resolve) => { stored.onsuccess = resolve; });
    return stored.result.map((bytes) => String(bytes));
  };
  const damage = async (name) => {
    const store = (await database(name)).transaction('bytes', 'readwrite').objectStore('bytes');
    const cursor = store.openCursor();
    await new Promise((resolve) => {
      cursor.onsuccess = () => {
        if (!cursor.result) return resolve();
        cursor.result.update(cursor.result.value.map((byte) => byte ^ 1));
        cursor.result.continue();
      };
    });
  };
  const work = {
    async tune({ from = 0, to }) {
      const store = await FeatureStore.open({ name: 'days' });
      const [mine, plain] = [await tune(dataOf(from, to), store), await tune(dataOf(from, to))];
      return { from: mine.from, same: mine.hash === plain.hash };
    },
    async damage({ to }) {
      await damage('days');
      return await work.tune({ to });
    },
    async both() {
      const open = () => FeatureStore.open({ name: 'both' });
      const tabs = await Promise.all([0, 1].map(async (i) => tune(dataOf(6 * i, 12 + 6 * i), await open())));
      const { from } = await tune(dataOf(0, 18), await open());
      return { errors: tabs.map((tab) => String(tab.from.error)), after: from };
    },
    async forget({ at }) {
      const lone = await FeatureStore.open({ name: 'lone' });
      await tune(dataOf(at, at + 1), lone, { classes: ['a', 'b', 'c'] });
      const [row] = await allIn('lone');
      const store = await FeatureStore.open({ name: 'days' });
      const holds = async () => (await allIn('days')).some((bytes) => bytes.includes(row));
      const before = await holds();
      const count = await store.delete({ input: rowsOf([at]) });
      return { before, count, after: await holds(), total: (await store.total()).examples };
    },
  };
  const page = Math.random();
  for (const { what, ...given } of await (await ask('turns')).json()) {
    const told = await work[what](given).catch((error) => ({ error: String(error) }));
    await ask('told', { page, told });
  }`;

const origins = (computed, fromMemory, fromStorage) => ({ computed, fromMemory, fromStorage });
/** Tasks of each session, and the wanted answers. */
const SESSIONS = [
  [
    [
      { what: 'tune', to: 16 },
      { from: origins(16, 0, 0), same: true },
    ],
  ],
  [
    [
      { what: 'tune', to: 16 },
      { from: origins(0, 0, 16), same: true },
    ],
    [
      { what: 'tune', to: 21 },
      { from: origins(5, 0, 16), same: true },
    ],
    [
      { what: 'damage', to: 21 },
      { from: origins(21, 0, 0), same: true },
    ],
    [
      { what: 'forget', at: 3 },
      { before: true, count: 1, after: false, total: 20 },
    ],
    [
      { what: 'tune', to: 21 },
      { from: origins(1, 0, 20), same: true },
    ],
    [{ what: 'both' }, { errors: ['undefined', 'undefined'], after: origins(0, 0, 18) }],
  ],
];

/** Collects a page's answers in order; only the first page's, should the browser open two. */
function listener(turns) {
  const answers = [];
  let first, finish;
  const told = new Promise((resolve) => {
    finish = resolve;
  });
  const talk = async (request, response) => {
    const given = await new Response(request).json();
    if (request.url.endsWith('turns')) return response.end(JSON.stringify(turns));
    first ??= given.page;
    if (given.page === first && answers.push(given.told) === turns.length) finish(answers);
    response.end();
  };
  return { talk, told };
}

for (const kind of ['chromium', 'firefox']) {
  test(`${kind}: what was computed in a session is there in the next`, { timeout: 180_000 }, async () => {
    const profile = await mkdtemp(path.join(tmpdir(), 'trainlet-features-'));
    let now, browser;
    const site = await openRepository({ script, talk: (...asked) => now.talk(...asked) });
    try {
      for (const session of SESSIONS) {
        now = listener(session.map(([turn]) => turn));
        browser = startBrowser(kind, profile, site.url('plain'));
        const told = await Promise.race([now.told, browser.ended.then(() => 'the browser ended by itself')]);
        assert.deepEqual(
          told,
          session.map(([, wanted]) => wanted),
        );
        await browser.kill();
      }
    } finally {
      await browser?.kill();
      await site.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    }
  });
}
