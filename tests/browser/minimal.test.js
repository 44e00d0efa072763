// The page of examples/minimal, with an engine shrunk for its one model: it trains, saves, resumes to the bit in a new
// page, and exports a model that the whole engine runs.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { InferenceSession, Tensor } from '../../js/index.js';
import { launch } from './visitor.js';

const TYPES = { '.js': 'text/javascript', '.wasm': 'application/wasm', '.html': 'text/html' };
/** Most bytes of the first load, by brotli. */
const MOST_BYTES = 90_000;
const isLinked = Object.keys(JSON.parse(readFileSync('js/cli/shrink/layouts.json', 'utf8'))).length > 0;
const folder = mkdtempSync(path.join(tmpdir(), 'trainlet-minimal-'));
let server;
let browser;
let address;

before(async () => {
  if (!isLinked) return;
  const { status, stderr } = spawnSync(process.execPath, ['examples/minimal/build.mjs', folder], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  server = createServer(({ url }, response) => {
    const file = path.join(folder, url === '/' ? 'index.html' : path.basename(url));
    if (!existsSync(file)) return response.writeHead(404).end();
    return response
      .setHeader('content-type', TYPES[path.extname(file)] ?? 'application/octet-stream')
      .end(readFileSync(file));
  });
  await new Promise((resolve) => {
    server.listen(0, 'localhost', resolve);
  });
  address = `http://localhost:${server.address().port}/`;
  browser = await launch();
});
after(async () => {
  await browser?.close();
  server?.closeAllConnections();
  server?.close();
  rmSync(folder, { recursive: true, force: true });
});

const state = (page, text) =>
  page.waitForFunction((wanted) => new RegExp(wanted).test(document.querySelector('#state').textContent), text);
const said = (page) => page.textContent('#state');

test('trains, saves, resumes in a new page to the bit, exports', { skip: !isLinked && 'lld is not here' }, async () => {
  const context = await browser.newContext({ acceptDownloads: true });
  const page = await context.newPage();
  const loaded = new Set();
  page.on('response', (response) => loaded.add(path.basename(new URL(response.url()).pathname) || 'index.html'));
  await page.goto(address);
  await state(page, '^ready$');
  await page.click('#train');
  await state(page, '^step 100, ');
  const first = Number(/loss (.*)/.exec(await said(page))[1]);
  const bytes = [...loaded].reduce(
    (sum, file) => sum + brotliCompressSync(readFileSync(path.join(folder, file))).length,
    0,
  );
  assert.ok(loaded.has('trainlet.wasm') && loaded.has('worker.js'), [...loaded].join(' '));
  assert.ok(bytes < MOST_BYTES, `${bytes} bytes: ${[...loaded].join(' ')}`);
  await page.click('#save');
  await state(page, '^saved at step 100$');
  await page.click('#train');
  await state(page, '^step 200, ');
  const gone = await said(page);
  assert.ok(Number(/loss (.*)/.exec(gone)[1]) < first, `${gone} after ${first}`);
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#export')]);
  const exported = await InferenceSession.create(readFileSync(await download.path()), { worker: false });
  const x = new Tensor('float32', Float32Array.of(0.9, -0.9, 0, 0, -0.9, 0.9, 0, 0), [2, 4]);
  const { logits } = await exported.run({ [exported.inputNames[0]]: x });
  assert.ok(logits.data[1] > logits.data[0] && logits.data[2] > logits.data[3], String(logits.data));
  await page.close();

  const again = await context.newPage();
  await again.goto(address);
  await state(again, '^resumed at step 100$');
  await again.click('#train');
  await state(again, '^step 200, ');
  assert.equal(await said(again), gone);
  await context.close();
});
