// The demo in headless Chromium: its page of digits is soon painted, reads a digit after few bytes, and is soon taught
// a heart; its page of pictures soon reads an example.
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { after, before, test } from 'node:test';
import { startServer } from '../../../tools/serve-demo.js';
import { launch, SHAPES, Visitor } from '../visitor.js';

const WIRE_BYTES = 700_000;
const PAINT_MS = 1000;
const GREETED_MS = 3000; // from arrival to the first reading
const LEARNED_MS = 5000; // from the fifth drawing to its reading as what it is

let server, browser;
before(async () => {
  server = await startServer({ port: 0 });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

test('painted within a second, few bytes until the first reading, a heart learned from five drawings', async (t) => {
  const sent = [];
  const note = ({ request, response, socket }) => {
    const before = socket.bytesWritten;
    response.once('close', () => sent.push([request.url, socket.bytesWritten - before]));
  };
  subscribe('http.server.request.start', note);
  const v = await Visitor.arrive(browser, server.url);
  try {
    await v.reads('2');
    const greeted = await v.page.evaluate(() => performance.now());
    assert.ok(greeted < GREETED_MS, `the first reading came after ${greeted} ms`);
    await v.draw(SHAPES.seven);
    await v.reads('7');
    const sum = sent.reduce((bytes, [, length]) => bytes + length, 0);
    const paint = await v.page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
    t.diagnostic(`${sum} bytes in ${sent.length} files, first paint after ${paint.toFixed(0)} ms`);
    assert.ok(sent.some(([url]) => url === '/digits.compact') && sum <= WIRE_BYTES, `${sum} bytes`);
    assert.ok(!sent.some(([url]) => url === '/replay.bin'), 'the digits to rehearse come later');
    assert.ok(paint < PAINT_MS, `painted after ${paint} ms`);

    await v.page.click('#teach');
    for (let i = 1; i <= 5; i++) {
      await v.draw(SHAPES.heart, (i - 3) * 0.06);
      if (i < 5) await v.page.click('#teach'); // the fifth is added once the pen rests
      if (i < 5) await v.page.waitForFunction((n) => document.querySelectorAll('#slots .full').length === n, i);
    }
    const drawn = performance.now();
    await v.reads('♥');
    const learned = performance.now() - drawn;
    t.diagnostic(`greeted after ${greeted.toFixed(0)} ms, hearts read ${learned.toFixed(0)} ms after the fifth`);
    assert.ok(learned < LEARNED_MS, `${learned} ms`);
    await v.page.waitForFunction(() => /^Learned/.test(document.querySelector('#verdict').textContent));
    assert.deepEqual(v.complaints, []);
  } finally {
    unsubscribe('http.server.request.start', note);
    await v.leave();
  }
});

test('the page of pictures has learned its examples soon after arrival', async (t) => {
  const page = await browser.newPage({ serviceWorkers: 'block' });
  try {
    await page.goto(new URL('pictures/', server.url).href);
    await page.waitForFunction(() => document.querySelector('#answer').textContent === 'cherries');
    const learned = await page.evaluate(() => performance.now());
    t.diagnostic(`the first example is read ${learned.toFixed(0)} ms after arrival`);
    assert.ok(learned < GREETED_MS, `${learned} ms`);
  } finally {
    await page.close();
  }
});
