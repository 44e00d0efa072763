// A page that the browser freezes, or whose process is suspended for longer than any call may take to stop: nothing is
// taken for dead that answers afterwards, and training goes on to the bit.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startChromium } from '../devtools.js';
import { openRepository } from '../repository.js';
import { LAN, launch } from '../visitor.js';

/** Longer than a call may go on that is to stop (3 s), and than a worker may be silent without locks (10 s). */
const [FROZEN_MS, SUSPENDED_MS] = [5000, 13_000];

let browser, site;
before(async () => {
  site = await openRepository();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  site.close();
});

const inPage = (address, expression) =>
  `import('${address}tests/browser/suspended-in-page.js').then((m) => m.${expression})`;

function check({ became, later, losses, plain }, isTraining) {
  assert.deepEqual(became, isTraining ? [] : ['done', 'done', 'done']);
  assert.equal(later, 'done');
  assert.equal(losses.length > 0, isTraining);
  assert.deepEqual(losses, plain);
}

test('a process that is suspended for 13 s takes nothing for dead', { timeout: 180_000 }, async () => {
  const addresses = [site.url('plain'), site.url('plain').replace('localhost', LAN)];
  const pages = [];
  for (const address of addresses) {
    pages.push(await (await browser.newContext()).newPage());
    await pages.at(-1).goto(address);
    await pages.at(-1).evaluate(inPage(address, 'begin()'));
  }
  const system = await browser.newBrowserCDPSession();
  const { processInfo } = await system.send('SystemInfo.getProcessInfo');
  const renderers = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id);
  await pages[1].evaluate(inPage(addresses[1], 'call(true)'));
  await pages[0].evaluate(inPage(addresses[0], 'call(false)'));
  for (const id of renderers) process.kill(id, 'SIGSTOP');
  await pause(SUSPENDED_MS);
  for (const id of renderers) process.kill(id, 'SIGCONT');
  for (const [i, page] of pages.entries()) {
    const became = await page.evaluate(inPage(addresses[i], 'end()'));
    assert.equal(became.secure, i === 0);
    check(became, i === 1);
    await page.context().close();
  }
});

test('a tab in the background that is frozen for 5 s goes on', { timeout: 120_000 }, async () => {
  const chromium = startChromium();
  try {
    const tab = await chromium.openTab(site.url('plain'));
    const ask = (expression) => tab.evaluate(inPage(site.url('plain'), expression));
    await ask('begin()');
    await ask('call(true)');
    await chromium.openTab('about:blank'); // hidden tabs alone are frozen
    await tab.send('Page.setWebLifecycleState', { state: 'frozen' });
    await pause(FROZEN_MS);
    await tab.send('Page.setWebLifecycleState', { state: 'active' });
    const became = await ask('end()');
    assert.deepEqual(became.events, ['freeze', 'resume']);
    check(became, true);
  } finally {
    await chromium.close();
  }
});
