// The checkpoint store on Chromium's own IndexedDB: two tabs on one name, a site whose data are cleared, a full
// storage, lost files.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { openRepository } from './repository.js';
import { launch, launchIn } from './visitor.js';

const BYTES = 200_000;

let site, browser;
before(async () => {
  site = await openRepository();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await site?.close();
});

/** A page with a store, `window.store`. */
async function openTab(context) {
  const page = await context.newPage();
  await page.goto(site.url('plain'));
  await page.evaluate(async () => {
    const { CheckpointStore } = await import('/plain/js/storage/checkpoint-store.js');
    window.store = await CheckpointStore.open({ database: 'tabs', keep: 3 });
  });
  return page;
}

test('two tabs on one name: each save is a version of its own, whole, and none that is new is lost', {
  timeout: 120_000,
}, async () => {
  const context = await browser.newContext();
  const tabs = [await openTab(context), await openTab(context)];
  const told = await Promise.all(
    tabs.map((tab, who) =>
      tab.evaluate(
        async ([id, size]) => {
          const acknowledged = [];
          for (let n = 1; n <= 12; n++) {
            const saves = [0, 1].map((i) =>
              window.store.save('run', new Uint8Array(size).fill(100 * id + 2 * n + i), { fill: 100 * id + 2 * n + i }),
            );
            for (const version of await Promise.all(saves)) acknowledged.push(version);
          }
          return acknowledged;
        },
        [who, BYTES],
      ),
    ),
  );
  const versions = told.flat().toSorted((a, b) => a - b);
  assert.deepEqual(
    versions,
    Array.from({ length: 48 }, (_, i) => i + 1),
  );
  for (const numbers of told)
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => a - b),
    );
  const found = await tabs[0].evaluate(
    async () =>
      await Promise.all(
        (await window.store.versions('run')).map(async ({ version }) => {
          const { bytes, meta, skipped } = await window.store.load('run', { version });
          return { version, whole: bytes.every((byte) => byte === meta.fill), size: bytes.length, skipped };
        }),
      ),
  );
  assert.deepEqual(
    found,
    [46, 47, 48].map((version) => ({ version, whole: true, size: BYTES, skipped: [] })),
  );
  await context.close();
});

test('when the data of the site are cleared, the store of an open page goes on', { timeout: 60_000 }, async () => {
  const context = await browser.newContext();
  const tab = await openTab(context);
  const save = (n) => tab.evaluate((value) => window.store.save('run', new Uint8Array(value)), n);
  assert.deepEqual([await save(3), await save(4)], [1, 2]);
  const devtools = await context.newCDPSession(tab);
  await devtools.send('Storage.clearDataForOrigin', { origin: new URL(site.url('plain')).origin, storageTypes: 'all' });
  assert.equal(await tab.evaluate(() => window.store.load('run')), undefined);
  assert.equal(await save(5), 1);
  assert.equal(await tab.evaluate(async () => (await window.store.load('run')).bytes.length), 5);
  assert.equal(typeof (await tab.evaluate(() => window.store.persist())), 'boolean');
  await context.close();
});

test('a save for which the browser has no room is quota-exceeded, and what was saved stays', {
  timeout: 60_000,
}, async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send('Storage.overrideQuotaForOrigin', {
    origin: new URL(site.url('plain')).origin,
    quotaSize: 1_000_000,
  });
  const tab = await openTab(context);
  const save = (size) =>
    tab.evaluate(
      (n) => window.store.save('run', new Uint8Array(n)).catch(({ code, message }) => ({ code, message })),
      size,
    );
  assert.equal(await save(50_000), 1);
  assert.deepEqual(await save(5_000_000), {
    code: 'quota-exceeded',
    message: "checkpoint 'run' could not be saved: the storage is full",
  });
  assert.equal(await save(50_001), 2);
  assert.deepEqual(
    await tab.evaluate(async () => (await window.store.versions('run')).map(({ bytes }) => bytes)),
    [50_000, 50_001],
  );
  assert.equal(await tab.evaluate(async () => (await window.store.load('run')).version), 2);
  await context.close();
});

for (const [title, harm] of [
  ['lost', rm],
  ['cut short', (file) => truncate(file, 1000)],
]) {
  test(`a version whose file the browser has ${title} is passed over, and named`, { timeout: 60_000 }, async () => {
    const profile = await mkdtemp(path.join(tmpdir(), 'trainlet-profile-'));
    const context = await launchIn(profile);
    try {
      const tab = await openTab(context);
      await tab.evaluate(async () => {
        for (const n of [1, 2])
          await window.store.save(
            'run',
            Uint8Array.from({ length: n * 300_000 }, () => 256 * Math.random()),
            { n },
          );
      });
      const files = await readdir(profile, { recursive: true });
      await harm(
        path.join(
          profile,
          files
            .filter((file) => /\.blob\/[0-9a-f]+\/[0-9a-f]+\/[0-9a-f]+$/.test(file))
            .toSorted()
            .at(-1),
        ),
      );
      const { meta, version, skipped } = await tab.evaluate(() => window.store.load('run'));
      assert.deepEqual([meta, version, skipped], [{ n: 1 }, 1, [{ version: 2, reason: 'has lost its bytes' }]]);
    } finally {
      await context.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    }
  });
}
