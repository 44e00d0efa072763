// Workers that are ended from outside, close themselves or throw, in Chromium and Firefox: no call stays open, and a
// signal is heard amid a step.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startFirefox } from '../firefox.js';
import { openRepository } from '../repository.js';
import { LAN, launch } from '../visitor.js';

const DIED = /^worker-died: /;
/** In pages of three kinds; `ms` after a step began, or before it. In one without https there are no locks. */
const CASES = [
  { kind: 'isolated', end: 'engine', ms: -200, threads: 2 },
  { kind: 'isolated', end: 'engine', ms: 150, threads: 2 },
  { kind: 'isolated', end: 'helper', ms: 200, threads: 2 },
  { kind: 'isolated', end: 'helper', ms: -200, threads: 3 },
  { kind: 'isolated', end: 'throws', ms: -200, threads: 1 },
  { kind: 'isolated', end: 'signal', ms: 300, threads: 2 },
  { kind: 'isolated', end: 'signal', ms: 300, threads: 1 },
  { kind: 'plain', end: 'engine', ms: 150, threads: 1 },
  { kind: 'plain', end: 'closes', ms: -200, threads: 1 },
  { kind: 'plain', end: 'signal', ms: 300, threads: 1 },
  { kind: 'insecure', end: 'engine', ms: 150, threads: 1 },
  { kind: 'insecure', end: 'closes', ms: -200, threads: 1 },
  { kind: 'insecure', end: 'signal', ms: 300, threads: 1 },
  { kind: 'insecure', end: 'busy', ms: -200, threads: 1 },
];

function check({ kind, end, threads }, { error, became, later, released, took, workers, isolated, secure }) {
  assert.equal(error, undefined);
  assert.deepEqual([isolated, secure, workers], [kind === 'isolated', kind !== 'insecure', threads]);
  assert.equal(released, 'done');
  const all = [...became, ...later].join('\n');
  if (end === 'busy') {
    assert.ok(took > 12_000, `${took} ms`); // longer than a silent worker is thought to live
    for (const result of [...became, ...later]) assert.equal(result, 'done');
  } else if (end !== 'signal') {
    for (const result of [...became, ...later]) assert.match(result, DIED, all);
    assert.ok(took < (secure ? 10_000 : 30_000), `${took} ms`);
  } else if (isolated) {
    assert.match(became[0], /^aborted: the run was stopped/);
    assert.deepEqual([became[1], ...later], ['done', 'done', 'done'], all);
    assert.ok(took < 2500, `${took} ms`);
  } else if (became[0] !== 'done') {
    // a machine so fast that the step was done
    assert.match(became[0], /^aborted: .*within 3 s/);
    for (const result of [became[1], ...later]) assert.match(result, DIED, all);
    assert.ok(took > 2500 && took < 10_000, `${took} ms`);
  }
}

const nameOf = ({ kind, end, ms, threads }) =>
  `${kind} page, ${threads} threads, ${end} ${Math.abs(ms)} ms ${ms < 0 ? 'before' : 'into'} a step`;

let browser, firefox, site;
const answers = CASES.map(() => Promise.withResolvers?.() ?? deferred());
function deferred() {
  const made = {};
  made.promise = new Promise((resolve) => {
    made.resolve = resolve;
  });
  return made;
}

/** Without locks a worker that ends is only known by its silence: these cases take long, so they run side by side. */
const takesLong = ({ kind, end }) => kind === 'insecure' && end !== 'signal';
const [LONG, SHORT] = [takesLong, (it) => !takesLong(it)].map((isOne) =>
  [...CASES.keys()].filter((i) => isOne(CASES[i])),
);
/** Cases of each of Firefox's pages. */
const PAGES = [...SHORT.map((i) => [i]), LONG];

/** Firefox's page does one case and goes to the next page, or does several, each in a frame. */
const script = `
  import { ended } from './tests/browser/death-in-page.js';
  const { cases, pages } = await (await fetch('/talk/cases')).json();
  const answer = async (i) => {
    const became = await ended(cases[i]).catch((error) => ({ error: String(error) }));
    await fetch('/talk/' + i, { method: 'POST', body: JSON.stringify(became) });
  };
  const openFrame = (i) => {
    document.body.appendChild(document.createElement('iframe')).src = '?case=' + i;
  };
  const inFrame = new URLSearchParams(location.search).get('case');
  const page = Number(location.hash.slice(1));
  if (inFrame) await answer(inFrame);
  else if (location.hash && pages[page].length > 1) pages[page].forEach(openFrame);
  else if (location.hash) {
    await answer(pages[page][0]);
    const next = page + 1;
    if (pages[next]) location.href = cases[pages[next][0]].url + '?' + page + '#' + next;
  }`;
const addressOf = (kind) => (kind === 'insecure' ? site.url('plain').replace('localhost', LAN) : site.url(kind));

before(async () => {
  site = await openRepository({
    script,
    talk: async (request, response) => {
      const cases = CASES.map((it) => ({ ...it, url: addressOf(it.kind) }));
      if (request.method === 'GET') return response.end(JSON.stringify({ cases, pages: PAGES }));
      answers[Number(request.url.split('/').at(-1))].resolve(await new Response(request).json());
      response.end();
    },
  });
  browser = await launch();
  firefox = startFirefox(`${site.url(CASES[0].kind)}#0`, { 'network.dns.localDomains': LAN });
  firefox.ended.then((error) => {
    for (const { resolve } of answers) resolve({ error });
  });
});
after(async () => {
  await browser?.close();
  await firefox?.close();
  site.close();
});

/** @param {number} i */
function testCase(i) {
  const it = CASES[i];
  test(`Chromium: ${nameOf(it)}`, { timeout: 120_000 }, async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(addressOf(it.kind));
    const became = await page.evaluate(
      async (given) => (await import(`${location.pathname}tests/browser/death-in-page.js`)).ended(given),
      it,
    );
    check(it, became);
    await context.close();
  });
  test(`Firefox: ${nameOf(it)}`, { timeout: 300_000 }, async () => {
    check(it, await answers[i].promise);
  });
}

SHORT.forEach(testCase);
describe('side by side', { concurrency: true }, () => LONG.forEach(testCase));
