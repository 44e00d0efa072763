// A page whose Content Security Policy forbids workers, WebAssembly or a model, or whose server has no worker's script:
// each ends in a sentence at once, which names the directive, the status or the header.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { root } from '../../tools/programs.mjs';
import { BROWSERS } from './new-profiles.js';

/** The most from the call to its error. */
const AT_ONCE_MS = 3000;
const PATIENCE_MS = 50_000;
const TYPES = { '.js': 'text/javascript', '.wasm': 'application/wasm' };
const SCRIPT = "script-src 'self'";
const WASM = `${SCRIPT} 'wasm-unsafe-eval'`;
const ISOLATION = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};
const AUGMENT = "augment: fits a batch that 'worker-augment.js' changes";

/** A page: its headers, options of create, the error that is to come. @type {Record<string, any>} */
const PAGES = {
  'worker-src': {
    headers: { 'content-security-policy': `${WASM}; worker-src 'none'` },
    code: 'worker-died',
    message: /Content Security Policy, .*worker-src 'none', forbids it: allow it by worker-src 'self'/,
  },
  'script-src in its place': {
    headers: { 'content-security-policy': "script-src 'nonce-a' 'wasm-unsafe-eval'" },
    code: 'worker-died',
    message: /Content Security Policy, script-src .*, forbids it: allow it by worker-src 'self'/,
  },
  'a script of another origin': {
    headers: { 'content-security-policy': `${WASM}; worker-src 'self'` },
    workerUrl: 'http://127.0.0.1:1/worker.js',
    code: 'worker-died',
    message: /forbids it: allow it by worker-src blob:/,
  },
  'no WebAssembly': {
    headers: { 'content-security-policy': SCRIPT },
    code: 'unsupported-browser',
    message: /^the engine cannot run here: .* Policy forbids WebAssembly: add 'wasm-unsafe-eval' to its script-src$/,
  },
  'connect-src': {
    headers: { 'content-security-policy': `${WASM}; connect-src 'self'` },
    model: 'http://127.0.0.1:1/model.onnx',
    code: 'source-unreadable',
    message:
      /^model .* from http.*: the page's Content .* forbids it: allow it by connect-src http:\/\/127\.0\.0\.1:1$/,
  },
  'no script there': { workerUrl: '/none.js', code: 'worker-died', message: /none\.js: HTTP 404/ },
  'a page for a script': { workerUrl: '/', code: 'worker-died', message: /is no script \(its type: text\/html\)/ },
  'a script without the header of isolation': {
    headers: ISOLATION,
    code: 'worker-died',
    message: /cross-origin isolated, and .*worker\.js came without the header Cross-Origin-Embedder-Policy/,
  },
  [AUGMENT]: {
    headers: { 'content-security-policy': `${WASM}; worker-src 'none'` },
    worker: false,
    code: 'worker-died',
    message: /forbids it: allow it by worker-src 'self'/,
  },
};

const NAMES = Object.keys(PAGES);

/** Posts the error of a session, and after what time it came; then the next page opens. @param {number} at */
const scriptOf = (at) => `
  import { generateArtifacts, Tensor, TrainingSession } from '/js/index.js';
  const here = new Uint8Array(await (await fetch('/tests/golden/data/mlp_small.onnx')).arrayBuffer());
  const model = ${JSON.stringify(PAGES[NAMES[at]].model ?? null)} ?? here;
  const from = performance.now();
  const options = ${JSON.stringify({ workerUrl: PAGES[NAMES[at]].workerUrl, worker: PAGES[NAMES[at]].worker })};
  const run = async () => {
    const artifacts = await generateArtifacts(model, { loss: 'cross-entropy', ...options });
    const session = await TrainingSession.create(artifacts, options);
    const inputs = { input: new Tensor('float32', new Float32Array(160), [8, 20]) };
    const labels = { labels: new Tensor('int64', [0, 1, 2, 3, 4, 0, 1, 2]) };
    await session.fit({ inputs, labels }, { augment: [{ type: 'scale', by: 0.01 }] });
  };
  const { code, message } = await run().catch((error) => error) ?? {};
  const ms = performance.now() - from;
  await fetch('/talk', { method: 'POST', body: JSON.stringify({ code, message, ms }) });
  if (${at + 1 < NAMES.length}) location.href = '/page/${at + 1}';`;

/** @param {number} at */
const pageOf = (at) =>
  '<!doctype html><link rel="icon" href="data:,">' +
  (at >= 0 ? `<script nonce="a" type="module" src="/script/${at}"></script>` : '');

/** A promise and the function that resolves it. */
function postedLater() {
  let resolve = (/** @type {any} */ _) => {};
  const promise = new Promise((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

let site, origin;
/** Takes the next post. */
let hear = (/** @type {any} */ _) => {};
before(async () => {
  site = createServer(async (request, response) => {
    if (request.method === 'POST') {
      hear(await new Response(request).json());
      return response.end();
    }
    const [, folder, at = '-1'] = request.url.split('/');
    const { headers } = PAGES[NAMES[Number(at)]] ?? {};
    if (!folder || folder === 'page')
      return response.writeHead(200, { 'content-type': 'text/html', ...headers }).end(pageOf(Number(at)));
    if (folder === 'script') return response.setHeader('content-type', TYPES['.js']).end(scriptOf(Number(at)));
    const file = path.join(root, request.url);
    if (!existsSync(file)) return response.writeHead(404).end();
    response.setHeader('content-type', TYPES[path.extname(file)] ?? 'application/octet-stream').end(readFileSync(file));
  });
  await new Promise((resolve) => {
    site.listen(0, 'localhost', resolve);
  });
  origin = `http://localhost:${site.address().port}`;
});
after(() => {
  site.closeAllConnections();
  site.close();
});

for (const [browser, open] of Object.entries(BROWSERS))
  test(`${browser}: each is named at once`, { timeout: 3 * PATIENCE_MS }, async () => {
    const answers = NAMES.map(postedLater);
    let heard = 0;
    hear = (answer) => answers[heard++].resolve(answer);
    const opened = await open(`${origin}/page/0`);
    try {
      for (const [i, { code, message }] of Object.values(PAGES).entries()) {
        const late = pause(PATIENCE_MS, { message: 'nothing was posted in time' }, { ref: false });
        const answer = await Promise.race([answers[i].promise, late]);
        assert.match(answer.message, message, NAMES[i]);
        assert.equal(answer.code, code, NAMES[i]);
        assert.ok(answer.ms < AT_ONCE_MS, `${NAMES[i]}: ${answer.ms} ms`);
      }
    } finally {
      await opened.close();
    }
  });
