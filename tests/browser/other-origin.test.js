// The package on another origin than the page, as on a CDN: one import line, and sessions, helper threads and
// augmentation start their workers, in Chromium and Firefox.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { buildDist } from '../../tools/dist.mjs';
import { root } from '../../tools/programs.mjs';
import { BROWSERS } from './new-profiles.js';

const PATIENCE_MS = 60_000;
const ISOLATION = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };
/** The policy that docs/guides/hosts.md names. @param {string} origin */
const policyOf = (origin) => ({
  'content-security-policy':
    `default-src 'none'; img-src data:; script-src 'unsafe-inline' 'wasm-unsafe-eval' ${origin};
    worker-src blob: ${origin}; connect-src 'self' ${origin}`.replace(/\s+/g, ' '),
});
const TYPES = { '.js': 'text/javascript', '.wasm': 'application/wasm' };
/** A visit to each: the page's folder decides whether memory can be shared. */
const PAGES = ['isolated/index.js', 'plain/index.js', 'plain/trainlet.min.js'];

/** Runs in the page. @param {any} trainlet @param {URL} pictures @param {number} threads */
async function train({ generateArtifacts, parametersOf, Tensor, TrainingSession }, pictures, threads) {
  const told = [];
  console.info = (text) => told.push(text);
  const input = new Tensor('float32', new Float32Array(160).fill(0.5), [8, 20]);
  const labels = new Tensor('int64', [0, 1, 2, 3, 4, 0, 1, 2]);
  const artifacts = await generateArtifacts('/model.onnx', { loss: 'cross-entropy', optimizer: 'sgd' });
  const session = await TrainingSession.create(artifacts, { threads });
  const { loss } = await session.step({ input, labels });
  const augment = [{ type: 'scale', by: 0.01 }];
  const { stopped } = await session.fit(
    { inputs: { input }, labels: { labels } },
    { batchSize: 4, epochs: 3, augment },
  );
  await session.release();
  const hasPictures = (await parametersOf(pictures)).length > 20;
  return { isTrained: loss > 0, stopped, hasPictures, told };
}

/** @param {string} name of a page @param {string} cdn */
function pageOf(name, cdn) {
  const [folder, entry] = name.split('/');
  const threads = folder === 'isolated' ? 3 : 1;
  const next = PAGES[PAGES.indexOf(name) + 1];
  return `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script type="module">
    import * as trainlet from '${cdn}/dist/${entry}';
    import { pictures } from '${cdn}/models/index.js';
    const workers = [];
    globalThis.Worker = class extends Worker {
      constructor(url, kind) { super(url, kind); workers.push(String(url)); }
    };
    const answer = await (${train})(trainlet, pictures, ${threads}).catch((error) => ({ error: String(error) }));
    const body = JSON.stringify({ ...answer, isolated: crossOriginIsolated, workers });
    await fetch('/answer', { method: 'POST', body });
    ${next ? `location = '/${next}';` : ''}
  </script>`;
}

/** @param {import('node:http').Server} server */
async function listen(server) {
  await new Promise((resolve) => {
    server.listen(0, 'localhost', resolve);
  });
  return `http://localhost:${server.address().port}`;
}

/** Names of the files that the CDN gave. */
const given = new Set();
const cdn = createServer(({ url }, response) => {
  const file = path.join(root, url);
  if (!/^\/(dist|models)\/[\w.-]+$/.test(url) || !existsSync(file)) return response.writeHead(404).end();
  given.add(path.basename(file));
  const type = TYPES[path.extname(file)] ?? 'application/octet-stream';
  const headers = { 'content-type': type, 'access-control-allow-origin': '*' };
  return response.writeHead(200, headers).end(readFileSync(file));
});

let cdnUrl, siteUrl, hear;
const site = createServer(async (request, response) => {
  const name = request.url.slice(1);
  if (request.method === 'POST') hear(await new Response(request).json());
  if (name === 'model.onnx') return response.end(readFileSync(path.join(root, 'tests/golden/data/mlp_small.onnx')));
  if (!PAGES.includes(name)) return response.end();
  const headers = { 'content-type': 'text/html', ...(name.startsWith('isolated') ? ISOLATION : policyOf(cdnUrl)) };
  return response.writeHead(200, headers).end(pageOf(name, cdnUrl));
});

before(async () => {
  await buildDist();
  [cdnUrl, siteUrl] = [await listen(cdn), await listen(site)];
});
after(() => {
  for (const server of [cdn, site]) {
    server.closeAllConnections();
    server.close();
  }
});

const next = () =>
  new Promise((resolve) => {
    hear = resolve;
  });

for (const [name, open] of Object.entries(BROWSERS))
  test(`${name}: a page trains with the package on another origin`, { timeout: 2 * PATIENCE_MS }, async () => {
    given.clear();
    let heard = next();
    const browser = await open(`${siteUrl}/${PAGES[0]}`);
    try {
      for (const page of PAGES) {
        const late = pause(PATIENCE_MS, { error: 'nothing was posted in time' }, { ref: false });
        const { workers, ...answer } = await Promise.race([heard, late, browser.ended.then((error) => ({ error }))]);
        heard = next();
        const isolated = page.startsWith('isolated');
        assert.deepEqual(
          answer,
          { isTrained: true, stopped: 'completed', hasPictures: true, told: [], isolated },
          page,
        );
        assert.ok(workers.length >= (isolated ? 4 : 2), `${page} started ${workers.length} workers`);
        assert.ok(workers.every((url) => url.startsWith(`blob:${siteUrl}/`)));
      }
    } finally {
      await browser.close();
    }
    for (const file of ['worker.js', 'worker-augment.js', 'trainlet.min.js']) assert.ok(given.has(file), file);
    const wasm = [...given].filter((file) => file.endsWith('.wasm'));
    assert.ok(wasm.some((file) => file.includes('threads')) && wasm.length >= 2, wasm.join(' '));
  });
