// Runs the C tests and the fuzz targets' seeds in a build that counts, and says which lines and branches of src/ ran, a
// folder a row.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { Failure, findProgram, remove, root, run, runMain, say } from '../../tools/programs.mjs';
import { makeSeeds } from '../fuzz/seeds.js';

const HELP = `npm run coverage -- [options]

  --worst 15      so many files, those with the most lines that never ran
  --lines FILE    a file of src/ line by line, how often each ran
  --no-seeds      the C tests and found inputs alone
  --again         from what ran the last time
  --jobs 2        so many programs at a time
`;
const FOLDER = join(root, 'build/counted');
const PROFILES = join(FOLDER, 'profiles');
const MERGED = join(FOLDER, 'merged.profdata');
const COLUMNS = ['lines', 'ran', '%', 'branches', 'taken', '%'];

await runMain(main);

async function main() {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      worst: { type: 'string', default: '15' },
      lines: { type: 'string' },
      'no-seeds': { type: 'boolean' },
      again: { type: 'boolean' },
      jobs: { type: 'string', default: '2' },
    },
  });
  if (values.help) return process.stdout.write(HELP);
  if (!values.again) await count(!values['no-seeds'], Number(values.jobs));
  if (values.lines) return process.stdout.write(cov('show', ['-show-branches=count', join(root, values.lines)]));
  const files = JSON.parse(cov('export', ['-summary-only', '-skip-expansions', join(root, 'src')]))
    .data[0].files.map(({ filename, summary }) => ({
      name: relative(root, filename),
      lines: summary.lines,
      branches: summary.branches,
    }))
    .filter(({ name }) => name.startsWith('src/'));
  report(files, Number(values.worst));
}

function program(name) {
  const path = findProgram(`${name}-19`, name);
  if (!path)
    throw new Failure(
      `Coverage needs clang and LLVM's tools, ${name} is missing (Debian: clang-19, llvm-19): ` +
        "run 'node tools/setup.mjs --test'.",
    );
  return path;
}

// ── counting ──

async function count(withSeeds, jobs) {
  if (!existsSync(join(FOLDER, 'build.ninja'))) {
    run('build-counted', 'CMake could not configure build/counted', 'cmake', [
      '-S',
      root,
      '-B',
      FOLDER,
      '-G',
      'Ninja',
      '-DTRAINLET_COVERAGE=ON',
      `-DCMAKE_C_COMPILER=${program('clang')}`,
    ]);
  }
  say('Building what counts …');
  run('build-counted', 'The build in build/counted failed', 'cmake', ['--build', FOLDER]);
  remove(PROFILES);
  mkdirSync(PROFILES);
  const seeds = withSeeds ? await makeSeeds(join(root, 'build/fuzz/seeds')) : undefined;
  const waiting = programs().map((name) => [name, inputsOf(name, seeds)]);
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await counted(...next);
  };
  await Promise.all(Array.from({ length: jobs }, worker));
  run('profdata', 'The profiles could not be merged', program('llvm-profdata'), [
    'merge',
    '-sparse',
    '-o',
    MERGED,
    ...readdirSync(PROFILES).map((file) => join(PROFILES, file)),
  ]);
}

function programs() {
  return readdirSync(FOLDER).filter((name) => /^(test|found)_\w+$/.test(name));
}

/** A fuzz target's inputs: those that it found, and its seeds. */
function inputsOf(name, seeds) {
  if (!name.startsWith('found_')) return [];
  const target = name.slice('found_'.length);
  return [join(root, 'tests/fuzz/found', target), seeds && join(seeds, target)].filter(
    (folder) => folder && existsSync(folder),
  );
}

/** A program that fails has counted as well; npm test tells of it. */
function counted(name, args) {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, LLVM_PROFILE_FILE: join(PROFILES, `${name}.profraw`) };
    const child = spawn(join(FOLDER, name), args, { cwd: root, env, stdio: 'ignore' });
    child.on('error', reject);
    child.on('close', (code) => {
      if (code !== 0) say(`${name} ended with ${code}.`);
      resolve(undefined);
    });
  });
}

// ── telling ──

function cov(command, args) {
  const [first, ...others] = programs().map((name) => join(FOLDER, name));
  const objects = others.flatMap((path) => ['-object', path]);
  const { status, stdout, stderr } = spawnSync(
    program('llvm-cov'),
    [command, first, ...objects, `-instr-profile=${MERGED}`, ...args],
    { encoding: 'utf8', maxBuffer: 1 << 28 },
  );
  if (status !== 0) throw new Failure(`llvm-cov failed: ${stderr.split('\n')[0]}`);
  return stdout;
}

function sum(name, files) {
  const of = (kind, key) => files.reduce((total, file) => total + file[kind][key], 0);
  return {
    name,
    lines: { count: of('lines', 'count'), covered: of('lines', 'covered') },
    branches: { count: of('branches', 'count'), covered: of('branches', 'covered') },
  };
}

function percent({ count: all, covered }) {
  return all ? ((100 * covered) / all).toFixed(1) : '–';
}

function printTable(title, rows) {
  const width = Math.max(title.length, ...rows.map(({ name }) => name.length)) + 2;
  const line = (name, cells) =>
    console.log(name.padEnd(width) + cells.map((cell) => String(cell).padStart(10)).join(''));
  line(title, COLUMNS);
  for (const { name, lines, branches } of rows)
    line(name, [lines.count, lines.covered, percent(lines), branches.count, branches.covered, percent(branches)]);
}

function report(files, worst) {
  const folders = [...new Set(files.map(({ name }) => dirname(name)))].sort();
  printTable('folder', [
    ...folders.map((folder) =>
      sum(
        folder,
        files.filter(({ name }) => dirname(name) === folder),
      ),
    ),
    sum('all', files),
  ]);
  console.log();
  const missed = ({ lines, branches }) => lines.count - lines.covered + (branches.count - branches.covered) / 4;
  printTable('most that never ran', files.toSorted((a, b) => missed(b) - missed(a)).slice(0, worst));
}
