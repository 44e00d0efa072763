// No page of another origin frames the demo once its service worker answers, though the server sends no header.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startServer } from '../../js/cli/serve-demo.js';
import { BROWSERS } from './new-profiles.js';

const PATIENCE_MS = 60_000;
const FRAME_MS = 8000; // in which a page in a frame tells that it is there

/** Runs in the demo's page: tells that it is framed, or goes on to the other site once its worker answers. */
async function visit(other) {
  if (top !== self) return await fetch('/framed', { method: 'POST', body: '' });
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

/** A page with the demo in a frame: at first it goes on to the demo, then it tells that it waited. */
function answerOther(request, response) {
  if (request.method === 'POST') {
    answered();
    return response.end();
  }
  const next =
    request.url === '/again' ? "fetch('/', { method: 'POST' })" : `location.href = ${JSON.stringify(addressOf(front))}`;
  response
    .setHeader('content-type', 'text/html')
    .end(`<iframe src="${addressOf(front)}"></iframe><script>setTimeout(() => ${next}, ${FRAME_MS})</script>`);
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
