/**
 * A small static server, on this machine only, of the web demo (at / and, as in the site, at /demo/) or the site, with
 * the package at /js/ and /models/, MNIST's files at /mnist/, and of installed packages the one that the demo imports;
 * by brotli where the browser takes it.
 */

import { createReadStream, existsSync } from 'node:fs';
import { readFile, realpath, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { mnistFolder } from '../js/cli/arrays.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** @type {Record<string, string>} */
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.csv': 'text/csv; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.md': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
};
const TOKENIZERS = '/node_modules/@huggingface/tokenizers/dist';
const POLICY = [
  "default-src 'self'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "img-src 'self' data: blob:",
  "style-src 'self'",
  "frame-ancestors 'self'",
].join('; ');
/** The playground's pages start the visitor's code from blobs. */
const PLAY_POLICY = POLICY.replace("'wasm-unsafe-eval'", '$& blob:').replace("worker-src 'self'", '$& blob:');

/** With these a page is cross-origin isolated, which memory shared by threads needs. */
const ISOLATION = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };

/** The folder of a path and what is asked of it. @param {string} pathname @param {boolean} site */
function route(pathname, site) {
  const [, first, ...rest] = pathname.split('/');
  if (first === 'js' || first === 'models') return { folder: path.join(ROOT, first), file: rest.join('/') };
  if (path.posix.dirname(pathname) === TOKENIZERS)
    return { folder: path.join(ROOT, TOKENIZERS), file: path.basename(pathname) };
  if (!site && (first === 'learn' || first === 'guides'))
    // without a site, the texts as they are written
    return { folder: path.join(ROOT, 'docs', first), file: rest.join('/').replace(/\.html$/, '.md') };
  if (first === 'mnist') return { folder: mnistFolder(), file: rest.join('/') };
  const address = site ? pathname : pathname.replace(/^\/demo\//, '/');
  return {
    folder: path.join(ROOT, site ? 'build/site' : 'web-demo'),
    file: address.slice(1).replace(/(^|\/)$/, '$1index.html'),
  };
}

/** The file a URL names, if it is one inside its folder. @param {string} url @param {boolean} site */
async function find(url, site) {
  try {
    const { folder, file } = route(decodeURIComponent(new URL(url, 'http://localhost').pathname), site);
    const place = path.resolve(folder, file);
    const isInside =
      place.startsWith(folder + path.sep) && (await realpath(place)).startsWith((await realpath(folder)) + path.sep);
    if (!isInside) return undefined;
    const found = await stat(place);
    return found.isFile() ? { place, size: found.size, changedMs: found.mtimeMs } : undefined;
  } catch {
    return undefined; // a path that cannot be decoded or is not there
  }
}

/** Larger files are sent uncompressed and not kept in memory. */
const COMPRESSED_BYTES_MOST = 4e6;
const compress = promisify(brotliCompress);
/**
 * Compressed files by path, valid for one modification time.
 * @type {Map<string, { changedMs: number, bytes: Promise<Buffer> }>}
 */
const compressed = new Map();

/** @param {{ place: string, size: number, changedMs: number }} found */
function compressedBytes({ place, changedMs }) {
  const known = compressed.get(place);
  if (known?.changedMs === changedMs) return known.bytes;
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 }; // 11 takes 5 s for the engine, and saves a tenth
  const bytes = readFile(place).then((whole) => compress(whole, { params }));
  compressed.set(place, { changedMs, bytes });
  bytes.catch(() => compressed.delete(place));
  return bytes;
}

/** @param {string} place */
const policyOf = (place) => (place.startsWith(path.join(ROOT, 'web-demo/play/')) ? PLAY_POLICY : POLICY);

/**
 * @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response
 * @param {boolean} site
 */
async function answer(request, response, site) {
  const reads = request.method === 'GET' || request.method === 'HEAD';
  const found = reads ? await find(request.url ?? '/', site) : undefined;
  const folder = !found && reads && (await find(`${request.url}/`, site));
  if (folder) return void response.writeHead(301, { location: `${path.posix.basename(request.url ?? '')}/` }).end();
  if (!found)
    return void response.writeHead(reads ? 404 : 405, { 'content-type': 'text/plain' }).end('There is no such file.\n');
  const takesBrotli = /\bbr\b/.test(String(request.headers['accept-encoding'])) && found.size < COMPRESSED_BYTES_MOST;
  const short = takesBrotli ? await compressedBytes(found).catch(() => undefined) : undefined;
  response.writeHead(200, {
    'content-type': TYPES[path.extname(found.place)] ?? 'application/octet-stream',
    'content-length': short?.length ?? found.size,
    ...(short && { 'content-encoding': 'br' }),
    vary: 'accept-encoding',
    // the site's pages have their own
    'content-security-policy': site ? "frame-ancestors 'self'" : policyOf(found.place),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-cache',
    ...ISOLATION,
  });
  if (request.method === 'HEAD') return void response.end();
  if (short) return void response.end(short);
  await pipeline(createReadStream(found.place), response).catch(() => {}); // the browser went away
}

/**
 * @param {{ port?: number, site?: boolean }} [options] port 0 takes any free one; site: build/site (npm run
 *   site), where it is there
 * @returns {Promise<{ url: string, close: () => Promise<void> }>}
 */
export async function startServer({ port = 0, site = false } = {}) {
  const isSite = site && existsSync(path.join(ROOT, 'build/site/index.html'));
  const server = createServer((request, response) => answer(request, response, isSite));
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
