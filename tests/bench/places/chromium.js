// Contenders in headless Chromium: each in a worker of a page of a context of its own, and so in a renderer process of its own.

import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { chromium } from 'playwright-core';
import { findChromium, root } from '../../../wasm/tools.mjs';
import { processorMs, residentBytes } from './process.js';

const TYPES = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.json': 'application/json', '.wasm': 'application/wasm', '.html': 'text/html' };
const QUIET = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Serves the repository; isolated, so that the clock is exact to 5 µs and memory can be shared. */
function serve() {
  const isolated = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp', 'Cache-Control': 'no-store' };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const path = normalize(join(root, decodeURIComponent(pathname)));
    if (pathname === '/') return response.writeHead(200, { ...isolated, 'Content-Type': TYPES['.html'] }).end('<!doctype html><title>bench</title>');
    if (!path.startsWith(root) || !existsSync(path)) return response.writeHead(404, isolated).end();
    response.writeHead(200, { ...isolated, 'Content-Type': TYPES[extname(path)] ?? 'application/octet-stream' }).end(readFileSync(path));
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

/** In the page: the worker. */
function installWorker() {
  const worker = new Worker('/tests/bench/contender.js', { type: 'module' });
  globalThis.ask = (message) => new Promise((resolve) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => resolve({ error: event.message || 'the worker did not start' });
    worker.postMessage(message);
  });
}

/** A page of its own, and its renderer: the largest of the processes that came with it. */
async function openPage(browser, url) {
  const system = await browser.newBrowserCDPSession();
  const renderers = async () => (await system.send('SystemInfo.getProcessInfo')).processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id);
  const before = await renderers();
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(0);
  await page.goto(url);
  const renderer = async () => (await renderers()).filter((id) => !before.includes(id)).sort((a, b) => residentBytes(b) - residentBytes(a))[0];
  return { page, renderer, close: () => context.close() };
}

export async function openChromium({ threads }) {
  const server = await serve();
  const url = `http://127.0.0.1:${server.address().port}/`;
  const browser = await chromium.launch({ executablePath: findChromium(), args: QUIET });
  const empty = await openPage(browser, url);
  const blank = residentBytes(await empty.renderer());
  await empty.close();
  return {
    name: `Chromium ${browser.version()}`,
    start: async (contender, row) => {
      const { page, renderer, close } = await openPage(browser, url);
      await page.evaluate(installWorker);
      const ask = async (message) => {
        const data = await page.evaluate((m) => globalThis.ask(m), message);
        if (data.error) throw Object.assign(new Error(data.error), { stack: data.stack });
        return data;
      };
      let pid;
      return {
        open: async () => {
          const opened = await ask({ open: { contender, row, threads } });
          pid = await renderer();
          return { ...opened, residentBytes: residentBytes(pid) - blank };
        },
        processorMs: () => processorMs(pid),
        measure: (steps) => ask({ measure: steps }),
        close,
      };
    },
    close: async () => {
      await browser.close();
      server.close();
    },
  };
}
