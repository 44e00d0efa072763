/** A demo goes on where localStorage is damaged, full or forbidden, and its server lets no other site frame it. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, test } from 'node:test';
import { startServer } from '../../../tools/serve-demo.js';
import { remembered, rememberedList, setRemembered } from '../../../web-demo/remembered.js';

const DEMO = new URL('../../../web-demo/', import.meta.url);
afterEach(() => {
  delete globalThis.localStorage;
});

/** @param {object} storage */
const put = (storage) => Object.defineProperty(globalThis, 'localStorage', { configurable: true, ...storage });

test('a list that is damaged is none', () => {
  const isName = (one) => typeof one === 'string';
  const kept = new Map();
  put({ value: { getItem: (key) => kept.get(key) ?? null, setItem: (key, text) => kept.set(key, text) } });
  assert.equal(rememberedList('names', isName), undefined);
  setRemembered('names', '["a", "b"]');
  assert.deepEqual(rememberedList('names', isName), ['a', 'b']);
  for (const text of ['', '{', '[1]', '{}', 'null', '"a"', '[null]']) {
    setRemembered('names', text);
    assert.equal(rememberedList('names', isName), undefined, text);
  }
});

test('a storage that is forbidden or full remembers nothing', () => {
  const fail = () => {
    throw new DOMException('no', 'SecurityError');
  };
  for (const storage of [{ get: fail }, { value: { getItem: fail, setItem: fail, removeItem: fail } }]) {
    put(storage);
    setRemembered('key', 'text');
    setRemembered('key');
    assert.deepEqual([remembered('key'), rememberedList('key', () => true)], [undefined, undefined]);
  }
});

test('no page of the demo reads localStorage by itself', () => {
  for (const file of readdirSync(DEMO, { recursive: true }).filter((name) => name.endsWith('.js')))
    if (file !== 'remembered.js') assert.ok(!readFileSync(new URL(file, DEMO), 'utf8').includes('localStorage'), file);
});

test('the server of the demo says who may frame it', async () => {
  const server = await startServer();
  try {
    const { headers } = await fetch(server.url, { method: 'HEAD' });
    assert.match(headers.get('content-security-policy'), /(^|; )frame-ancestors 'self'(;|$)/);
  } finally {
    await server.close();
  }
});

test('links between the demos and to their tutorials hold, beside a site and alone', async () => {
  const server = await startServer({ port: 0 });
  try {
    for (const page of ['', 'pictures/', 'writer/', 'demo/', 'demo/pictures/', 'demo/writer/']) {
      const url = new URL(page, server.url);
      const targets = [...(await (await fetch(url)).text()).matchAll(/<a\b[^>]*href="([^"#]+)"/g)].map(([, to]) => to);
      assert.ok(targets.some((to) => /learn\/[\w-]+\.html$/.test(to)) && targets.length > 4, `${page}: ${targets}`);
      for (const to of targets) assert.equal((await fetch(new URL(to, url))).status, 200, `${page}: ${to}`);
    }
  } finally {
    await server.close();
  }
});
