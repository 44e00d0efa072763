// Firefox, headless and without a driver: a page that it opens does by itself what is to be done.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFirefox } from '../../tools/programs.mjs';

/** Switches off fetches and prompts of a new Firefox profile. */
const QUIET = {
  'app.update.enabled': false,
  'browser.shell.checkDefaultBrowser': false,
  'browser.startup.homepage_override.mstone': 'ignore',
  'datareporting.policy.dataSubmissionEnabled': false,
  'toolkit.telemetry.reportingpolicy.firstRun': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'data:,',
  'browser.aboutwelcome.enabled': false,
};

/** @param {string} profile @param {Record<string, string | number | boolean>} [more] */
export function writePreferences(profile, more = {}) {
  const lines = Object.entries({ ...QUIET, ...more }).map(
    ([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`,
  );
  writeFileSync(join(profile, 'user.js'), lines.join(''));
}

/**
 * Opens an address in a browser with a profile of its own. `ended`: why it did, in a sentence.
 * @param {string} url @param {Parameters<typeof writePreferences>[1]} [more]
 */
export function startFirefox(url, more) {
  const profile = mkdtempSync(join(tmpdir(), 'trainlet-firefox-')); // and its HOME
  writePreferences(profile, more);
  const browser = spawn(findFirefox(), ['--headless', '--no-remote', '--profile', profile, url], {
    env: { ...process.env, HOME: profile },
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => {
    browser.on('error', ({ message }) => resolve(message));
    browser.on('exit', (code) => resolve(`Firefox ended with ${code}`));
  });
  return {
    pid: browser.pid,
    ended,
    close: async () => {
      browser.kill();
      await ended;
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
