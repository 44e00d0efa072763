// dist/ in a page without a bundler: what it loads before the wasm, and trainlet.min.js, one file with its workers.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { buildDist } from '../../tools/dist.mjs';
import { openSite } from './site.js';

let site;
before(async () => {
  await buildDist();
  site = await openSite();
});
after(() => site?.close());

/** A page of one script tag: what of dist/ it loads, in order, and what it says. @param {string} script */
async function visit(script, policy = '') {
  const { context, page } = await site.newPage();
  const html = `<!doctype html><link rel="icon" href="data:,"><script type="module">${script}</script>`;
  await page.route('**/alone.html', (route) =>
    route.fulfill({ contentType: 'text/html', body: html, headers: policy && { 'content-security-policy': policy } }),
  );
  const loaded = [];
  page.on('request', (request) => loaded.push(new URL(request.url())));
  const origin = page.url();
  await page.goto(`${origin}alone.html`);
  await page.waitForFunction(() => document.title, undefined, { timeout: 30_000 });
  const said = await page.title();
  await context.close();
  return {
    said,
    loaded: loaded.filter(({ protocol }) => protocol !== 'data:').map(({ href }) => href.replace(origin, '')),
  };
}

/** Trains a step and, by fit, augmented batches. @param {string} entry @param {string} make */
const training = (entry, make) => `
import { generateArtifacts, Tensor, TrainingSession } from '${entry}';
try {
  const session = await TrainingSession.create(${make});
  const labelled = new Tensor('int64', [0, 1, 2, 3, 4, 0, 1, 2]);
  const feeds = { input: new Tensor('float32', new Float32Array(160).fill(0.5), [8, 20]), labels: labelled };
  const { loss } = await session.step(feeds);
  const { input, labels } = feeds;
  const augment = [{ type: 'scale', by: 0.01 }];
  const { stopped } = await session.fit({ inputs: { input }, labels: { labels } }, { batchSize: 8, augment });
  const failed = await session.step({}).catch(({ name, code }) => [name, code]);
  document.title = [Number.isFinite(loss), stopped, session instanceof TrainingSession, ...failed].join(' ');
  await session.release();
} catch (error) { document.title = String(error); }`;
const MODEL = "await generateArtifacts('/golden/mlp_small.onnx', { loss: 'cross-entropy', optimizer: 'sgd' })";
const WELL = 'true completed true TrainletError invalid-feed';

test('trainlet.min.js holds page and workers: one script and the wasm train', async () => {
  const { said, loaded } = await visit(training('/dist/trainlet.min.js', MODEL));
  assert.equal(said, WELL);
  const files = new Set(loaded.filter((url) => url.startsWith('dist/')));
  assert.equal(files.size, 2, loaded.join('\n'));
  assert.ok(files.has('dist/trainlet.min.js'));
  assert.ok([...files].some((file) => /^dist\/trainlet(-relaxed)?\.wasm$/.test(file)));
});

test('a site with a policy lets its workers start by worker-src blob:', async () => {
  const policy = "script-src 'unsafe-inline' 'self' 'wasm-unsafe-eval'; worker-src blob:";
  assert.equal((await visit(training('/dist/trainlet.min.js', MODEL), policy)).said, WELL);
});

test('index.js: at most 4 files, the worker with them, before the wasm', async () => {
  const { said, loaded } = await visit(training('/dist/index.js', MODEL));
  assert.equal(said, WELL);
  const before = loaded.slice(
    1,
    loaded.findIndex((url) => url.endsWith('.wasm')),
  );
  assert.ok(loaded.includes('dist/worker.js'), loaded.join(' '));
  const first = new Set([...before, 'dist/worker.js']); // worker and wasm are asked for together, in either order
  assert.ok(first.size <= 4, [...first].join(' '));
});

test('a policy that allows no worker ends in a sentence at once', async () => {
  const { said } = await visit(
    training('/dist/index.js', MODEL),
    "script-src 'unsafe-inline' 'self' 'wasm-unsafe-eval'; worker-src 'none'",
  );
  assert.match(said, /worker/);
  assert.match(said, /worker-src 'none', forbids it: allow it by worker-src 'self'/);
});

test('a shared worker of Chromium, which can start no worker, trains in its own thread', async () => {
  const { context, page } = await site.newPage();
  const script = training('/dist/index.js', MODEL).replaceAll("'/", `'${page.url()}`).replace(', augment }', ' }');
  const said = await page.evaluate(async (code) => {
    const posting = `onconnect = async ({ ports: [port] }) => {
      const document = {};
      ${code.replace(/import (.*) from (.*);/, 'const $1 = await import($2);')}
      port.postMessage([typeof Worker, document.title]);
    };`;
    const { port } = new SharedWorker(URL.createObjectURL(new Blob([posting], { type: 'text/javascript' })));
    return await new Promise((resolve) => {
      port.onmessage = ({ data }) => resolve(data);
    });
  }, script);
  await context.close();
  assert.deepEqual(said, ['undefined', WELL]);
});
