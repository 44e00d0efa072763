// Contenders in headless Firefox: each in a worker of a page of a browser of its own. There is no driver: the page asks
// for what is to be done and posts
// what came of it.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { findFirefox } from '../../../tools/programs.mjs';
import { startFirefox } from '../../browser/firefox.js';
import { openRepository } from '../../browser/repository.js';
import { processorMs, residentBytes } from './process.js';

const SCRIPT = `
  let worker;
  for (;;) {
    const message = await (await fetch('/talk/next')).json();
    worker ??= new Worker('tests/bench/contender.js', { type: 'module' });
    const answer = await new Promise((resolve) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = (event) => resolve({ error: event.message || 'the worker did not start' });
      worker.postMessage(message);
    });
    await fetch('/talk/answer', { method: 'POST', body: JSON.stringify(answer) });
  }`;

/** Messages to the page and its answers, one after the other. */
function conversation() {
  let page,
    wake = () => {},
    hear = () => {};
  const loaded = async () => {
    while (!page)
      await new Promise((resolve) => {
        wake = resolve;
      });
  };
  return {
    loaded,
    talk: async (request, response) => {
      if (request.url === '/talk/next') {
        page = response; // it waits for a message
        return wake();
      }
      const answer = await new Response(request).json();
      response.end();
      hear(answer);
    },
    ask: async (message) => {
      await loaded();
      const response = page;
      page = undefined;
      const answer = await new Promise((resolve) => {
        hear = resolve;
        response.end(JSON.stringify(message));
      });
      if (answer.error) throw Object.assign(new Error(answer.error), { stack: answer.stack });
      return answer;
    },
    fail: (error) => hear({ error }),
  };
}

/** The processes of pages below a browser's. */
function contentProcesses(browser) {
  const stat = (pid) => {
    try {
      const [, name, parent] = /^\d+ \((.*)\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'));
      return { name, parent: Number(parent) };
    } catch {
      return {}; // it has ended
    }
  };
  const all = new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => [Number(pid), stat(pid)]),
  );
  const isBelow = (pid) => pid === browser || (all.has(pid) && isBelow(all.get(pid).parent));
  return [...all].filter(([pid, { name }]) => name?.startsWith('Isolated Web') && isBelow(pid)).map(([pid]) => pid);
}

export async function openFirefox({ threads }) {
  if (!findFirefox()) throw new RangeError('There is no Firefox in the PATH; FIREFOX_PATH can name one.');
  const version = execFileSync(findFirefox(), ['--version'], { encoding: 'utf8' });
  return {
    name: version.trim().replace('Mozilla ', ''),
    start: async (contender, row) => {
      const { talk, ask, loaded, fail } = conversation();
      const site = await openRepository({ script: SCRIPT, talk });
      const browser = startFirefox(site.url('isolated'));
      browser.ended.then(fail);
      const close = async () => {
        await browser.close();
        await site.close();
      };
      const sentence = await Promise.race([loaded(), browser.ended]);
      if (sentence) {
        await close();
        throw new Error(sentence);
      }
      const resident = () => Math.max(...contentProcesses(browser.pid).map(residentBytes));
      const blank = resident();
      return {
        open: async () => {
          const answer = await ask({ open: { contender, row, threads } });
          return { ...answer, residentBytes: resident() - blank };
        },
        processorMs: async () =>
          contentProcesses(browser.pid)
            .map((pid) => processorMs(pid, 'DOM Worker'))
            .reduce((a, b) => a + b, 0),
        measure: (steps) => ask({ measure: steps }),
        close,
      };
    },
    close: async () => {},
  };
}
