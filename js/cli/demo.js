/** trainlet demo: serves the package's two demo pages, digits and pictures, on this machine alone. */

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { text } from './help.js';
import { wholeNumber } from './options.js';
import { say } from './terminal.js';

/** @import { IncomingMessage, ServerResponse } from 'node:http' */

export const DEMO_USAGE = `trainlet demo [--port P]
Serves two pages until Ctrl-C: one that learns your handwriting, one that tells your pictures apart. Nothing leaves \
this machine.`;
export const DEMO_OPTIONS = { port: text('P', 'of the address; any free one where it is taken', { default: '8080' }) };

/** @type {Record<string, string>} */
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.wasm': 'application/wasm',
};
/** With the first two a page is cross-origin isolated, which memory shared by threads needs. */
const HEADERS = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'content-security-policy': "frame-ancestors 'self'", // the pages have their own beside it
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-cache',
};
/** The folders of the package by the first part of an address: the pages import /js/index.js. */
const FOLDERS = { js: 'dist', models: 'models' };
const ELSEWHERE = 'This page is not in the package: it is in the repository and on the site.\n';

/** @param {string} root the package's folder @param {string} pathname */
function fileOf(root, pathname) {
  const [, first, ...rest] = pathname.split('/');
  const folder = Object.hasOwn(FOLDERS, first) ? FOLDERS[/** @type {'js' | 'models'} */ (first)] : undefined;
  const name = folder ? rest.join('/') : pathname.slice(1).replace(/(^|\/)$/, '$1index.html');
  const inside = path.join(root, folder ?? 'web-demo');
  const file = path.join(inside, name);
  return file.startsWith(inside + path.sep) ? file : undefined;
}

/** @param {string} root @param {IncomingMessage} request @param {ServerResponse} response */
async function answer(root, { method, url = '/' }, response) {
  const plain = { ...HEADERS, 'content-type': 'text/plain; charset=utf-8' };
  if (method !== 'GET' && method !== 'HEAD') return void response.writeHead(405, plain).end();
  try {
    const { pathname } = new URL(url, 'http://localhost');
    const file = fileOf(root, decodeURIComponent(pathname)) ?? '';
    const bytes = await readFile(file);
    const type = TYPES[path.extname(file)] ?? 'application/octet-stream';
    response.writeHead(200, { ...HEADERS, 'content-type': type, 'content-length': bytes.length });
    response.end(method === 'GET' ? bytes : undefined);
  } catch {
    response
      .writeHead(404, plain)
      .end(/^\/(writer|learn|guides|play|try)\b/.test(url) ? ELSEWHERE : 'There is no such file.\n');
  }
}

/** @param {import('./commands.js').Values} values */
export async function runDemo(values) {
  const port = wholeNumber('port', values.port, 0);
  const root = path.dirname(createRequire(import.meta.url).resolve('trainlet/package.json'));
  const server = createServer((request, response) => answer(root, request, response));
  const listens = (/** @type {number} */ at) =>
    new Promise((resolve, reject) => {
      server.once('error', reject).listen(at, 'localhost', () => resolve(undefined));
    });
  await listens(port).catch((error) => {
    if (error.code !== 'EADDRINUSE') throw error;
    return listens(0);
  });
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  say(`The demo is at http://localhost:${address.port}/ (Ctrl-C ends it).`);
}
