// A headless Chromium over the DevTools protocol alone: of its tabs only the newest is visible, as with a person's.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { findChromium } from '../../tools/programs.mjs';

const ARGUMENTS = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--remote-debugging-pipe'];

export function startChromium() {
  const profile = mkdtempSync(path.join(tmpdir(), 'trainlet-devtools-'));
  const browser = spawn(findChromium(), [...ARGUMENTS, `--user-data-dir=${profile}`], {
    env: { ...process.env, HOME: profile },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const ended = new Promise((resolve) => {
    browser.on('exit', resolve);
  });
  const send = conversation(browser.stdio[3], browser.stdio[4]);
  return {
    async openTab(url) {
      const { targetId } = await send('Target.createTarget', { url });
      const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
      /** Value of an expression's promise. */
      const evaluate = async (expression) => {
        const how = { expression, awaitPromise: true, returnByValue: true };
        const { result, exceptionDetails } = await send('Runtime.evaluate', how, sessionId);
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        return result.value;
      };
      while ((await evaluate('document.readyState + location.href')) !== `complete${url}`) await pause(20);
      return { evaluate, send: (method, params) => send(method, params, sessionId) };
    },
    async close() {
      process.kill(-browser.pid, 'SIGKILL');
      await ended;
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Messages are JSON, each with a zero byte after it. */
function conversation(to, from) {
  const waiting = new Map();
  let [last, rest] = [0, ''];
  from.setEncoding('utf8').on('data', (text) => {
    const messages = (rest + text).split('\0');
    rest = messages.pop();
    for (const { id, result, error } of messages.map((message) => JSON.parse(message))) {
      const { resolve, reject } = waiting.get(id) ?? {};
      if (error) reject?.(new Error(error.message));
      else resolve?.(result);
    }
  });
  return (method, params = {}, sessionId = undefined) =>
    new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject });
      to.write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`);
    });
}
