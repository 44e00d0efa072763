// The demo's page of digits stays smooth while it learns: no task of its main thread is long.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startServer } from '../../../tools/serve-demo.js';
import { launch, SHAPES, Visitor } from '../visitor.js';

const TASK_MS = 50; // processor time, whatever else the machine does

let server, browser;
before(async () => {
  server = await startServer({ port: 0 });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

/** The page's main thread, in ms of processor time. */
function longestTask({ traceEvents }) {
  const threadOf = ({ pid, tid }) => `${pid} ${tid}`;
  const isNamed = ({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain';
  const main = new Set(traceEvents.filter(isNamed).map(threadOf));
  const tasks = traceEvents.filter((event) => /RunTask$/.test(event.name) && main.has(threadOf(event)));
  return Math.max(...tasks.map(({ tdur }) => tdur ?? 0)) / 1000;
}

test('the guess goes over to a new symbol while it is learned, and the page stays smooth', async (t) => {
  const v = await Visitor.arrive(browser, server.url);
  t.after(() => v.leave());
  await v.teach('♥', SHAPES.heart, 6);
  assert.equal(await v.page.locator('#gallery .aside').count(), 2, 'every third is kept aside');
  await v.page.evaluate(() => {
    window.seen = [];
    const note = () => {
      const heart = document.querySelector('#labels label[title="♥"]');
      if (document.querySelector('#go').textContent !== 'Stop') return;
      window.seen.push([document.querySelector('#guess').textContent, Number(heart.dataset.share)]);
    };
    new MutationObserver(note).observe(document.querySelector('#labels'), { attributes: true, subtree: true });
  });
  await browser.startTracing(v.page, { categories: ['toplevel'] });
  await v.learn();
  const task = longestTask(JSON.parse((await browser.stopTracing()).toString()));
  const seen = await v.page.evaluate(() => window.seen);
  const different = new Set(seen.map(([, share]) => share)).size;
  t.diagnostic(`${different} shares from ${seen[0]} to ${seen.at(-1)}; longest task ${task.toFixed(1)} ms`);
  assert.match(seen[0][0], /^\d$/, 'at first it is a digit to the network');
  assert.equal(seen.at(-1)[0], '♥');
  assert.ok(different >= 10 && seen[0][1] < 0.2 && seen.at(-1)[1] > 0.9, `${different} shares`);
  assert.ok(task > 0 && task < TASK_MS, `a task of the main thread took ${task} ms`);
  for (const row of ['practised', 'aside']) {
    const [was, is] = await v.figures(row);
    assert.ok(was === 0 && is >= 80, `${row}: ${was} → ${is} %`);
  }
  assert.deepEqual(v.complaints, []);
});
