// A language model of 135 M parameters in a tab of Chromium: in 4 bits, with adapters that train, and what the tab
// takes. No debugger is attached: it would keep what the page loads.
import { spawn } from 'node:child_process';
import { createReadStream, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root, runMain } from '../../tools/programs.mjs';
import { openRepository } from '../browser/repository.js';
import { OPTIONS } from '../browser/visitor.js';

const MOST_MB = 700;
const EVERY_MS = 50;
const HELP = `npm run large -- [options]    a language model of 135 M parameters in a tab of Chromium
  --model FOLDER     what tests/large/make.py has written (build/large)
  --length N         tokens of a step (128)
  --steps N          how many (5)
  --quantize KIND    int8, int4 or float16 (int4)
  --threads N        of the engine (1)
  --most N           MB that the engine may take (400; 0: as many as it likes)
  --help
It prints what takes how long, and ends with 1 where the tab's process takes more than ${MOST_MB} MB of its own.`;

const string = (value) => ({ type: 'string', default: value });
const OPTION = {
  model: string(join(root, 'build/large')),
  length: string('128'),
  steps: string('5'),
  quantize: string('int4'),
  threads: string('1'),
  most: string('400'),
  help: { type: 'boolean' },
};

const textOf = (file) => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // it has ended
  }
};

/** Private memory of the largest tab process of this profile, in MB. */
function residentMB(profile) {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const tabs = pids.filter((pid) => {
    const line = textOf(`/proc/${pid}/cmdline`);
    return line.includes('--type=renderer') && line.includes(profile);
  });
  const own = tabs.map((pid) => Number(/^RssAnon:\s+(\d+)/m.exec(textOf(`/proc/${pid}/status`))?.[1] ?? 0));
  return Math.max(0, ...own) * 1024e-6;
}

/** The files of a folder, by ranges where they are asked for; what the page tells goes to `hear`. */
const talk = (folder, hear) => (request, response) => {
  const name = request.url.split('/').pop();
  if (name === 'told') {
    request.setEncoding('utf8').on('data', (text) => hear(JSON.parse(text)));
    return response.writeHead(204).end();
  }
  const file = join(folder, name);
  if (!existsSync(file)) return response.writeHead(404).end();
  const { size } = statSync(file);
  const [, from = 0, to = size - 1] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '')?.map(Number) ?? [];
  const isPart = Boolean(request.headers.range);
  response.writeHead(isPart ? 206 : 200, {
    'content-length': to - from + 1,
    'cache-control': 'no-store',
    ...(isPart && { 'content-range': `bytes ${from}-${to}/${size}` }),
  });
  createReadStream(file, { start: from, end: to }).pipe(response);
};

async function main() {
  const { values } = parseArgs({ options: OPTION });
  if (values.help) return console.log(HELP);
  if (!existsSync(join(values.model, 'model.onnx.data')))
    throw new Error(
      `${values.model} has no model: build/venv/bin/python tests/large/make.py ${values.model} writes it`,
    );
  const profile = mkdtempSync(join(tmpdir(), 'trainlet-large-'));
  const memory = { now: 0, most: 0 };
  let [before, end] = [0, (_) => {}];
  const ended = new Promise((resolve) => {
    end = resolve;
  });
  const hear = ({ what, at, ...more }) => {
    if (what === 'end') return end(more);
    const { now, most } = memory;
    const took = what === 'begin' ? '' : `${((at - before) / 1000).toFixed(2)} s, `;
    console.log(`${what}: ${took}the tab has ${now.toFixed(0)} MB, so far at most ${most.toFixed(0)}`, more);
    before = at;
  };
  const site = await openRepository({ script: 'import "./tests/large/in-page.js";', talk: talk(values.model, hear) });
  const asked = {
    length: Number(values.length),
    steps: Number(values.steps),
    quantizeFrozen: values.quantize,
    threads: Number(values.threads),
    maxMemoryBytes: Number(values.most) * 1e6,
  };
  const url = `${site.url('isolated')}#${encodeURIComponent(JSON.stringify(asked))}`;
  const browser = spawn(
    OPTIONS.executablePath,
    [...OPTIONS.args, '--headless=new', `--user-data-dir=${profile}`, url],
    {
      stdio: 'ignore',
    },
  );
  const timer = setInterval(() => {
    memory.now = residentMB(profile);
    memory.most = Math.max(memory.most, memory.now);
  }, EVERY_MS);
  try {
    const { error, stateBytes, arenaBytes, takenBytes } = await ended;
    if (error) throw new Error(error);
    const [taken, state, arena] = [takenBytes, stateBytes, arenaBytes].map((bytes) => (bytes / 1e6).toFixed(0));
    console.log(`the engine counts ${taken} MB: ${state} of state, ${arena} of a step`);
    console.log(`the tab had at most ${memory.most.toFixed(0)} MB; the machine's load is ${loadavg()[0].toFixed(1)}`);
    process.exitCode = Number(memory.most > MOST_MB);
  } finally {
    clearInterval(timer);
    const gone = new Promise((resolve) => browser.on('exit', resolve));
    browser.kill();
    await gone;
    await site.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

await runMain(main);
