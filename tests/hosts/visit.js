// A visit to a host's page in Chromium: its button is pressed, and the losses that it shows are read; or the report of
// everything.js is.
import path from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { OPTIONS } from '../browser/visitor.js';
import { fileOf, typeOf } from './serve.js';

/** @typedef {{ told: string, seconds?: number, bytes?: number }} Figures */

const PATIENCE_MS = 120_000;

/**
 * @param {import('playwright-core').Browser} browser
 * @param {string} url
 * @param {{ folder: string, presses: boolean, answers?: Record<string, string>, offline?: boolean }} host
 * @returns {Promise<Figures>}
 */
export async function visit(browser, url, { folder, presses, answers = {}, offline = false }) {
  const context = await browser.newContext({ serviceWorkers: Object.keys(answers).length ? 'block' : 'allow' });
  try {
    for (const [address, answering] of Object.entries(answers))
      await context.route(`${address}**`, (route) => answer(route, address, path.join(folder, answering)));
    const figures = await read(context, url, presses, offline);
    if (!offline) return figures;
    await context.setOffline(true);
    return { ...figures, told: (await read(context, url, presses)).told };
  } finally {
    await context.close();
  }
}

/** @param {import('playwright-core').Route} route @param {string} address @param {string} folder */
async function answer(route, address, folder) {
  const file = fileOf(folder, `/${route.request().url().slice(address.length)}`);
  if (!file) return await route.fulfill({ status: 404 });
  const headers = { 'content-type': typeOf(file), 'access-control-allow-origin': '*' };
  await route.fulfill({ path: file, headers });
}

/** A page of an extension, in a browser that has loaded it. @param {string} folder @param {boolean} presses */
export async function visitExtension(folder, presses) {
  const args = [...OPTIONS.args, `--disable-extensions-except=${folder}`, `--load-extension=${folder}`];
  const context = await chromium.launchPersistentContext('', { ...OPTIONS, args });
  try {
    const [background = await context.waitForEvent('serviceworker')] = context.serviceWorkers();
    return await read(context, new URL('page.html', background.url()).href, presses);
  } finally {
    await context.close();
  }
}

/**
 * @param {import('playwright-core').BrowserContext} context @param {string} url @param {boolean} presses
 * @param {boolean} [installs] waits for the page's service worker in the end
 * @returns {Promise<Figures>}
 */
async function read(context, url, presses, installs = false) {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  /** @type {string[]} */
  const complaints = [];
  /** @type {Promise<number>[]} */
  const scripts = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('response', (response) => {
    if (/javascript/.test(response.headers()['content-type'])) scripts.push(weigh(response));
  });
  try {
    const since = performance.now();
    await page.goto(url);
    const told = presses ? await press(page) : await reported(page);
    const seconds = (performance.now() - since) / 1000;
    if (complaints.length) return { told: `complains: ${complaints.join('; ')}` };
    if (installs) await page.evaluate(async () => void (await navigator.serviceWorker.ready));
    const bytes = (await Promise.all(scripts)).reduce((sum, one) => sum + one, 0);
    return { told, seconds, bytes };
  } catch (error) {
    const text = await page.locator('body').innerText();
    return { told: `shows: ${text.slice(0, 1000)}; ${complaints.join('; ')}; ${error}` };
  } finally {
    await page.close();
  }
}

/** @param {import('playwright-core').Response} response */
const weigh = async (response) => brotliCompressSync(await response.body().catch(() => Buffer.of())).length;

const SHOWS = () => document.querySelector('output')?.innerText !== '';

/**
 * Until the loss is a tenth. A page that is not awake yet misses a click.
 * @param {import('playwright-core').Page} page
 */
async function press(page) {
  const output = page.locator('output');
  await page.getByRole('button', { name: 'Train' }).click();
  await page.waitForFunction(SHOWS, undefined, { timeout: 3000 }).catch(() => page.getByRole('button').click());
  await page.waitForFunction(() => {
    const [, from, to] = /loss ([\d.]+) → ([\d.]+)/.exec(document.querySelector('output')?.innerText ?? '') ?? [];
    return Number(to) < Number(from) / 10;
  });
  return await output.innerText();
}

/** @param {import('playwright-core').Page} page */
async function reported(page) {
  await page.waitForFunction(() => document.body?.dataset.report);
  return await page.evaluate(() => document.body.dataset.report ?? '');
}
