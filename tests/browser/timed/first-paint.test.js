// The demo's page of digits in headless Chromium: soon painted, and few bytes until it reads the first digit.
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { after, before, test } from 'node:test';
import { startServer } from '../../../tools/serve-demo.js';
import { launch, SHAPES, Visitor } from '../visitor.js';

const WIRE_BYTES = 700_000;
const PAINT_MS = 1000;

let server, browser;
before(async () => {
  server = await startServer({ port: 0 });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

test('painted within a second, and few bytes until the first reading', async (t) => {
  const sent = [];
  const note = ({ request, response, socket }) => {
    const before = socket.bytesWritten;
    response.once('close', () => sent.push([request.url, socket.bytesWritten - before]));
  };
  subscribe('http.server.request.start', note);
  const v = await Visitor.arrive(browser, server.url);
  try {
    await v.draw(SHAPES.seven);
    await v.reads('7');
    const sum = sent.reduce((bytes, [, length]) => bytes + length, 0);
    const paint = await v.page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
    t.diagnostic(`${sum} bytes in ${sent.length} files, first paint after ${paint.toFixed(0)} ms`);
    assert.ok(sent.some(([url]) => url === '/digits.compact') && sum <= WIRE_BYTES, `${sum} bytes`);
    assert.ok(!sent.some(([url]) => url === '/replay.bin'), 'the digits to rehearse come later');
    assert.ok(paint < PAINT_MS, `painted after ${paint} ms`);
  } finally {
    unsubscribe('http.server.request.start', note);
    await v.leave();
  }
});
