// The site that browsers load contenders from: the repository, isolated, so that the clock is exact to 5 µs and memory can be shared.

import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { root } from '../../../wasm/tools.mjs';

const TYPES = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.json': 'application/json', '.wasm': 'application/wasm', '.html': 'text/html' };
const ISOLATED = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp', 'Cache-Control': 'no-store' };

/** `page` stands at /; `talk(request, response)` answers what is below /talk/. */
export async function serve(page, talk) {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const path = normalize(join(root, decodeURIComponent(pathname)));
    if (talk && pathname.startsWith('/talk/')) return talk(request, response);
    if (pathname === '/') return response.writeHead(200, { ...ISOLATED, 'Content-Type': TYPES['.html'] }).end(page);
    if (!path.startsWith(root) || !existsSync(path)) return response.writeHead(404, ISOLATED).end();
    response.writeHead(200, { ...ISOLATED, 'Content-Type': TYPES[extname(path)] ?? 'application/octet-stream' }).end(readFileSync(path));
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
