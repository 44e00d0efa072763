// Firefox, headless and without a driver: a page trains by itself and posts what came of it. The same bits as everywhere else.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { findFirefox } from '../../wasm/tools.mjs';
import { literalsOf, openRepository, recipeOf } from './repository.js';

const THREADS = [1, 2, 4];
const work = [
  ...THREADS.flatMap((threads) => ['w2', 'transformer'].map((name) => ({ what: 'bitsInPage', name, options: { threads, reproducible: true } }))),
  { what: 'bitsInPage', name: 'w2', options: {} },
  { what: 'resumedInPage', name: 'w2', options: { reproducible: true } },
];
const script = `
  import * as page from './tests/browser/train-in-page.js';
  for (const { what, recipe, options } of ${JSON.stringify(work.map((item) => ({ ...item, recipe: recipeOf(item.name) })))}) {
    const answer = await page[what](recipe, options).catch((error) => ({ error: String(error) }));
    await fetch('/answer', { method: 'POST', body: JSON.stringify({ ...answer, isolated: crossOriginIsolated }) });
  }`;

/** Nothing that a new profile would fetch or ask. */
const QUIET = {
  'app.update.enabled': false, 'browser.shell.checkDefaultBrowser': false, 'browser.startup.homepage_override.mstone': 'ignore',
  'datareporting.policy.dataSubmissionEnabled': false, 'toolkit.telemetry.reportingpolicy.firstRun': false, 'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false, 'services.settings.server': 'data:,', 'browser.aboutwelcome.enabled': false,
};

let firefox, site;
/** What the page posts, in the order of `work`: each is waited for where it is looked at. */
const resolvers = [];
const answers = work.map(() => new Promise((resolve) => { resolvers.push(resolve); }));
const profile = mkdtempSync(path.join(tmpdir(), 'trainlet-firefox-'));
before(async () => {
  let heard = 0;
  site = await openRepository({ script, heard: (message) => resolvers[heard++](message) });
  writeFileSync(path.join(profile, 'user.js'), Object.entries(QUIET).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`).join(''));
  firefox = spawn(findFirefox(), ['--headless', '--no-remote', '--profile', profile, site.url('isolated')], { env: { ...process.env, HOME: profile }, stdio: 'ignore' });
  firefox.on('error', ({ message }) => resolvers.forEach((resolve) => resolve({ error: message })));
  firefox.on('exit', (code) => resolvers.forEach((resolve) => resolve({ error: `Firefox ended with ${code}` })));
});
after(async () => {
  if (firefox.pid && firefox.exitCode === null) {
    firefox.kill();
    await once(firefox, 'exit');
  }
  site.close();
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
});

const answered = async (wanted) => {
  const { isolated, ...answer } = await answers[work.findIndex(wanted)];
  assert.equal(answer.error, undefined);
  assert.equal(isolated, true);
  return answer;
};

for (const threads of THREADS) {
  test(`Firefox, ${threads} thread${threads > 1 ? 's' : ''}: the literal bits`, { timeout: 120_000 }, async () => {
    for (const name of ['w2', 'transformer']) {
      assert.deepEqual(await answered((item) => item.name === name && item.options.threads === threads), literalsOf(name), name);
    }
  });
}

test('Firefox: the default build trains the same within rounding', { timeout: 120_000 }, async () => {
  const { losses } = await answered(({ options }) => Object.keys(options).length === 0);
  const plain = literalsOf('w2').losses;
  losses.forEach((loss, i) => {
    assert.ok(Math.abs(loss - plain[i]) <= 1e-5 * plain[i], `loss ${i} is ${loss}, with the plain build ${plain[i]}`);
  });
});

test('Firefox: a session resumes from IndexedDB to the bit', { timeout: 120_000 }, async () => {
  assert.deepEqual((await answered(({ what }) => what === 'resumedInPage')).losses, literalsOf('w2').losses.slice(0, 4));
});
