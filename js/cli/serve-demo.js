/**
 * A small static server of the web demo, on this machine only: the demo at /, the package at /js/, MNIST's files at
 * /mnist/.
 */

import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { mnistFolder } from './arrays.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** @type {Record<string, string>} */
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.wasm': 'application/wasm',
};
const POLICY = [
  "default-src 'self'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "img-src 'self' data: blob:",
  "style-src 'self'",
].join('; ');

/** With these a page is cross-origin isolated, which memory shared by threads needs. */
const ISOLATION = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };

/** The folder of a path and what is asked of it. @param {string} pathname */
function route(pathname) {
  const [, first, ...rest] = pathname.split('/');
  if (first === 'js') return { folder: path.join(ROOT, 'js'), file: rest.join('/') };
  if (first === 'mnist') return { folder: mnistFolder(), file: rest.join('/') };
  return { folder: path.join(ROOT, 'web-demo'), file: pathname === '/' ? 'index.html' : pathname.slice(1) };
}

/** The file a URL names, if it is one inside its folder. @param {string} url */
async function find(url) {
  try {
    const { folder, file } = route(decodeURIComponent(new URL(url, 'http://localhost').pathname));
    const place = path.resolve(folder, file);
    const isInside =
      place.startsWith(folder + path.sep) && (await realpath(place)).startsWith((await realpath(folder)) + path.sep);
    if (!isInside) return undefined;
    const found = await stat(place);
    return found.isFile() ? { place, size: found.size } : undefined;
  } catch {
    return undefined; // a path that cannot be decoded or is not there
  }
}

/** @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response */
async function answer(request, response) {
  const reads = request.method === 'GET' || request.method === 'HEAD';
  const found = reads ? await find(request.url ?? '/') : undefined;
  if (!found)
    return void response.writeHead(reads ? 404 : 405, { 'content-type': 'text/plain' }).end('There is no such file.\n');
  response.writeHead(200, {
    'content-type': TYPES[path.extname(found.place)] ?? 'application/octet-stream',
    'content-length': found.size,
    'content-security-policy': POLICY,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-cache',
    ...ISOLATION,
  });
  if (request.method === 'HEAD') return void response.end();
  await pipeline(createReadStream(found.place), response).catch(() => {}); // the browser went away
}

/**
 * @param {{ port?: number }} [options] port 0 takes any free one
 * @returns {Promise<{ url: string, close: () => Promise<void> }>}
 */
export async function startServer({ port = 0 } = {}) {
  const server = createServer(answer);
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, 'localhost', () => resolve(undefined));
  });
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://localhost:${address.port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
