// No page of another origin frames the demo once its service worker answers, though the server sends no header.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startServer } from '../../tools/serve-demo.js';
import { BROWSERS } from './new-profiles.js';

const PATIENCE_MS = 60_000;
const FRAME_MS = 3000; // in which a page in a loaded frame tells that it is there

/** Runs in the demo's page: tells that it is framed, or goes on to the other site once its worker answers. */
async function visit(other) {
  if (top !== self) {
    await fetch('/framed', { method: 'POST', body: '' });
    return parent.postMessage('framed', '*');
  }
  while (!navigator.serviceWorker.controller) await new Promise((resolve) => setTimeout(resolve, 20));
  location.href = other;
}

let demo, front, other, framed, answered;
const addressOf = (server) => `http://localhost:${server.address().port}/`;
const listen = (server) => new Promise((resolve) => server.listen(0, 'localhost', resolve));

before(async () => {
  demo = await startServer({ port: 0 });
  front = createServer(answerDemo);
  other = createServer(answerOther);
  await Promise.all([listen(front), listen(other)]);
});
after(async () => {
  await demo.close();
  for (const server of [front, other]) {
    server.closeAllConnections();
    server.close();
  }
});

/** The demo's server without its Content-Security-Policy, and a script in each page. */
async function answerDemo(request, response) {
  if (request.method === 'POST') {
    framed++;
    return response.end();
  }
  if (request.url === '/visit.js')
    return response
      .setHeader('content-type', 'text/javascript')
      .end(`${visit}\nvisit(${JSON.stringify(`${addressOf(other)}again`)});`);
  const found = await fetch(new URL(request.url, demo.url));
  for (const [name, value] of found.headers)
    if (!/^content-(encoding|length|security-policy)$/.test(name)) response.setHeader(name, value);
  const isPage = found.headers.get('content-type').startsWith('text/html');
  const body = Buffer.from(await found.arrayBuffer());
  response.writeHead(found.status).end(isPage ? `${body}<script type="module" src="/visit.js"></script>` : body);
}

/** At first the page goes on to the demo once the frame tells that it is there; `again` it tells that it has waited. */
const scriptOf = (again) => `
  const frame = document.querySelector('iframe');
  ${again ? `frame.onload = () => setTimeout(() => fetch('/', { method: 'POST' }), ${FRAME_MS})` : 'onmessage = go'};
  frame.src = '${addressOf(front)}';
  function go() { location.href = frame.src; }`;

/** A page with the demo in a frame. */
function answerOther({ method, url }, response) {
  if (method === 'POST') {
    answered();
    return response.end();
  }
  response
    .setHeader('content-type', 'text/html')
    .end(`<iframe></iframe><script>${scriptOf(url === '/again')}</script>`);
}

for (const [name, open] of Object.entries(BROWSERS))
  test(`${name}: the service worker lets no other site frame the demo`, { timeout: 120_000 }, async () => {
    framed = 0;
    const done = new Promise((resolve) => {
      answered = () => resolve('both frames were waited for');
    });
    const browser = await open(addressOf(other));
    try {
      const late = pause(PATIENCE_MS, 'the pages took too long', { ref: false });
      assert.equal(await Promise.race([done, late, browser.ended]), 'both frames were waited for');
      assert.equal(framed, 1, 'framed before the service worker answered, and not after');
    } finally {
      await browser.close();
    }
  });
