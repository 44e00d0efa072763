// Chromium and Firefox, headless, with a profile that outlives them, as processes that can be killed with all their
// children.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { findChromium, findFirefox } from '../../tools/programs.mjs';
import { writePreferences } from '../browser/firefox.js';

const CHROMIUM = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-popup-blocking',
];
/** A Firefox that was killed would ask about it, and bring its pages back. */
const KILLED = { 'toolkit.startup.max_resumed_crashes': -1, 'browser.sessionstore.resume_from_crash': false };

/** All processes of a browser have gone after so many milliseconds, so often. */
const [GONE_MS, GONE_TRIES] = [20, 250];

const PROGRAMS = {
  chromium: (profile, url) => [findChromium(), [...CHROMIUM, `--user-data-dir=${profile}`, url]],
  firefox: (profile, url) => {
    writePreferences(profile, KILLED);
    return [findFirefox(), ['--headless', '--no-remote', '--profile', profile, url]];
  },
};

/** @param {'chromium' | 'firefox'} kind @param {string} profile @param {string} url */
export function startBrowser(kind, profile, url) {
  mkdirSync(profile, { recursive: true });
  const [program, values] = PROGRAMS[kind](profile, url);
  // a group of its own
  const browser = spawn(program, values, { env: { ...process.env, HOME: profile }, stdio: 'ignore', detached: true });
  const ended = new Promise((resolve) => {
    browser.on('error', resolve);
    browser.on('exit', resolve);
  });
  const isThere = () => signal(browser.pid, 0);
  return {
    ended,
    kill: async () => {
      signal(browser.pid, 'SIGKILL');
      await ended;
      // a child that still ends holds the profile's lock, and the next Firefox would end at once
      for (let i = 0; i < GONE_TRIES && isThere(); i++) await setTimeout(GONE_MS);
    },
  };
}

/** Sends a signal to a group; false where there is none. @param {number} group @param {NodeJS.Signals | 0} what */
function signal(group, what) {
  try {
    return process.kill(-group, what);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
    return false;
  }
}
