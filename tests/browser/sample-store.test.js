// Samples in the browsers' own IndexedDB when all of the browser is killed: what was acknowledged is there, and whole.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { startBrowser } from '../crash/browsers.js';
import { openRepository } from './repository.js';

const ROUNDS = 3;
/** Tells what is there, then adds samples, labels and deletes some, and tells each when it is done. */
const script = `
  import { SampleStore, Tensor } from './js/index.js';
  const page = Math.random();
  const tell = (told) => fetch('/talk/', { method: 'POST', body: JSON.stringify({ page, ...told }) });
  const store = await SampleStore.open({ name: 'killed' });
  const there = [];
  for (const { id } of await store.list()) {
    const { label, meta, inputs } = await store.get(id);
    there.push({ id, label, n: meta.n, whole: inputs.x.data.every((value) => value === meta.n) });
  }
  await tell({ there });
  for (let n = 1; ; n++) {
    const id = await store.add({ inputs: { x: new Tensor('float32', new Float32Array(20000).fill(n), [1, 20000]) }, \
label: 'new', meta: { n } });
    await tell({ id, n, label: 'new' });
    if (n % 3 === 0) {
      await store.label(id, 'third');
      await tell({ id, n, label: 'third' });
    }
    if (n % 4 === 0) {
      await store.delete(id);
      await tell({ id, n, deleted: true });
    }
  }`;

for (const kind of ['chromium', 'firefox']) {
  test(`${kind} is killed ${ROUNDS} times: nothing that was acknowledged is lost`, { timeout: 180_000 }, async () => {
    const told = new Map();
    /** @type {(message: any) => void} */
    let hear = () => {};
    const site = await openRepository({
      script,
      talk: async (request, response) => {
        hear(await new Response(request).json());
        response.end();
      },
    });
    let browser;
    const profile = await mkdtemp(path.join(tmpdir(), 'trainlet-samples-'));
    try {
      for (let round = 0; round <= ROUNDS; round++) {
        const before = new Map(told);
        const { promise: listed, resolve: resolveListed } = defer();
        const { promise: added, resolve: resolveAdded } = defer();
        let count = 0;
        let first;
        hear = ({ page, there, ...message }) => {
          if (there && first === undefined) resolveListed(there);
          first ??= page; // after kills Firefox at times opens the page once more, with a storage of its own
          if (there || page !== first) return;
          told.set(message.id, message);
          if (++count > 4 + 3 * round) resolveAdded();
        };
        browser = startBrowser(kind, profile, site.url('plain'));
        const there = new Map((await listed).map((sample) => [sample.id, sample]));
        if (round < ROUNDS) await added;
        await browser.kill();
        for (const [id, { n, label, deleted }] of before) {
          if (deleted) assert.equal(there.get(id), undefined, `${id} was deleted`);
          else if (there.has(id) || n % 4 !== 0) {
            const { label: now, ...found } = there.get(id) ?? {};
            assert.deepEqual(found, { id, n, whole: true });
            assert.ok(now === label || now === 'third', `${id} is a ${now}, and was told to be a ${label}`);
          }
        }
        assert.ok([...there.values()].every(({ whole }) => whole));
      }
      assert.ok(told.size > 10);
    } finally {
      await browser?.kill();
      await site.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    }
  });
}

function defer() {
  let resolve;
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
