// Kills Node, Chromium and Firefox in the middle of trainings that save after every step, and checks that nothing
// acknowledged is lost.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import * as trainlet from '../../js/index.js';
import { openRepository } from '../browser/repository.js';
import { startBrowser } from './browsers.js';
import { Judge, referenceOf } from './judge.js';
import { KEEP, live, look } from './life.js';
import { PersonJudge, personReferences } from './person-judge.js';
import { liveSession, lookAtSessions } from './session-life.js';

const HELP = `npm run crash -- [options]    kills trainings that save after every step, and checks what is left
  --node N       times that a process of Node is killed, one writer (80)
  --chromium N   the same of Chromium (80)
  --firefox N    the same of Firefox (40)
  --two N        rounds with two writers under one name: half of them two processes, half two tabs of Chromium (100)
  --person N     rounds in which a person's samples and fineTune are killed: \
so many in Chromium, so many in Firefox (50)
  --sessions N   rounds in which session.save is killed: so many in Node, so many in Chromium (40)
  --help
A round goes on from what the round before left. Each version must have the very bytes \
that a training without a kill saves at its step,
each acknowledged one must be there or ${KEEP} newer ones, and each loss after a resume must be that of \
a training without a kill.`;

const WRITERS = [1, 2];
const PATIENCE_MS = 120_000;
/** After the first save, before the kill: at most. */
const MOST_MS = { node: 700, browser: 1200, person: 4000 };
const golden = (file) => readFileSync(new URL(`../golden/data/${file}`, import.meta.url));
const recipe = JSON.parse(golden('w2.json'));
const sleep = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** The place of a step in what `live` and `liveSession` save beside the bytes. @param {any} meta */
const stepIn = ({ step, session }) => step ?? JSON.parse(session.preprocessing).step;

/** @param {number} who @param {typeof live | typeof liveSession} life */
const trainUnkilled = (who, life) =>
  referenceOf(async (tell, saved) => {
    const save = async (_name, bytes, meta) => {
      saved(stepIn(meta), createHash('sha256').update(bytes).digest('hex'));
    };
    const store = { save, load: async () => undefined, versions: async () => [] };
    await life(trainlet, { who, recipe, model: golden(recipe.model), store, lives: 1, tell });
  });

/**
 * Rejects when it takes too long.
 * @template T
 * @param {Promise<T>} work
 * @param {() => string} state
 * @returns {Promise<T>}
 */
async function within(work, state) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came for ${PATIENCE_MS / 1000} s; ${state()}`)), PATIENCE_MS);
  });
  return await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** @param {Judge} judge @param {string} directory @param {string} [kind] `sessions`: whole ones are there */
async function inspectFolder(judge, directory, kind) {
  const store = await trainlet.CheckpointStore.open({ directory, keep: KEEP });
  if (kind !== 'sessions') return judge.inspect((await look(store)).found);
  const { found, session } = await lookAtSessions(trainlet, store);
  await session?.release();
  judge.inspect(found);
}

/**
 * Processes that save into one folder.
 * @param {Judge} judge @param {string} directory @param {number[]} writers @param {string} kind of what they save
 */
async function nodeRound(judge, directory, writers, kind) {
  await inspectFolder(judge, directory, kind);
  const lives = writers.map((who) => {
    const child = spawn(
      process.execPath,
      [fileURLToPath(new URL('life-in-node.js', import.meta.url)), directory, String(who), kind],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const lines = createInterface({ input: child.stdout });
    const ended = Promise.all([once(child, 'close'), once(lines, 'close')]);
    const saved = new Promise((resolve, reject) => {
      lines.on('line', (line) => {
        const event = JSON.parse(line);
        try {
          judge.hear(who, event);
        } catch (error) {
          reject(error);
        }
        if (event.saved) resolve(undefined);
      });
      ended.then(() => reject(new Error(`writer ${who} ended by itself`)));
    });
    return { child, ended, saved };
  });
  try {
    await within(Promise.all(lives.map(({ saved }) => saved)), () => 'no save of Node');
    await sleep(MOST_MS.node * Math.random());
  } finally {
    for (const { child, ended } of lives) {
      child.kill('SIGKILL');
      await ended;
    }
  }
}

/** The site of the pages; one round is heard at a time. */
async function openPages() {
  const script = 'import "./tests/crash/life-in-page.js";';
  let hear = (_query, _event) => Promise.resolve();
  const site = await openRepository({
    script,
    talk: async (request, response) => {
      const query = new URL(request.url, 'http://localhost').searchParams;
      await hear(query, await new Response(request).json());
      response.end();
    },
  });
  return {
    site,
    listen: (listener) => {
      hear = listener;
    },
  };
}

/** Tabs that save into one database. `writers`: none, to look only. */
async function browserRound(
  judge,
  { kind, pages, round, profile, writers, person = '', sessions = '', toBeKilled = true },
) {
  const saved = new Set();
  let found = 0,
    open;
  const calm = new Promise((resolve) => {
    open = resolve;
  }); // nobody writes before all have looked
  const { promise: going, resolve: go, reject: fail } = withResolvers();
  let last = 'no page has said anything';
  pages.listen(async (query, event) => {
    const who = Number(query.get('who'));
    if (query.get('round') !== round) return;
    last = `writer ${who} said ${JSON.stringify(event).slice(0, 200)}`;
    try {
      judge.hear(who, event);
      if (event.found) judge.inspect(event.found);
    } catch (error) {
      fail(error);
    }
    if (event.found && ++found === writers.length) open();
    if (event.found) await calm;
    if (event.found && !toBeKilled) go();
    if (event.saved) saved.add(who);
    if (saved.size === writers.length) go();
  });
  const [who, other = ''] = writers;
  const browser = startBrowser(
    kind,
    profile,
    `${pages.site.url('plain')}?${new URLSearchParams({ who, other, round, person, sessions })}`,
  );
  browser.ended.then(() => fail(new Error(`${kind} ended by itself; ${last}`)));
  try {
    await within(going, () => last);
    await sleep((person ? MOST_MS.person : MOST_MS.browser) * Math.random());
  } finally {
    await browser.kill();
    pages.listen(async () => {});
  }
}

/** Promise.withResolvers, which Node 20 lacks. */
function withResolvers() {
  const parts = {};
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
}

/**
 * Some rounds, and a last look.
 * @param {string} title
 * @param {() => Judge | PersonJudge} appoint
 * @param {number} rounds
 * @param {(judge: Judge, i: number) => Promise<void>} round
 * @param {(judge: Judge) => Promise<void>} end
 */
async function repeat(title, appoint, rounds, round, end) {
  if (!rounds) return;
  const judge = appoint();
  const since = performance.now();
  for (let i = 0; i < rounds; i++) {
    await round(judge, i).catch((error) => {
      throw new Error(`${title}, round ${i + 1} of ${rounds}: ${error.message}`, { cause: error });
    });
    judge.counts.kills++;
  }
  await end(judge);
  console.log(`${title}: ${judge.summary} (${Math.round((performance.now() - since) / 1000)} s)`);
}

/** Rounds of each kind; undefined where only help was asked for. */
function readRounds() {
  const usual = { node: 80, chromium: 80, firefox: 40, two: 100, person: 50, sessions: 40 };
  const text = { type: 'string' };
  const { values } = parseArgs({
    options: {
      node: text,
      chromium: text,
      firefox: text,
      two: text,
      person: text,
      sessions: text,
      help: { type: 'boolean' },
    },
  });
  if (values.help) return undefined;
  return Object.fromEntries(
    Object.entries(usual).map(([name, most]) => {
      const n = Number(values[name] ?? most);
      if (!Number.isSafeInteger(n) || n < 0) throw new Error(`--${name} must be a whole number, not ${values[name]}`);
      return [name, n];
    }),
  );
}

/**
 * @param {Record<string, number>} rounds
 * @param {string} folder
 * @param {Awaited<ReturnType<typeof openPages>>} pages
 */
async function runAll(rounds, folder, pages) {
  const references = new Map();
  if (Object.entries(rounds).some(([name, n]) => n && !['person', 'sessions'].includes(name)))
    for (const who of WRITERS) references.set(who, await trainUnkilled(who, live));
  const usual = () => new Judge(references);
  const inNode = (title, n, writers, { appoint = usual, kind = '' } = {}) => {
    const directory = path.join(folder, title);
    return repeat(
      title,
      appoint,
      n,
      (judge) => nodeRound(judge, directory, writers, kind),
      (judge) => inspectFolder(judge, directory, kind),
    );
  };
  const inBrowser = (title, kind, n, writers, { appoint = usual, person, sessions } = {}) => {
    const options = { kind, pages, profile: path.join(folder, title), writers, person, sessions };
    const end = (judge) => browserRound(judge, { ...options, writers: [1], round: `${title} end`, toBeKilled: false });
    return repeat(title, appoint, n, (judge, i) => browserRound(judge, { ...options, round: `${title} ${i}` }), end);
  };
  await inNode('Node', rounds.node, [1]);
  await inBrowser('Chromium', 'chromium', rounds.chromium, [1]);
  await inBrowser('Firefox', 'firefox', rounds.firefox, [1]);
  await inNode('Node, two processes', Math.ceil(rounds.two / 2), WRITERS);
  await inBrowser('Chromium, two tabs', 'chromium', Math.floor(rounds.two / 2), WRITERS);
  if (rounds.sessions) {
    const unkilled = new Map([[1, await trainUnkilled(1, liveSession)]]);
    const appoint = () => new Judge(unkilled);
    await inNode('Node, sessions', rounds.sessions, [1], { appoint, kind: 'sessions' });
    await inBrowser('Chromium, sessions', 'chromium', rounds.sessions, [1], { appoint, sessions: '1' });
  }
  if (!rounds.person) return;
  const known = await personReferences(trainlet, golden(recipe.model));
  const whole = { appoint: () => new PersonJudge(known), person: '1' };
  await inBrowser('Chromium, a person', 'chromium', rounds.person, [1], whole);
  await inBrowser('Firefox, a person', 'firefox', rounds.person, [1], whole);
}

async function main() {
  const rounds = readRounds();
  if (!rounds) return console.log(HELP);
  const folder = mkdtempSync(path.join(tmpdir(), 'trainlet-crash-'));
  const pages = await openPages();
  try {
    await runAll(rounds, folder, pages);
  } finally {
    await pages.site.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

await main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
