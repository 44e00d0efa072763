// Half an hour of fineTune in a tab of Chromium: its memory, the longest tasks of the page, and how soon it pauses and
// is cancelled.
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { openRepository } from '../browser/repository.js';
import { launch } from '../browser/visitor.js';

const HELP = `npm run endure -- [options]    fineTune in a tab of Chromium, for long
  --minutes N   how long (30)
  --help
It prints a row each minute, and ends with 1 where the memory has grown, where a task of the page's thread took more
than 50 ms of its own, or where a pause or a cancelled call took longer than 50 ms and two steps: by the clock, so run
it where nothing else does.`;

const LONG_TASK = 50;
/**
 * Bound on the growth of memory from the first half to the second: the most that is counted, and the least that is
 * resident, where garbage comes and goes. MB that a history keeps of an epoch.
 */
const GROWTH = 1.05,
  HISTORY_MB = 200 / 2 ** 20;
const CANCELLED = 10;
const TRACED_MS = 5000;
const MB = 2 ** 20;
const sleep = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/**
 * The longest task of the page's thread in some seconds, in ms of its own time: other programs count in an observer's.
 */
async function longestTask(browser, page) {
  await browser.startTracing(page, { categories: ['toplevel', '__metadata'] });
  await sleep(TRACED_MS);
  const { traceEvents } = JSON.parse(await browser.stopTracing());
  const threads = traceEvents.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain');
  const tasks = traceEvents.filter(
    ({ tdur, pid, tid }) => tdur && threads.some((thread) => thread.pid === pid && thread.tid === tid),
  );
  return Math.max(0, ...tasks.map(({ tdur }) => tdur / 1000));
}

/** Private memory of the tab's process by the system, in MB. */
async function residentMB(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  const sizes = processInfo
    .filter(({ type }) => type === 'renderer')
    .map(({ id }) => {
      const [, kB] = /^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/status`, 'utf8'));
      return Number(kB) / 1024;
    });
  return Math.max(...sizes);
}

/** Memory of the page and its workers that the browser counts after collecting garbage, in MB. */
const countedMB = async (page) =>
  (await page.evaluate(async () => (await performance.measureUserAgentSpecificMemory()).bytes)) / MB;

/**
 * A row each minute, with a pause in its middle, as long as it trains: measuring takes time where the machine is busy.
 */
async function watch(browser, page, tuning) {
  const rows = [];
  let over = false;
  const end = () => {
    over = true;
  };
  tuning.then(end, end);
  for (const since = performance.now(); !over; ) {
    const begun = performance.now();
    await sleep(20_000);
    const task = await longestTask(browser, page);
    await page.evaluate(() => window.pause());
    const counted = await countedMB(page);
    const resident = await residentMB(browser);
    const { tasks, epochs, checkpoints, failed, pauses } = await page.evaluate(() => window.seen);
    if (over) break;
    const minute = Math.ceil((performance.now() - since) / 60_000);
    const row = { minute, counted, resident, epochs, checkpoints, failed, tasks: tasks.length, task };
    rows.push(row);
    console.log(
      `${String(minute).padStart(2)} min: ${counted.toFixed(1)} MB counted, ${resident.toFixed(1)} MB resident, ` +
        `${epochs} epochs, ${checkpoints} checkpoints, ${failed} failed, ${pauses.length} pauses, ` +
        `tasks over ${LONG_TASK} ms: ${tasks.join(' ') || 'none'}; ` +
        `longest of ${TRACED_MS / 1000} s by itself ${task.toFixed(1)} ms; ` +
        `the machine's load is ${loadavg()[0].toFixed(1)}`,
    );
    await sleep(Math.max(0, 60_000 - (performance.now() - begun)));
  }
  return rows;
}

/** Faults, a line each. The first row is of a tab that is still filling its caches. */
function faults([, ...rows], { pauses, cancelled, stepMs, stopped, failed }) {
  const grown = (name, kind, of) => {
    const [first, second] = [rows.slice(0, rows.length / 2), rows.slice(rows.length / 2)].map((half) =>
      Math[kind](...half.map(of)),
    );
    return second > first * GROWTH && `${name} memory has grown from ${first.toFixed(1)} to ${second.toFixed(1)} MB`;
  };
  const longest = Math.max(...rows.map(({ task }) => task));
  const late = Math.max(...pauses, ...cancelled);
  return [
    grown('counted', 'max', ({ counted, epochs }) => counted - epochs * HISTORY_MB),
    grown('resident', 'min', ({ resident }) => resident),
    longest > LONG_TASK && `the page had a task of ${longest.toFixed(1)} ms`,
    !(late <= LONG_TASK + 2 * stepMs) &&
      `a pause or a cancelled call took ${late} ms, and a step ${stepMs.toFixed(1)} ms`,
    stopped !== 'max-ms' && `it ended with ${stopped}`,
    failed && `${failed} checkpoints failed`,
  ].filter(Boolean);
}

async function main() {
  const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' }, help: { type: 'boolean' } } });
  if (values.help) return console.log(HELP);
  const minutes = Number(values.minutes);
  if (!Number.isSafeInteger(minutes) || minutes < 1)
    throw new Error(`--minutes must be a whole number from 1 up, not ${values.minutes}`);
  const site = await openRepository({ script: 'import "./tests/endurance/tune-in-page.js";' });
  const browser = await launch();
  try {
    const page = await browser.newPage();
    await page.goto(site.url('isolated'));
    await page.waitForFunction(() => window.tune);
    const tuning = page.evaluate((ms) => window.tune(ms), minutes * 60_000);
    const rows = await watch(browser, page, tuning);
    const tuned = await tuning;
    const seen = await page.evaluate(() => window.seen);
    const cancelled = [];
    for (let i = 0; i < CANCELLED; i++) cancelled.push(await page.evaluate(() => window.cancel()));
    const { steps, stepMs, pausedMs } = tuned;
    console.log(`${steps} steps of ${stepMs.toFixed(1)} ms, ${pausedMs} ms paused, ended by ${tuned.stopped}`);
    console.log(`paused after ms: ${seen.pauses.join(' ')}\ncancelled after ms: ${cancelled.join(' ')}`);
    const found = faults(rows, { ...seen, ...tuned, cancelled });
    for (const fault of found) console.error(fault);
    process.exitCode = Number(found.length > 0);
  } finally {
    await browser.close();
    await site.close();
  }
}

await main();
