// A language model of 135 M parameters in a tab of Chromium: in 4 bits, with adapters that train, and what the tab takes.
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../../wasm/tools.mjs';
import { openRepository } from '../browser/repository.js';
import { launch } from '../browser/visitor.js';

const HELP = `npm run large -- [options]    a language model of 135 M parameters in a tab of Chromium
  --model FOLDER   what tests/large/make.py has written (build/large)
  --length N       tokens of a step (128)
  --steps N        how many (5)
  --quantize KIND  int8, int4 or float16 (int4)
  --help
It prints what takes how long, and ends with 1 where the tab's process takes more than ${700} MB of its own.`;

const MOST_MB = 700;
const EVERY_MS = 50;

/** The tab's process: what it holds of its own, in MB, and the most it has held. */
async function watchTab(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  const pids = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id);
  const own = (pid) => Number(/^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1000;
  const tab = { now: 0, most: 0 };
  const look = () => {
    tab.now = Math.max(...pids.map(own));
    tab.most = Math.max(tab.most, tab.now);
  };
  look();
  const timer = setInterval(look, EVERY_MS);
  return { tab, end: () => clearInterval(timer) };
}

/** The files of a folder, by ranges where they are asked for. */
function filesOf(folder) {
  return (request, response) => {
    const file = join(folder, request.url.split('/').pop());
    if (!existsSync(file)) return response.writeHead(404).end();
    const { size } = statSync(file);
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    if (from === undefined)
      return createReadStream(file).pipe(response.writeHead(200, { 'content-length': size, 'cache-control': 'no-store' }));
    const headers = { 'content-range': `bytes ${from}-${to}/${size}`, 'content-length': to - from + 1, 'cache-control': 'no-store' };
    createReadStream(file, { start: Number(from), end: Number(to) }).pipe(response.writeHead(206, headers));
  };
}

async function main() {
  const string = (value) => ({ type: 'string', default: value });
  const { values } = parseArgs({
    options: {
      model: string(join(root, 'build/large')),
      length: string('128'),
      steps: string('5'),
      quantize: string('int4'),
      help: { type: 'boolean' },
    },
  });
  if (values.help) return console.log(HELP);
  if (!existsSync(join(values.model, 'model.onnx.data')))
    throw new Error(`${values.model} has no model: build/venv/bin/python tests/large/make.py ${values.model} writes it`);
  const site = await openRepository({ script: 'import "./tests/large/in-page.js";', talk: filesOf(values.model) });
  const browser = await launch();
  try {
    const page = await browser.newPage();
    await page.goto(site.url('plain'));
    await page.waitForFunction(() => window.learn);
    const { tab, end } = await watchTab(browser);
    const begun = tab.now;
    const learning = page.evaluate((options) => window.learn(options), {
      model: '/talk/model.onnx',
      data: '/talk/model.onnx.data',
      length: Number(values.length),
      steps: Number(values.steps),
      quantizeFrozen: values.quantize,
    });
    let over = false;
    const finish = () => {
      over = true;
    };
    learning.then(finish, finish);
    let seen = 0, before = await page.evaluate(() => performance.now());
    const tell = async () => {
      const told = await page.evaluate((from) => window.told.slice(from), seen);
      for (const { what, at, ...more } of told) {
        console.log(`${what}: ${((at - before) / 1000).toFixed(1)} s, the tab has ${tab.now.toFixed(0)} MB, at most ${tab.most.toFixed(0)}; ${JSON.stringify(more)}`);
        before = at;
      }
      seen += told.length;
    };
    while (!over) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      await tell();
    }
    const plan = await learning;
    await tell();
    end();
    console.log(`the engine counts ${(plan.takenBytes / 1e6).toFixed(0)} MB: ${(plan.stateBytes / 1e6).toFixed(0)} of state, ${(plan.arenaBytes / 1e6).toFixed(0)} of a step`);
    console.log(`the tab had ${begun.toFixed(0)} MB before, and at most ${tab.most.toFixed(0)}; the machine's load is ${loadavg()[0].toFixed(1)}`);
    process.exitCode = Number(tab.most > MOST_MB);
  } finally {
    await browser.close();
    await site.close();
  }
}

await main();
