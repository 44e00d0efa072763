// Contenders in headless Chromium: each in a worker of a page of a browser of its own, so that its processes are known.

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

const launch = () => chromium.launch({ executablePath: findChromium(), args: QUIET });

/** A browser with one page, and its renderers: the page's, and a spare one that does nothing. */
async function openPage(url) {
  const browser = await launch();
  const page = await browser.newPage();
  page.setDefaultTimeout(0);
  await page.goto(url);
  const system = await browser.newBrowserCDPSession();
  const renderers = async () => (await system.send('SystemInfo.getProcessInfo')).processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id);
  return {
    page,
    resident: async () => Math.max(...(await renderers()).map(residentBytes)),
    processorMs: async () => (await renderers()).map((pid) => processorMs(pid, 'DedicatedWorker')).reduce((a, b) => a + b, 0),
    close: () => browser.close(),
  };
}

async function versionOf() {
  const browser = await launch();
  const version = browser.version();
  await browser.close();
  return version;
}

export async function openChromium({ threads }) {
  const server = await serve();
  const url = `http://127.0.0.1:${server.address().port}/`;
  return {
    name: `Chromium ${await versionOf()}`,
    start: async (contender, row) => {
      const opened = await openPage(url);
      const blank = await opened.resident();
      await opened.page.evaluate(installWorker);
      const ask = async (message) => {
        const data = await opened.page.evaluate((m) => globalThis.ask(m), message);
        if (data.error) throw Object.assign(new Error(data.error), { stack: data.stack });
        return data;
      };
      return {
        open: async () => {
          const answer = await ask({ open: { contender, row, threads } });
          return { ...answer, residentBytes: (await opened.resident()) - blank };
        },
        processorMs: opened.processorMs,
        measure: (steps) => ask({ measure: steps }),
        close: opened.close,
      };
    },
    close: async () => { server.close(); },
  };
}
