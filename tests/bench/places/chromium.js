// Contenders in headless Chromium: each in a worker of a page of a browser of its own, so that its processes are known.

import { chromium } from 'playwright-core';
import { findChromium } from '../../../tools/programs.mjs';
import { openRepository } from '../../browser/repository.js';
import { processorMs, residentBytes } from './process.js';

const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** In the page: the worker. */
function installWorker() {
  const worker = new Worker('tests/bench/contender.js', { type: 'module' });
  globalThis.ask = (message) =>
    new Promise((resolve) => {
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
  const renderers = async () =>
    (await system.send('SystemInfo.getProcessInfo')).processInfo
      .filter(({ type }) => type === 'renderer')
      .map(({ id }) => id);
  return {
    page,
    resident: async () => Math.max(...(await renderers()).map(residentBytes)),
    processorMs: async () =>
      (await renderers()).map((pid) => processorMs(pid, 'DedicatedWorker')).reduce((a, b) => a + b, 0),
    close: () => browser.close(),
  };
}

async function versionOf() {
  const browser = await launch();
  const version = browser.version();
  await browser.close();
  return version;
}

/** Calls a module's function in a page. @param {string} module @param {string} name @param {unknown[]} args */
export async function inPage(module, name, args) {
  const { url, close } = await openRepository();
  const opened = await openPage(url('isolated'));
  try {
    const call = async ([path, key, given]) => (await import(new URL(path, document.baseURI).href))[key](...given);
    return await opened.page.evaluate(call, [module, name, args]);
  } finally {
    await opened.close();
    await close();
  }
}

export async function openChromium({ threads }) {
  const { url, close } = await openRepository();
  return {
    name: `Chromium ${await versionOf()}`,
    start: async (contender, row) => {
      const opened = await openPage(url('isolated'));
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
    close,
  };
}
