// A first visit to each page of the demo, in new profiles of Chromium and Firefox: once the service worker controls the
// page, each button that trains does so, or the page by itself.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startServer } from '../../tools/serve-demo.js';
import { BROWSERS } from './new-profiles.js';

const PATIENCE_MS = 60_000;
const STEP = '^Step \\d+ of 200';
/**
 * `first` is pressed to have something to train on; `draws`: a digit is drawn and added; without a `button` the page
 * trains by itself.
 */
const VISITS = [
  { page: '', draws: true, button: '#go', trained: STEP },
  { page: '', button: '#wrong', trained: STEP },
  { page: 'pictures/', button: undefined, trained: '^Learned \\d+ pictures' },
  { page: 'writer/', first: '#author', button: '#go', trained: '^Step \\d+ of' },
];

/** Runs in the page. Resolves with what the page says of its progress and of its trouble. @param {VISITS[0]} visit */
async function press({ draws, first, button, trained }) {
  const $ = (selector) => document.querySelector(selector);
  const until = async (isSo) => {
    while (!isSo() && $('#trouble').hidden) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  await until(() => navigator.serviceWorker.controller && !document.querySelector('[aria-busy=true]'));
  if (draws) {
    $('#labels input').click();
    for (const key of [' ', ...Array(20).fill('ArrowDown'), ' ', 'Enter'])
      $('#pad').dispatchEvent(new KeyboardEvent('keydown', { key }));
    await until(() => $('#gallery button'));
  }
  if (first) $(first).click();
  if (button) await until(() => !$(button).disabled);
  if (button) $(button).click();
  await until(() => new RegExp(trained).test($('#pace').textContent));
  return { pace: $('#pace').textContent, trouble: $('#trouble-words').textContent };
}

let demo, front, visit, hear;
before(async () => {
  demo = await startServer({ port: 0 });
  front = createServer(answer);
});
after(() => demo.close());

/** The demo's server, with a script in each page that presses and posts what came of it. */
async function answer(request, response) {
  if (request.method === 'POST') {
    hear(await new Response(request).json());
    return response.end();
  }
  if (request.url === '/press.js') {
    const pressed = `await press(${JSON.stringify(visit)})`;
    const posts = `${press}\nfetch('/talk', { method: 'POST', body: JSON.stringify(${pressed}) });`;
    return response.setHeader('content-type', 'text/javascript').end(posts);
  }
  const found = await fetch(new URL(request.url, demo.url));
  for (const [name, value] of found.headers)
    if (!/^content-(encoding|length)$/.test(name)) response.setHeader(name, value);
  const isPage = found.headers.get('content-type').startsWith('text/html');
  const body = Buffer.from(await found.arrayBuffer());
  response.writeHead(found.status).end(isPage ? `${body}<script type="module" src="/press.js"></script>` : body);
}

for (const [name, open] of Object.entries(BROWSERS))
  for (const each of VISITS)
    test(`${name}: on a first visit to /${each.page}, ${each.button ?? 'the page'} trains`, {
      timeout: 180_000,
    }, async () => {
      visit = each;
      const heard = new Promise((resolve) => {
        hear = resolve;
      });
      await new Promise((resolve) => {
        front.listen(0, 'localhost', resolve);
      });
      const browser = await open(`http://localhost:${front.address().port}/${each.page}`);
      try {
        const late = pause(PATIENCE_MS, { pace: 'nothing was posted in time' }, { ref: false });
        const { pace, trouble } = await Promise.race([heard, late, browser.ended.then((pace) => ({ pace }))]);
        assert.equal(trouble, '', pace);
        assert.match(pace, new RegExp(each.trained));
      } finally {
        await browser.close();
        front.closeAllConnections();
        await new Promise((resolve) => {
          front.close(resolve);
        });
      }
    });
