// Servers of the pages: a folder as any static host serves it, or the host's own command.
import { spawn } from 'node:child_process';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';

/** @typedef {{ url: string, stop: () => void }} Server */

const PATIENCE_MS = 180_000;
/** @type {Record<string, string>} */
const TYPES = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.mjs': 'text/javascript',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
};

/** The file that a path of a URL asks for, or undefined. @param {string} folder @param {string} pathname */
export function fileOf(folder, pathname) {
  const file = path.join(folder, decodeURI(pathname).replace(/\/$/, '/index.html'));
  return existsSync(file) && statSync(file).isFile() ? file : undefined;
}

/** @param {string} file */
export const typeOf = (file) => TYPES[path.extname(file)] ?? 'application/octet-stream';

/** @param {string} folder @param {string} [base] its address @returns {Promise<Server>} */
export async function serveFolder(folder, base = '/') {
  const server = createServer(({ url = '/' }, response) => {
    const { pathname } = new URL(url, 'http://page');
    const file = pathname.startsWith(base) && fileOf(folder, pathname.slice(base.length - 1));
    if (!file) return response.writeHead(404).end();
    createReadStream(file).pipe(response.setHeader('content-type', typeOf(file)));
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(undefined));
  });
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}${base}`, stop };
}

/** @param {string} folder @param {string} command @returns {Promise<Server>} */
export async function serveBy(folder, command) {
  const { url, stop } = await serveFolder(folder); // a port that is free
  stop();
  const [program, ...args] = command.replace('PORT', new URL(url).port).split(' ');
  const child = spawn(path.join(folder, program), args, { cwd: folder, stdio: 'ignore', detached: true });
  const until = Date.now() + PATIENCE_MS;
  while (!(await fetch(url).catch(() => undefined))?.ok && Date.now() < until)
    await new Promise((resolve) => {
      setTimeout(resolve, 200);
    });
  return { url, stop: () => process.kill(-Number(child.pid)) }; // with the servers that it has started
}
