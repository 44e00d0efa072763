// A visitor to the demo in headless Chromium: opens the page, draws, reads what it shows, and notes everything that
// goes wrong on it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
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
const BLOCKED = /^Service Worker registration blocked by Playwright/;
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
  heart: [
    [
      [0.5, 0.34],
      [0.4, 0.2],
      [0.25, 0.2],
      [0.18, 0.35],
      [0.25, 0.52],
      [0.5, 0.82],
      [0.75, 0.52],
      [0.82, 0.35],
      [0.75, 0.2],
      [0.6, 0.2],
      [0.5, 0.34],
    ],
  ],
  zed: [
    [
      [0.2, 0.2],
      [0.8, 0.2],
      [0.2, 0.8],
      [0.8, 0.8],
      [0.3, 0.5],
    ],
  ],
  star: [
    Array.from({ length: 6 }, (_, i) => [
      0.5 + 0.34 * Math.sin(i * 0.8 * Math.PI),
      0.5 - 0.34 * Math.cos(i * 0.8 * Math.PI),
    ]),
  ],
};

export const OPTIONS = { executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium', args: ARGUMENTS };

/**
 * [width, height, colours]; a visit to all of them begins in the first.
 * @type {[number, number, 'light' | 'dark'][]}
 */
const LAYOUTS = [
  [360, 640, 'dark'],
  [360, 640, 'light'],
  [800, 1000, 'light'],
  [1280, 800, 'light'],
  [1280, 800, 'dark'],
];
/** Options of a visit that ends in `openToEveryone`. */
export const FIRST_LAYOUT = {
  viewport: { width: LAYOUTS[0][0], height: LAYOUTS[0][1] },
  colorScheme: LAYOUTS[0][2],
  reducedMotion: 'reduce',
};
const SHOTS = new URL('../../build/screenshots/', import.meta.url);

/** A name for this machine that is no secure place, as localhost is. */
export const LAN = 'lan.test';
export const launch = () =>
  chromium.launch({ ...OPTIONS, args: [...ARGUMENTS, `--host-resolver-rules=MAP ${LAN} localhost`] });
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
    const visitor = new this();
    visitor.context = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      acceptDownloads: true,
      serviceWorkers: 'block', // answers that a test gives for the server must come through
      ...options,
    });
    await visitor.context.addInitScript(watch);
    visitor.url = url;
    await visitor.openTab();
    return visitor;
  }

  async openTab() {
    this.page = await this.context.newPage();
    this.page.on('pageerror', (error) => this.complaints.push(String(error)));
    this.page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type()) && !BLOCKED.test(message.text()))
        this.complaints.push(message.text());
    });
    await this.page.goto(this.url);
    await this.awake();
  }

  /** Closes it at once. */
  closeTab() {
    return this.page.close({ runBeforeUnload: false });
  }

  async awake() {
    await this.page.waitForSelector('#reading[aria-busy="false"]');
    await this.page.$$eval('details', (all) => all.map((details) => details.setAttribute('open', '')));
  }
  async leave() {
    await this.context.close();
  }
  text(selector) {
    return this.page.locator(selector).innerText();
  }

  /** The figures of a row of the table, in percent: before, rehearsed, not rehearsed. */
  async figures(row) {
    const cells = await this.page.locator(`tr[data-row=${row}] td`).allInnerTexts();
    return cells.map(Number.parseFloat);
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

  /** The page's engines end, as a browser ends them that needs memory. */
  killWorkers() {
    return this.page.evaluate(() => {
      for (const worker of window.workers.splice(0)) worker.terminate();
    });
  }

  /** Waits for a reading of what is on the pad now. */
  async reads(name) {
    await this.page.waitForFunction((n) => document.querySelector('#guess').textContent === n, name);
  }

  /** Draws so many of a class, which is made where there is none, and adds them. */
  async teach(name, shape, count) {
    await this.choose(name);
    for (let i = 0; i < count; i++) {
      await this.draw(shape, (i - count / 2) * 0.06);
      await this.page.click('#add');
      await this.page.waitForFunction(() => document.querySelector('#pad-hint').checkVisibility());
    }
    await this.page.waitForFunction(
      ([n, least]) =>
        [...document.querySelectorAll('#gallery > div')].some(
          (row) => row.querySelector('h3').textContent === n && row.querySelectorAll('button').length >= least,
        ),
      [name, count],
    );
  }

  async choose(name) {
    const chip = this.page.locator(`#labels label[title="${name}"]`);
    if (await chip.count()) return await chip.click();
    await this.page.click('#more');
    await this.page.fill('#class-name', name);
    await this.page.click('#class-add');
  }

  /** Starts a lesson and waits for its end. */
  async learn(button = '#go') {
    await this.page.click(button);
    await this.learned();
  }

  async learned() {
    await this.page.waitForFunction(
      () => {
        const go = document.querySelector('#go');
        return go.textContent === 'Learn' && !go.disabled;
      },
      null,
      { timeout: 120_000 },
    );
  }

  async waitForStep(step) {
    await this.page.waitForFunction(
      (s) => Number(/^Step (\d+)/.exec(document.querySelector('#pace').textContent)?.[1]) >= s,
      step,
      { timeout: 60_000 },
    );
  }

  /**
   * Score of each class by name, once something is read. @returns {Promise<Record<string, number>>}
   */
  async shares() {
    await this.page.waitForFunction(() => document.querySelector('#labels .best'));
    await this.page.waitForTimeout(300); // the newest drawing may wait for an answer
    return await this.page.$$eval('#labels label', (chips) =>
      Object.fromEntries(chips.map((chip) => [chip.title, Number(chip.dataset.share)])),
    );
  }

  async showsShares(shares) {
    await this.page.waitForFunction((wanted) => {
      const chips = [...document.querySelectorAll('#labels label')];
      return chips.every((chip) => Number(chip.dataset.share) === wanted[chip.title]);
    }, shares);
  }

  /** The exported file. */
  async exported() {
    const download = this.page.waitForEvent('download');
    await this.page.click('#export');
    return readFileSync(await (await download).path());
  }

  /** Checks that the page has no barrier in any layout and nothing sticks out; saves a picture of each. */
  async openToEveryone(name) {
    for (const [width, height, colorScheme] of LAYOUTS) {
      const layout = `${width}-${colorScheme}`;
      await this.page.setViewportSize({ width, height });
      await this.page.emulateMedia({ colorScheme });
      await this.page.waitForTimeout(100);
      assert.deepEqual(await this.barriers(), [], layout);
      const wide = await this.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${layout}: ${wide} px stick out`);
      await this.page.screenshot({ path: fileURLToPath(new URL(`${name}-${layout}.png`, SHOTS)), fullPage: true });
    }
  }

  /** Faults that axe finds, a line each. */
  async barriers() {
    if (!(await this.page.evaluate(() => 'axe' in window))) await this.page.evaluate(AXE);
    const { violations } = await this.page.evaluate(() => window.axe.run());
    return violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(' ')}`);
  }
}

/** Runs in the page, before the page's own code. */
function watch() {
  addEventListener('securitypolicyviolation', (e) =>
    console.error(`CSP: ${e.violatedDirective} refuses ${e.blockedURI}`),
  );
  window.workers = [];
  window.Worker = class extends Worker {
    constructor(...given) {
      super(...given);
      window.workers.push(this);
    }
  };
}
