// A visitor to the demo in headless Chromium: opens the page, draws, reads what it shows, and notes everything that
// goes wrong on it.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Strokes in units of the pad, each a list of corners. */
export const SHAPES = {
  seven: [
    [
      [0.25, 0.2],
      [0.75, 0.2],
      [0.42, 0.82],
    ],
  ],
  one: [
    [
      [0.5, 0.15],
      [0.5, 0.85],
    ],
  ],
  star: [
    Array.from({ length: 6 }, (_, i) => [
      0.5 + 0.34 * Math.sin(i * 0.8 * Math.PI),
      0.5 - 0.34 * Math.cos(i * 0.8 * Math.PI),
    ]),
  ],
};

const OPTIONS = { executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium', args: ARGUMENTS };

export const launch = () => chromium.launch(OPTIONS);
/** One whose storage lies in a folder. @param {string} profile */
export const launchIn = (profile) => chromium.launchPersistentContext(profile, OPTIONS);

export class Visitor {
  /** Errors on the console, exceptions, and violations of the content security policy. @type {string[]} */ complaints =
    [];

  /**
   * @param {import('playwright-core').Browser} browser
   * @param {string} url
   * @param {import('playwright-core').BrowserContextOptions} [options]
   */
  static async arrive(browser, url, options = {}) {
    const visitor = new Visitor();
    visitor.context = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      acceptDownloads: true,
      ...options,
    });
    await visitor.context.addInitScript(watch);
    visitor.page = await visitor.context.newPage();
    visitor.page.on('pageerror', (error) => visitor.complaints.push(String(error)));
    visitor.page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) visitor.complaints.push(message.text());
    });
    await visitor.page.goto(url);
    await visitor.awake();
    return visitor;
  }

  async awake() {
    await this.page.waitForSelector('#reading[aria-busy="false"]');
  }
  async leave() {
    await this.context.close();
  }
  text(selector) {
    return this.page.locator(selector).innerText();
  }

  /** The figure in a cell of the results, as a number of percent. */
  async percent(selector) {
    return Number.parseFloat(await this.text(selector));
  }

  /** @param {number} [tilt] turns the shape a little, in radians, so that no two are alike */
  async draw(shape, tilt = 0) {
    await this.page.locator('#pad').scrollIntoViewIfNeeded();
    const box = await this.page.locator('#pad').boundingBox();
    const place = ([x, y]) => {
      const dx = x - 0.5,
        dy = y - 0.5,
        cos = Math.cos(tilt),
        sin = Math.sin(tilt);
      return [box.x + box.width * (0.5 + cos * dx - sin * dy), box.y + box.height * (0.5 + sin * dx + cos * dy)];
    };
    for (const [first, ...rest] of shape) {
      await this.page.mouse.move(...place(first));
      await this.page.mouse.down();
      for (const corner of rest) await this.page.mouse.move(...place(corner), { steps: 6 });
      await this.page.mouse.up();
    }
  }

  /** Waits for a reading of what is on the pad now. */
  async reads(name) {
    await this.page.waitForFunction((n) => document.querySelector('#guess').textContent === n, name);
  }

  async teachSymbol(name, shape, count) {
    await this.page.fill('#symbol', name);
    await this.page.click('#symbol-form button');
    for (let i = 0; i < count; i++) {
      await this.draw(shape, (i - count / 2) * 0.06);
      await this.page.click('#add');
    }
  }

  /** Starts the training and waits for its end. */
  async train(steps) {
    await this.page.selectOption('#length', String(steps));
    await this.page.click('#go');
    await this.trained();
  }

  async trained() {
    await this.page.waitForFunction(() => document.querySelector('#go').textContent === 'Train again', null, {
      timeout: 120_000,
    });
  }

  /** Steps done, from the line below the progress bar. */
  async step() {
    return Number(
      /step(?:s)? (\d+)|for (\d+)/i
        .exec(await this.text('#pace'))
        ?.slice(1)
        .find(Boolean) ?? 0,
    );
  }

  async waitForStep(step) {
    await this.page.waitForFunction(
      (s) => Number(/^Step (\d+)/.exec(document.querySelector('#pace').textContent)?.[1]) >= s,
      step,
      { timeout: 60_000 },
    );
  }

  /** The longest gap between two frames and the longest task of the main thread, in ms, since the last question. */
  stalls() {
    return this.page.evaluate(() => {
      const seen = { ...window.stalls };
      window.stalls = { gap: 0, task: 0 };
      return seen;
    });
  }

  /** What axe finds wrong, a line each. */
  async barriers() {
    await this.page.evaluate(AXE);
    const { violations } = await this.page.evaluate(() => window.axe.run());
    return violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(' ')}`);
  }
}

/** Runs in the page, before the page's own code. */
function watch() {
  addEventListener('securitypolicyviolation', (e) =>
    console.error(`CSP: ${e.violatedDirective} refuses ${e.blockedURI}`),
  );
  window.stalls = { gap: 0, task: 0 };
  let last = performance.now();
  const frame = (now) => {
    window.stalls.gap = Math.max(window.stalls.gap, now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.stalls.task = Math.max(window.stalls.task, entry.duration);
  }).observe({ type: 'longtask' });
}
