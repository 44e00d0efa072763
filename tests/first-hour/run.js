// The first hour's tasks, ours and TensorFlow.js', from the packed package in a fresh folder: lines, and seconds until
// the accuracy that is asked for.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { cpus, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { launch } from '../browser/visitor.js';
import { serveFolder } from '../hosts/serve.js';
import { pack } from '../packed.js';
import { root } from '../support/engines.js';
import { countLines } from './lines.js';
import { TASKS } from './tasks.js';

/** @import { Task } from './tasks.js' */
/** @typedef {{ wall: number, processor?: number, result: number }} Run */

const HELP = `npm run first-hour -- [options]    lines and seconds beside TensorFlow.js
  --only NAMES   of ${Object.keys(TASKS).join(', ')}, joined by commas (all)
  --rounds N     programs take turns N times, and the median is told (3)
  --write        writes docs/measured/first-hour.md
  --help
It installs TensorFlow.js, ml5, Vite and onnxruntime-web from npm, so it is no part of npm test. Three rounds of all
tasks take six minutes on two cores.`;

const FOLDER = path.join(root, 'tests/first-hour');
const PAGE = path.join(root, 'docs/measured/first-hour.md');
const PATIENCE_MS = 600_000;
const ML5 = '1.4.0';
/** Programs begin at random numbers: they may miss the accuracy so often. */
const MISSES = 2;
const TYPES = { '.js': 'text/javascript', '.wasm': 'application/wasm', '.html': 'text/html' };
const execute = promisify(execFile);

/** Puts the programs, the packed package and its peers into a folder. @param {string} folder */
async function prepare(folder) {
  await cp(FOLDER, folder, { recursive: true });
  const tarball = await pack(folder);
  const quiet = ['--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts'];
  await execute('npm', ['install', '--loglevel', 'error', ...quiet, tarball], { cwd: folder });
  /* ml5's one file holds what it depends on */
  const ml5 = path.join(folder, 'node_modules/ml5');
  await mkdir(ml5);
  await execute('npm', ['pack', '--loglevel', 'error', `ml5@${ML5}`], { cwd: folder });
  await execute('tar', ['xzf', path.join(folder, `ml5-${ML5}.tgz`), '-C', ml5, '--strip-components', '1']);
}

/** The number of `accuracy 0.98`, of an object with it, or of a printed tensor. @param {string} text */
const resultOf = (text) => {
  const [, named, alone] = /(?:accuracy|r2):? ([\d.e-]+)|^ {4}([\d.e-]+)$/m.exec(text) ?? [];
  return Number(named ?? alone);
};

/** @param {string} folder @param {string} program @param {string} [backend] @returns {Promise<Run>} */
async function runProgram(folder, program, backend) {
  const clock = path.join(folder, 'clock.json');
  const preloaded = ['clock.js', ...(backend === 'wasm' ? ['wasm.js'] : [])].flatMap((name) => [
    '--import',
    path.join(folder, name),
  ]);
  const options = { cwd: path.join(folder, path.dirname(program)), timeout: PATIENCE_MS };
  const { stdout } = await execute(process.execPath, [...preloaded, path.join(folder, program)], {
    ...options,
    env: { ...process.env, CLOCK: clock },
  });
  return { ...JSON.parse(await readFile(clock, 'utf8')), result: resultOf(stdout) };
}

/**
 * A server of files that pages of other origins may import.
 * @param {(path: string) => Promise<string | Buffer>} read
 */
async function serve(read) {
  const server = createServer(async ({ url = '/' }, response) => {
    const type = TYPES[/** @type {keyof typeof TYPES} */ (path.extname(url))] ?? 'application/octet-stream';
    const body = await read(url).catch(() => undefined);
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': type, 'access-control-allow-origin': '*' });
    response.end(body);
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(undefined));
  });
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { url: `http://127.0.0.1:${port}`, stop: () => server.close() };
}

/**
 * A visit to a page, until its title tells the result.
 * @param {string} folder @param {string} page @returns {Promise<Run>}
 */
async function runPage(folder, page) {
  const cdn = await serve((url) => readFile(path.join(folder, 'node_modules', url)));
  const site = await serve(async (url) =>
    (await readFile(path.join(folder, url), 'utf8')).replaceAll('https://cdn.example', cdn.url),
  );
  try {
    return await visit(`${site.url}/${page}`);
  } finally {
    for (const server of [cdn, site]) server.stop();
  }
}

/** A visit to a page that Vite has built. @param {string} folder @param {string} program @returns {Promise<Run>} */
async function runBuilt(folder, program) {
  const app = path.join(folder, path.dirname(program));
  await execute(path.join(folder, 'node_modules/.bin/vite'), ['build', app, '--logLevel', 'error'], { cwd: folder });
  const server = await serveFolder(path.join(app, 'dist'));
  try {
    return await visit(server.url);
  } finally {
    server.stop();
  }
}

/** Opens a page in a new profile, until its title tells the result. @param {string} url @returns {Promise<Run>} */
async function visit(url) {
  const browser = await launch();
  try {
    const tab = await browser.newPage();
    /** @type {Promise<never>} */
    const failure = new Promise((_, reject) => {
      tab.on('pageerror', (error) => reject(new Error(`${url}: ${error.message}`)));
    });
    const start = performance.now();
    await tab.goto(url);
    await Promise.race([failure, tab.waitForFunction(() => document.title, undefined, { timeout: PATIENCE_MS })]);
    return { wall: (performance.now() - start) / 1000, result: resultOf(await tab.title()) };
  } finally {
    await browser.close();
  }
}

const RUN = { js: runProgram, html: runPage, vite: runBuilt };

/**
 * A run that reaches what is wanted.
 * @param {string} folder @param {Task['kind']} kind @param {string} file @param {string} entrant @param {number} wanted
 */
async function succeed(folder, kind, file, entrant, wanted) {
  for (let missed = 0; ; missed++) {
    const run = await RUN[kind](folder, file, entrant);
    if (run.result >= wanted) return run;
    console.log(`${file} (${entrant}) reached ${run.result}, not ${wanted}`);
    if (missed === MISSES) throw new Error(`${file} (${entrant}) missed ${wanted} ${MISSES + 1} times`);
  }
}

/** @param {string} folder @param {string} name @param {Task} task @param {number} rounds */
async function measure(folder, name, { kind, wanted, backends, ml5 }, rounds) {
  if (name === 'csv') await execute(process.execPath, ['data.js'], { cwd: path.join(folder, name) });
  const fileOf = (/** @type {string} */ who) => `${name}/${who}${kind === 'vite' ? '/main.js' : `.${kind}`}`;
  const files = { ours: fileOf('ours'), theirs: fileOf('theirs'), ...(ml5 ? { ml5: fileOf('ml5') } : {}) };
  const entrants = Object.entries(files).flatMap(([who, file]) =>
    who === 'theirs' ? backends.map((backend) => [backend, file]) : [[who, file]],
  );
  /** @type {Record<string, Run[]>} */
  const runs = Object.fromEntries(entrants.map(([entrant]) => [entrant, []]));
  for (let round = 0; round < rounds; round++)
    for (const [entrant, file] of entrants) runs[entrant].push(await succeed(folder, kind, file, entrant, wanted));
  const lines = await Promise.all(
    Object.entries(files).map(async ([who, file]) => [
      who,
      countLines(await readFile(path.join(folder, file), 'utf8')),
    ]),
  );
  return { lines: Object.fromEntries(lines), runs };
}

/** @param {(number | undefined)[]} all */
const median = (all) => [...all].sort((a = 0, b = 0) => a - b)[all.length >> 1];

/** @param {Run[]} runs */
function secondsOf(runs) {
  const [wall = 0, processor] = [median(runs.map((run) => run.wall)), median(runs.map((run) => run.processor))];
  return `${wall.toFixed(1)} s${processor === undefined ? '' : ` (${processor.toFixed(1)} s)`}`;
}

/** @param {Task} task @param {Awaited<ReturnType<typeof measure>>} measured */
function rowOf({ title, wanted, note }, { lines, runs: { ours, ...theirs } }) {
  const times = Object.entries(theirs).map(([backend, runs]) => `${backend}: ${secondsOf(runs)}`);
  const cells = [
    title,
    lines.ours,
    lines.theirs + (lines.ml5 ? ` (ml5 ${lines.ml5})` : ''),
    wanted,
    secondsOf(ours),
    times.join(', ') + (note ? `; ${note}` : ''),
  ];
  return `| ${cells.join(' | ')} |`;
}

/** @param {string[]} rows @param {string} versions @param {string} state */
const pageOf = (rows, versions, state) => `# Beside TensorFlow.js

\`npm run first-hour -- --write\` writes this page: the same tasks, with the same data, network and epochs, for Trainlet
and ${versions}. The programs are in
\`tests/first-hour/\`. They run from the packed package in a fresh folder.

| task | lines | TensorFlow.js' lines | at least | Trainlet | TensorFlow.js |
|---|---:|---:|---:|---:|---|
${rows.join('\n')}

Lines are those that are neither blank nor a comment, in the same formatting, with each layer on a line of its own.
Trainlet has more in four of five tasks: its networks name their input, and artifacts and session are two calls.
Seconds are those of the whole program, from its start to its end, in parentheses those of the processor; of a page,
until it shows the accuracy. "At least" is the accuracy, of the price r², that each run must reach: on held-out
examples, of the last page on its own. In Node, TensorFlow.js computes by its JavaScript backend, and by its wasm
backend where that can train. Its native addon, and the GPU of a page, are other matters: they were not measured. ml5
needs a page; its neuralNetwork could do the first two tasks there, too, which was not measured.

Measured ${state}.
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    write: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});
if (values.help) {
  console.log(HELP);
  process.exit(0);
}
const names = values.only?.split(',') ?? Object.keys(TASKS);
const unknown = names.filter((name) => !TASKS[name]);
if (unknown.length) {
  console.error(`There is no task ${unknown.join(', ')}; there are ${Object.keys(TASKS).join(', ')}.`);
  process.exit(2);
}
const folder = await mkdtemp(path.join(tmpdir(), 'trainlet-first-hour-'));
try {
  await prepare(folder);
  const rows = [];
  for (const name of names) {
    const begun = performance.now();
    rows.push(rowOf(TASKS[name], await measure(folder, name, TASKS[name], Number(values.rounds))));
    console.log(`${rows.at(-1)} (in ${Math.round((performance.now() - begun) / 1000)} s)`);
  }
  const { dependencies } = JSON.parse(await readFile(path.join(FOLDER, 'package.json'), 'utf8'));
  const state =
    `on ${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${cpus().length} cores ` +
    `(${cpus()[0]?.model}), load ${loadavg()[1].toFixed(1)}, ${values.rounds} rounds`;
  const page = pageOf(rows, `TensorFlow.js ${dependencies['@tensorflow/tfjs']}, of one also for ml5 ${ML5}`, state);
  if (values.write) await writeFile(PAGE, page);
  else console.log(`\n${page}`);
} finally {
  await rm(folder, { recursive: true, maxRetries: 3 });
}
