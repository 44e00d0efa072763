// The site as visitors meet it (npm run site:test): every page of build/site in Chromium on a phone's width, kinds of
// pages for everybody, a tutorial's Run, the landing's weight and heart, the heart in new profiles of both browsers.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { root } from '../../tools/programs.mjs';
import { startServer } from '../../tools/serve-demo.js';
import { BROWSERS } from '../browser/new-profiles.js';
import { launch, SHAPES } from '../browser/visitor.js';

const SITE = path.join(root, 'build/site');
/** One page of each kind. */
const KINDS = [
  '',
  'guides/faq.html',
  'guides/layers.html',
  'reference/',
  'reference/fit.html',
  'measured/operators.html',
];
const LAYOUTS = /** @type {const} */ ([
  [1280, 800, 'light'],
  [360, 640, 'dark'],
]);
const HEART_MS = 5000;
const WEIGHT = 200e3;
const AXE = readFileSync(path.join(root, 'node_modules/axe-core/axe.min.js'), 'utf8');

/** @type {Awaited<ReturnType<typeof startServer>>} */
let server;
/** @type {import('playwright-core').Browser} */
let browser;
before(async () => {
  execFileSync(process.execPath, [path.join(root, 'tools/site.mjs'), '--stale'], { stdio: 'inherit' });
  server = await startServer({ site: true });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

/** Pages as a visitor asks for them. */
const addresses = () =>
  readdirSync(SITE, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.html') && file !== '404.html' && !file.startsWith('source'))
    .map((file) =>
      file
        .split(path.sep)
        .join('/')
        .replace(/(^|\/)index\.html$/, '$1'),
    );

/** A page that notes what goes wrong on it, and what it asks of others. @param {object} [options] */
async function openPage(options = {}) {
  const context = await browser.newContext({ serviceWorkers: 'block', reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  const complaints = /** @type {string[]} */ ([]);
  const note = (/** @type {string} */ text) => complaints.push(`${page.url()}: ${text}`);
  page.on('pageerror', (error) => note(String(error)));
  page.on('console', (message) => message.type() === 'error' && note(message.text()));
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(server.url)) note(`asks ${request.url()}`);
  });
  return { context, page, complaints };
}

test('no page complains, sticks out, asks another origin or has a dead link', { timeout: 300_000 }, async () => {
  const { context, page, complaints } = await openPage({ viewport: { width: 360, height: 640 }, colorScheme: 'dark' });
  const ids = new Map();
  const links = /** @type {[string, string][]} */ ([]);
  const all = addresses();
  assert.ok(all.length > 60, `${all.length} pages`);
  for (const address of all) {
    await page.goto(server.url + address);
    const found = await page.evaluate(() => ({
      ids: [...document.querySelectorAll('[id]')].map(({ id }) => id),
      hrefs: [...document.querySelectorAll('a[href]')].map((a) => /** @type {HTMLAnchorElement} */ (a).href),
      out: document.documentElement.scrollWidth - innerWidth,
    }));
    if (found.out > 0) complaints.push(`${address}: ${found.out} px stick out`);
    ids.set(address, new Set(found.ids));
    for (const href of new Set(found.hrefs)) if (href.startsWith(server.url)) links.push([address, href]);
  }
  await context.close();
  assert.ok(links.length > 2000, `${links.length} links`);
  assert.deepEqual([...complaints, ...new Set(links.flatMap((link) => deadLink(link, ids)))], []);
});

/** @param {[string, string]} link @param {Map<string, Set<string>>} ids by address */
function deadLink([from, href], ids) {
  const { pathname, hash } = new URL(href);
  const to = decodeURIComponent(pathname.slice(1)).replace(/(^|\/)index\.html$/, '$1');
  const anchor = decodeURIComponent(hash.slice(1));
  const file = [to, `${to}index.html`].some((name) => existsSync(path.join(SITE, name)));
  if (!file) return [`${from} leads to ${to}, which is not there`];
  if (/^(play|try|demo)\//.test(to)) return []; // their pages read what is behind #
  return anchor && ids.has(to) && !ids.get(to).has(anchor)
    ? [`${from} leads to ${to}#${anchor}, which is not there`]
    : [];
}

test('one page of each kind is open to everybody, light and dark', { timeout: 120_000 }, async () => {
  const learn = addresses().filter((address) => address.startsWith('learn/'));
  for (const [width, height, colorScheme] of LAYOUTS) {
    const { context, page } = await openPage({ viewport: { width, height }, colorScheme });
    for (const address of [...KINDS, ...learn.slice(0, 1)]) {
      await page.goto(server.url + address);
      await page.evaluate(AXE);
      const { violations } = await page.evaluate(() => /** @type {any} */ (window).axe.run());
      const faults = violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(' ')}`);
      assert.deepEqual(faults, [], `${address} ${width} ${colorScheme}`);
    }
    await context.close();
  }
});

test('the landing paints within a second, stands still, and is light until its first prediction', async () => {
  const paints = [];
  for (let i = 0; i < 3; i++) {
    const { context, page, complaints } = await openPage();
    await page.goto(server.url);
    await page.waitForSelector('.heart[data-state=drawing]');
    const { paint, shift, weight } = await page.evaluate(weigh);
    paints.push(paint);
    assert.ok(weight > 50e3 && weight < WEIGHT, `${weight} bytes beside engine and model`);
    assert.equal(shift, 0, 'layout shift');
    assert.deepEqual(complaints, []);
    await context.close();
  }
  assert.ok(Math.min(...paints) < 1000, `first paint after ${paints} ms`);
});

/** Runs in the page: ms to the first paint, layout shift, bytes as sent beside engine and model. */
async function weigh() {
  const shifts = await new Promise((resolve) => {
    new PerformanceObserver((list) => resolve(list.getEntries())).observe({ type: 'layout-shift', buffered: true });
    setTimeout(() => resolve([]), 300);
  });
  const files = [...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')];
  const beside = files.filter(({ name }) => !/\.wasm$|\.compact$/.test(name));
  return {
    paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
    shift: shifts.reduce((sum, { value }) => sum + value, 0),
    weight: beside.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
  };
}

test('a heart is drawn by a pointer, learned, read, and begun again', { timeout: 60_000 }, async () => {
  const { context, page, complaints } = await openPage();
  await page.goto(server.url);
  await page.waitForSelector('.heart[data-state=drawing]');
  const guess = page.locator('.heart .guess');
  for (let i = 0; i < 5; i++) {
    await draw(page, SHAPES.heart[0], 0.06 * (i - 2));
    assert.notEqual(await guess.innerText(), '♥', 'not known yet');
    await page.waitForFunction((n) => document.querySelectorAll('.heart .full').length === n, i + 1);
  }
  await page.waitForSelector('.heart[data-state=learned]', { timeout: HEART_MS });
  for (const [shape, name] of /** @type {const} */ ([
    [SHAPES.heart[0], '♥'],
    [SHAPES.seven[0], '7'],
    [SHAPES.one[0], '1'],
  ])) {
    await draw(page, shape, 0.15);
    await page.waitForFunction((n) => document.querySelector('.heart .guess').textContent === n, name);
    await pause(900); // the next stroke begins another drawing
  }
  await page.click('.heart button');
  await page.waitForSelector('.heart[data-state=drawing]');
  assert.equal(await page.locator('.heart .full').count(), 0);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a tutorial's Run runs its code with the blocks above", { timeout: 60_000 }, async () => {
  const { context, page, complaints } = await openPage();
  await page.goto(`${server.url}learn/first-network.html`);
  const block = page.locator('.run-block').nth(2); // trains, with the data and the network of those above
  await block.scrollIntoViewIfNeeded();
  const inside = block.frameLocator('iframe');
  await inside.locator('#run').click();
  await inside.getByText(/^Done in/).waitFor();
  assert.match(await inside.locator('#output').innerText(), /right before: 0\.[2-6]\d after: 0\.9\d/);
  assert.deepEqual(complaints, []);
  await context.close();
});

/** One stroke on the pad. @param {import('playwright-core').Page} page */
async function draw(page, stroke, tilt) {
  const pad = page.locator('.heart .box canvas');
  await pad.scrollIntoViewIfNeeded();
  const box = await pad.boundingBox();
  const [cos, sin] = [Math.cos(tilt), Math.sin(tilt)];
  const places = stroke.map(([x, y]) => [
    box.x + box.width * (0.5 + cos * (x - 0.5) - sin * (y - 0.5)),
    box.y + box.height * (0.5 + sin * (x - 0.5) + cos * (y - 0.5)),
  ]);
  await page.mouse.move(places[0][0], places[0][1]);
  await page.mouse.down();
  for (const [x, y] of places.slice(1)) await page.mouse.move(x, y, { steps: 4 });
  await page.mouse.up();
}

/** Runs in the page: a heart is drawn by keyboard five times, learned, and drawn once more. */
async function learnHeart() {
  const $ = (selector) => document.querySelector(selector);
  const until = async (isSo) => {
    while (!isSo() && !$('.heart[data-state=failed]')) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  const press = (key, times = 1) => {
    for (let i = 0; i < times; i++) $('.heart .box canvas').dispatchEvent(new KeyboardEvent('keydown', { key }));
  };
  const both = (a, b, times) => {
    for (let i = 0; i < times; i++) [a, b].map((key) => press(key));
  };
  const heart = (width) => {
    press(' ');
    both('ArrowLeft', 'ArrowUp', 4);
    press('ArrowLeft', width);
    both('ArrowLeft', 'ArrowDown', 5);
    both('ArrowRight', 'ArrowDown', 9 + width);
    both('ArrowRight', 'ArrowUp', 9 + width);
    both('ArrowLeft', 'ArrowUp', 5);
    press('ArrowLeft', width);
    both('ArrowLeft', 'ArrowDown', 4);
    press(' ');
  };
  await until(() => $('.heart[data-state=drawing]'));
  for (let i = 0; i < 5; i++) {
    heart(2 + (i % 2));
    press('Enter');
    await new Promise((resolve) => setTimeout(resolve, 300)); // a hand takes longer
  }
  const since = performance.now();
  await until(() => $('.heart[data-state=learned]'));
  const ms = performance.now() - since;
  press('Escape');
  heart(3);
  await until(() => $('.heart .guess').textContent === '♥');
  return { ms, reads: $('.heart .guess').textContent, words: $('.heart .words').textContent };
}

/** Runs in the page of the digits: a service worker controls it, and the newest is installed, or waits in Chromium. */
async function controlled() {
  const { serviceWorker } = navigator;
  const soon = () => new Promise((resolve) => setTimeout(resolve, 20));
  while (!serviceWorker.controller) await soon();
  const registration = await serviceWorker.ready;
  await registration.update();
  while (registration.installing) await soon();
  return { reads: serviceWorker.controller.state };
}

/** First visits of a new profile: the landing, the digits' worker in both versions, the landing again. */
const STAGES = [
  { page: '', run: `await (${learnHeart})()`, reads: '♥' },
  { page: 'demo/', run: `await (${controlled})()`, reads: 'activated' },
  { page: 'demo/', run: `await (${controlled})()`, reads: 'activated' },
  { page: '', run: `await (${learnHeart})()`, reads: '♥' },
];

for (const [name, open] of Object.entries(BROWSERS))
  test(`${name}, a new profile: the landing learns a heart, before and after the demo's worker`, {
    timeout: 120_000,
  }, async () => {
    const heard = /** @type {any[]} */ ([]);
    served.clear();
    const front = createServer((request, response) => answer(request, response, heard));
    await new Promise((resolve) => {
      front.listen(0, 'localhost', () => resolve(undefined));
    });
    const { port } = /** @type {import('node:net').AddressInfo} */ (front.address());
    const visitor = await open(`http://localhost:${port}/`);
    let why = '';
    visitor.ended.then((reason) => {
      why = reason;
    });
    for (let i = 0; i < 1000 && heard.length < STAGES.length && !why; i++) await pause(100);
    await visitor.close();
    front.closeAllConnections();
    front.close();
    assert.deepEqual(
      heard.map(({ reads }) => reads),
      STAGES.map(({ reads }) => reads),
      `${why} ${JSON.stringify(heard)}`,
    );
    assert.deepEqual([...served], [1, 2], 'versions of the service worker');
    const slowest = Math.max(...heard.map(({ ms = 0 }) => ms));
    assert.ok(slowest > 0 && slowest < HEART_MS, `${slowest} ms after the fifth drawing`);
  });

/** Versions of the service worker that were sent. */
const served = new Set();

/** The site's server, with a script in each page that does its stage, posts what came of it, and goes on. */
async function answer(request, response, heard) {
  if (request.method === 'POST') {
    heard.push(await new Response(request).json());
    return response.end(`/${STAGES[heard.length]?.page ?? ''}?${heard.length}`);
  }
  const pathname = request.url.replace(/\?.*/, '');
  const stage = STAGES[heard.length];
  if (pathname === '/stage.js') {
    const tell = `const told = await (async () => ${stage.run})().catch(String);
      const next = await (await fetch('/talk', { method: 'POST', body: JSON.stringify(told) })).text();
      if (${heard.length + 1 < STAGES.length}) location.href = next;`;
    response.setHeader('cache-control', 'no-store');
    return response.setHeader('content-type', 'text/javascript').end(tell);
  }
  const found = await fetch(new URL(pathname, server.url));
  for (const [name, value] of found.headers)
    if (!/^content-(encoding|length)$/.test(name)) response.setHeader(name, value);
  let body = Buffer.from(await found.arrayBuffer());
  if (pathname.endsWith('sw.js')) {
    const version = heard.length > 1 ? 2 : 1;
    served.add(version);
    body = Buffer.from(`${body}\n// version ${version}`);
  }
  const isPage = found.headers.get('content-type').startsWith('text/html');
  if (isPage) body = Buffer.from(`${body}<script type="module" src="/stage.js?${heard.length}"></script>`);
  response.writeHead(found.status).end(body);
}
