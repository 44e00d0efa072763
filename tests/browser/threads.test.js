// Threads in headless Chromium: the same bits for every count, in a worker and in the page itself, and one thread where memory cannot be shared.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { cpus } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch } from './visitor.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const TYPES = { '.js': 'text/javascript', '.wasm': 'application/wasm', '.json': 'application/json' };
const ISOLATION = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };

/** The repository's files below /isolated/ and /plain/, with the headers and without; each folder is an empty page. */
const server = createServer(({ url }, response) => {
  const [, kind, ...rest] = url.split('/');
  const headers = kind === 'isolated' ? ISOLATION : {};
  const file = path.join(root, ...rest);
  if (!rest.join('')) return response.writeHead(200, { ...headers, 'content-type': 'text/html' }).end('<!doctype html><link rel="icon" href="data:,">');
  if (!existsSync(file)) return response.writeHead(404).end();
  return response.writeHead(200, { ...headers, 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream' }).end(readFileSync(file));
});

const json = (name) => JSON.parse(readFileSync(path.join(root, 'tests/golden', name), 'utf8'));
const [losses, hashes] = [json('engine-losses.json'), json('engine-weights.json')];

let browser;
before(async () => {
  await new Promise((resolve) => { server.listen(0, 'localhost', resolve); });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  server.closeAllConnections();
  server.close();
});

/** The bits of a network trained in a page; what the page asked for, and said. */
async function train(kind, name, engine) {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const seen = { files: [], lines: [] };
    context.on('request', (request) => { seen.files.push(path.basename(request.url())); });
    page.on('console', (message) => { seen.lines.push(message.text()); });
    page.on('pageerror', (error) => { seen.lines.push(String(error)); });
    await page.goto(`http://localhost:${server.address().port}/${kind}/`);
    const bits = await page.evaluate(async ([recipe, options]) => {
      const here = location.pathname;
      const [trainlet, { bitsOf }] = await Promise.all([import(`${here}js/index.js`), import(`${here}tests/golden/bits.js`)]);
      const model = new Uint8Array(await (await fetch(`${here}tests/golden/${recipe.model}`)).arrayBuffer());
      return bitsOf(trainlet, recipe, model, options);
    }, [json(`${name}.json`), engine]);
    return { bits, ...seen };
  } finally {
    await context.close();
  }
}

const literalsOf = (name) => ({ losses: losses[name].map(Math.fround), hash: hashes[name] });
const workersIn = (files) => files.filter((file) => file === 'worker.js').length;

for (const worker of [true, false]) {
  for (const threads of [1, 2, 4]) {
    test(`${threads} thread${threads > 1 ? 's' : ''}, worker: ${worker}`, { timeout: 120_000 }, async () => {
      for (const name of ['w2', 'transformer']) {
        const { bits, files, lines } = await train('isolated', name, { threads, worker, reproducible: true });
        assert.deepEqual(bits, literalsOf(name), name);
        assert.deepEqual(lines, []);
        const wasm = threads > 1 ? 'trainlet-threads.wasm' : 'trainlet.wasm';
        assert.deepEqual([...new Set(files.filter((file) => file.endsWith('.wasm')))], [wasm]);
        assert.ok(workersIn(files) >= (worker ? 2 : 0) + (threads - 1), `${workersIn(files)} workers were started`); // one of two made the artifacts
      }
    });
  }
}

for (const kind of ['isolated', 'plain']) {
  test(`unless bits are to be reproducible, relaxed SIMD is used (${kind} page)`, { timeout: 120_000 }, async () => {
    const { bits, files, lines } = await train(kind, 'w2', {});
    assert.deepEqual(lines, []);
    const wasm = new Set(files.filter((file) => file.endsWith('.wasm')));
    assert.deepEqual([...wasm], [kind === 'isolated' && cpus().length > 1 ? 'trainlet-threads-relaxed.wasm' : 'trainlet-relaxed.wasm']);
    bits.losses.forEach((loss, i) => {
      assert.ok(Math.abs(loss - losses.w2[i]) <= 1e-5 * losses.w2[i], `loss ${i} is ${loss}, with the plain build ${losses.w2[i]}`);
    });
  });
}

test('a page that is not isolated says so once and uses one thread', { timeout: 120_000 }, async () => {
  const asked = await train('plain', 'mlp_clip', { threads: 4, reproducible: true });
  assert.deepEqual(asked.bits, literalsOf('mlp_clip'));
  assert.equal(asked.lines.length, 1);
  assert.match(asked.lines[0], /one thread computes instead of 4, for this page is not cross-origin isolated/);
  const auto = await train('plain', 'mlp_clip', { reproducible: true });
  assert.deepEqual([auto.bits, auto.lines], [literalsOf('mlp_clip'), []]);
  for (const { files } of [asked, auto]) assert.deepEqual([...new Set(files.filter((file) => file.endsWith('.wasm')))], ['trainlet.wasm']);
});
