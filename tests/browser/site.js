// A site for pages that try two engines in headless Chromium: our package, onnxruntime-web, and the golden files, each
// below a folder's name.
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch } from './visitor.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
export const FOLDERS = {
  js: path.join(root, 'js'),
  dist: path.join(root, 'dist'),
  golden: path.join(root, 'tests/golden/data'),
  support: path.join(root, 'tests/support'),
  bench: path.join(root, 'tests/bench'),
  page: path.join(root, 'tests/browser'),
  ort: path.dirname(createRequire(import.meta.url).resolve('onnxruntime-web')),
};
const TYPES = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm' };

/** The files of FOLDERS, and an empty page. */
function answer({ url }, response) {
  const [, folder, ...rest] = url.split('/');
  if (!folder)
    return response.setHeader('content-type', 'text/html').end('<!doctype html><link rel="icon" href="data:,">');
  const file = path.join(FOLDERS[folder] ?? root, ...rest);
  if (!FOLDERS[folder] || !existsSync(file)) return response.writeHead(404).end();
  return response
    .setHeader('content-type', TYPES[path.extname(file)] ?? 'application/octet-stream')
    .end(readFileSync(file));
}

/** Opens the site and a browser. */
export async function openSite() {
  const server = createServer(answer);
  await new Promise((resolve) => {
    server.listen(0, 'localhost', resolve);
  });
  const browser = await launch();
  const address = `http://localhost:${server.address().port}/`;
  /** A page of its own, which has nothing cached. */
  async function newPage() {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(address);
    return { context, page };
  }
  return {
    newPage,
    /** Calls a function of two-engines.js in such a page. */
    async inPage(name, ...args) {
      const { context, page } = await newPage();
      try {
        return await page.evaluate(
          async ([fn, values]) => (await import('/page/two-engines.js'))[fn](...values),
          [name, args],
        );
      } finally {
        await context.close();
      }
    },
    async close() {
      await browser.close();
      server.closeAllConnections();
      server.close();
    },
  };
}
