// The repository as a site: its files below /isolated/ and /plain/, with the headers that let memory be shared and
// without. Each folder is a page too.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const TYPES = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.wasm': 'application/wasm',
  '.json': 'application/json',
};
const ISOLATION = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };

/**
 * `script`: a module that the page of each folder runs; `imports`: its import map. `talk(request, response)`
 * answers what is asked below /talk/.
 * `kept`: browsers may keep pages, as they are, for who goes back. `files`: names of what was loaded.
 */
export async function openRepository({ script = '', imports = {}, talk, kept = false } = {}) {
  const head = '<meta charset="utf-8"><title>Trainlet</title><link rel="icon" href="data:,">';
  const map = `<script type="importmap">${JSON.stringify({ imports })}</script>`;
  const page = `<!doctype html>${head}${map}<script type="module">${script}</script>`;
  const files = [];
  const server = createServer((request, response) => {
    const [, kind, ...rest] = decodeURIComponent(new URL(request.url, 'http://localhost').pathname).split('/');
    const headers = { ...(kind === 'isolated' && ISOLATION), ...(!kept && { 'cache-control': 'no-store' }) };
    const file = path.join(root, ...rest);
    if (kind === 'talk' && talk) return talk(request, response);
    if (!rest.join('')) return response.writeHead(200, { ...headers, 'content-type': TYPES['.html'] }).end(page);
    if (!file.startsWith(root) || !existsSync(file)) return response.writeHead(404, headers).end();
    files.push(path.basename(file));
    return response
      .writeHead(200, { ...headers, 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream' })
      .end(readFileSync(file));
  });
  await new Promise((resolve) => {
    server.listen(0, 'localhost', resolve);
  });
  return {
    files,
    url: (kind) => `http://localhost:${server.address().port}/${kind}/`,
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const json = (name) => JSON.parse(readFileSync(path.join(root, 'tests/golden/data', name), 'utf8'));
const [losses, hashes] = [json('engine-losses.json'), json('engine-weights.json')];

/** A golden network's recipe, and the bits that its training must have everywhere. */
export const recipeOf = (name) => json(`${name}.json`);
export const literalsOf = (name) => ({ losses: losses[name].map(Math.fround), hash: hashes[name] });

/** Fused multiply-adds change losses by their rounding. */
export function assertNearLiterals(bits, name) {
  literalsOf(name).losses.forEach((plain, i) => {
    assert.ok(
      Math.abs(bits.losses[i] - plain) <= 1e-5 * plain,
      `loss ${i} is ${bits.losses[i]}, with the plain build ${plain}`,
    );
  });
}
