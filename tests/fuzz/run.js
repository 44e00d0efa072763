// Builds the fuzz targets, gives them seeds, runs each for a while and says what it ran, covered and found.

import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Failure, root, run, runMain, sanitizingClang, say } from '../../tools/programs.mjs';
import { makeSeeds } from './seeds.js';

const HELP = `npm run fuzz -- [options]

  --seconds 60      so long a target
  --runs N          or so many executions a target, whatever time they take
  --short           or as many as a target does in about 10 seconds of a processor (3 with --m32)
  --seed N          the same inputs every time, as many as there is time for (default: others each time)
  --only NAME,…     these targets alone (${targets().join(', ')})
  --m32             32-bit programs, where size_t is what it is in wasm
  --bare            without sanitizers: two to five times as many executions, which hold the targets' own promises alone
  --jobs 2          so many at a time
  --build           only builds the targets

What was grown stays in build/fuzz/corpus. An input that breaks a promise ends its target, stays in build/fuzz/found, \
and is to be kept as a test:
in tests/fuzz/found/NAME/, where npm test runs it.
`;
const FUZZ = join(root, 'build/fuzz');
/** Bytes of an input that is printed, for where the folder is lost (as in CI). */
const MOST_PRINTED = 3000;
/**
 * Every finding is worth its sentence; memory that is not there is NULL, as in wasm. What was freed is kept from use a
 * while, but not for 256 MB: an execution takes far less, and the system clears each page that is not used again.
 */
const SANITIZERS = {
  ASAN_OPTIONS: 'allocator_may_return_null=1:detect_stack_use_after_return=0:quarantine_size_mb=8',
  UBSAN_OPTIONS: 'print_stacktrace=1',
};
/** Executions of --short: the same whatever runs beside it. */
const SHORT_RUNS = {
  adapters: 5000,
  api: 4000,
  checkpoint: 80_000,
  compact: 20_000,
  graph: 1000,
  inference: 45_000,
  model: 45_000,
  names: 6500,
  ort_checkpoint: 200_000,
  session: 3000,
  training: 150_000,
};
const COLUMNS = ['executions', 'a second', 'edges', 'inputs', 'found'];

await runMain(main);

async function main() {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      seconds: { type: 'string', default: '60' },
      runs: { type: 'string' },
      short: { type: 'boolean' },
      seed: { type: 'string', default: '0' },
      only: { type: 'string' },
      m32: { type: 'boolean' },
      bare: { type: 'boolean' },
      jobs: { type: 'string', default: '2' },
      build: { type: 'boolean' },
    },
  });
  if (values.help) return process.stdout.write(HELP);
  const names = values.only ? values.only.split(',') : targets();
  for (const name of names)
    if (!targets().includes(name)) throw new Failure(`There is no target '${name}': ${targets().join(', ')}.`);
  const bits = values.m32 ? 32 : 64;
  const kind = values.bare ? `${bits}-bare` : `${bits}`;
  build(kind, values);
  if (values.build) return;
  const seeds = await makeSeeds(join(FUZZ, 'seeds'));
  const rows = [];
  const waiting = [...names];
  const worker = async () => {
    for (let name = waiting.shift(); name; name = waiting.shift())
      rows.push(await fuzz(name, kind, seeds, limitOf(name, values)));
  };
  await Promise.all(Array.from({ length: Number(values.jobs) }, worker));
  report(rows, kind);
}

/** libFuzzer's options for how much it runs. */
function limitOf(name, { seconds, runs, short, m32, seed }) {
  const count = short ? Math.ceil(SHORT_RUNS[name] / (m32 ? 3 : 1)) : runs;
  return [count ? `-runs=${count}` : `-max_total_time=${seconds}`, `-seed=${seed}`];
}

/** Files of this folder with the entry that libFuzzer calls. */
function targets() {
  const folder = join(root, 'tests/fuzz');
  return readdirSync(folder)
    .filter(
      (file) =>
        file.endsWith('.c') && /^int LLVMFuzzerTestOneInput\(.*\{/m.test(readFileSync(join(folder, file), 'utf8')),
    )
    .map((file) => file.slice(0, -2));
}

/** The programs of 64 bits with sanitizers are built beside the C tests, of the same objects. */
function folderOf(kind) {
  return kind === '64' ? 'build/test' : `build/fuzz/${kind}`;
}

function build(kind, { m32, bare }) {
  const clang = sanitizingClang();
  if (!clang)
    throw new Failure(
      'The fuzz targets need clang and its libFuzzer ' +
        '(Debian: clang-19, libclang-rt-19-dev, with --m32 g++-multilib): ' +
        "run 'node tools/setup.mjs --test'.",
    );
  say(`Building the fuzz targets of ${kind} bits …`);
  if (kind === '64')
    return run('build-fuzz', 'The fuzz targets could not be built', process.execPath, [
      'tools/build.mjs',
      '--test',
      'fuzz',
    ]);
  const folder = join(root, folderOf(kind));
  if (!existsSync(join(folder, 'build.ninja'))) {
    const options = [
      '-DTRAINLET_FUZZ=ON',
      `-DTRAINLET_M32=${m32 ? 'ON' : 'OFF'}`,
      `-DTRAINLET_BARE=${bare ? 'ON' : 'OFF'}`,
      `-DCMAKE_C_COMPILER=${clang}`,
    ];
    run(
      'build-fuzz',
      'CMake could not configure the fuzz targets: are libclang-rt-19-dev and, with --m32, g++-multilib there',
      'cmake',
      ['-S', root, '-B', folder, '-G', 'Ninja', ...options],
    );
  }
  run('build-fuzz', 'The fuzz targets could not be built', 'cmake', ['--build', folder, '--target', 'fuzz']);
}

// ── one target ──

/** Runs a target to its end; gives its row of the table. */
async function fuzz(name, kind, seeds, limit) {
  const [corpus, found] = ['corpus', 'found'].map((folder) => join(FUZZ, folder, name));
  for (const folder of [corpus, found]) mkdirSync(folder, { recursive: true });
  const kept = join(root, 'tests/fuzz/found', name);
  const inputs = [join(seeds, name), kept].filter(existsSync);
  for (const folder of inputs.slice(1))
    for (const file of readdirSync(folder)) copyFileSync(join(folder, file), join(corpus, file));
  const before = new Set(readdirSync(found));
  const start = performance.now();
  const args = [
    corpus,
    ...inputs.slice(0, 1),
    ...limit,
    `-artifact_prefix=${found}/`,
    '-timeout=60',
    '-rss_limit_mb=3000',
    '-malloc_limit_mb=3000',
    '-print_final_stats=1',
  ];
  const { code, text } = await ended(join(root, folderOf(kind), `fuzz_${name}`), args);
  const last = [...text.matchAll(/^#(\d+)\s.*?cov: (\d+) ft: \d+ corp: (\d+)/gm)].at(-1) ?? [];
  const executions = Number(/number_of_executed_units: (\d+)/.exec(text)?.[1] ?? last[1] ?? 0);
  const fresh = readdirSync(found).filter((file) => !before.has(file) && !file.startsWith('slow-unit'));
  if (code !== 0) tell(name, kind, text, found, fresh);
  return {
    name,
    executions,
    'a second': Math.round(executions / ((performance.now() - start) / 1000)),
    edges: Number(last[2] ?? 0),
    inputs: Number(last[3] ?? 0),
    found: code === 0 ? 0 : Math.max(1, fresh.length),
  };
}

function ended(program, args) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: root,
      env: { ...process.env, ...SANITIZERS },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let text = '';
    child.stderr.on('data', (piece) => {
      text += piece;
    });
    child.on('error', (error) => resolve({ code: 1, text: error.message }));
    child.on('close', (code) => resolve({ code: code ?? 1, text }));
  });
}

/** Reports a finding and how to run it again. */
function tell(name, kind, text, found, fresh) {
  const lines = text.split('\n').filter((line) => !/^#\d+\s|^(INFO|NEW_FUNC|\tNEW)|^\s*NEW_FUNC/.test(line));
  console.error(`\n── ${name}, ${kind} bits ──\n${lines.slice(0, 60).join('\n')}`);
  for (const file of fresh) {
    const path = join(found, file);
    const bytes = readFileSync(path);
    console.error(`Run it again: ${folderOf(kind)}/fuzz_${name} ${path.slice(root.length)}`);
    if (bytes.length <= MOST_PRINTED)
      console.error(`Its bytes: echo ${bytes.toString('base64')} | base64 -d > ${path.slice(root.length)}`);
  }
}

function report(rows, kind) {
  const width = Math.max(...rows.map(({ name }) => name.length));
  console.log([`${kind} bits`.padEnd(width), ...COLUMNS.map((column) => column.padStart(12))].join(''));
  for (const row of rows)
    console.log([row.name.padEnd(width), ...COLUMNS.map((column) => String(row[column]).padStart(12))].join(''));
  if (rows.some(({ found }) => found > 0)) process.exitCode = 1;
}
