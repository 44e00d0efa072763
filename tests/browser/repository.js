// The repository as a site: its files below /isolated/ and /plain/, with the headers that let memory be shared and without. Each folder is a page.
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const TYPES = { '.js': 'text/javascript', '.wasm': 'application/wasm', '.json': 'application/json' };
const ISOLATION = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };

/** @param {{ script?: string, heard?: (message: any) => void }} [options] script: a module that the pages run; heard: gets what they post to /answer. */
export async function openRepository({ script = '', heard } = {}) {
  const page = `<!doctype html><link rel="icon" href="data:,"><script type="module">${script}</script>`;
  const server = createServer(async (request, response) => {
    const [, kind, ...rest] = request.url.split('/');
    const headers = kind === 'isolated' ? ISOLATION : {};
    const file = path.join(root, ...rest);
    if (request.method === 'POST') {
      heard?.(await new Response(request).json());
      return response.end();
    }
    if (!rest.join('')) return response.writeHead(200, { ...headers, 'content-type': 'text/html' }).end(page);
    if (!existsSync(file)) return response.writeHead(404).end();
    return response.writeHead(200, { ...headers, 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream' }).end(readFileSync(file));
  });
  await new Promise((resolve) => { server.listen(0, 'localhost', resolve); });
  return {
    url: (kind) => `http://localhost:${server.address().port}/${kind}/`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const json = (name) => JSON.parse(readFileSync(path.join(root, 'tests/golden', name), 'utf8'));
const [losses, hashes] = [json('engine-losses.json'), json('engine-weights.json')];

/** A golden network's recipe, and the bits that its training must have everywhere. */
export const recipeOf = (name) => json(`${name}.json`);
export const literalsOf = (name) => ({ losses: losses[name].map(Math.fround), hash: hashes[name] });
