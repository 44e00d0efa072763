// Runs all tests, phase by phase, and says how long each took: npm test.

import { spawn } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Failure, root, runMain, say } from '../tools/programs.mjs';

const HELP = `npm test [-- OPTION …]
Sets up, builds and tests everything.

  --fuzz      also some executions of every fuzz target, with a seed, as CI does
  --browsers  only the tests in browsers, without set-up and build
`;

const node = (...args) => [process.execPath, ...args];
const fuzz = (...args) => node('tests/fuzz/run.js', ...args);
/** The tests in a folder. @param {number} jobs files at a time @param {string} folder */
const testsIn = (jobs, folder) => {
  const files = readdirSync(join(root, folder)).filter((file) => file.endsWith('.test.js'));
  return node('--test', `--test-concurrency=${jobs}`, ...files.map((file) => join(folder, file)));
};

const SET_UP = { title: 'set-up', command: node('tools/setup.mjs', '--test') };
/** If one of these fails, no test can tell anything. */
const BUILD = [
  { title: 'build', command: node('tools/build.mjs') },
  { title: 'lint', command: ['npm', 'run', '-s', 'lint'] },
  { title: 'types', command: ['npm', 'run', '-s', 'types'] },
];
const C_TESTS = [
  { title: 'C tests, build', command: node('tools/build.mjs', '--test', 'all') },
  { title: 'C tests', command: ['npm', 'run', '-s', 'test:c'] },
];
const JAVASCRIPT = { title: 'JavaScript tests', command: ['npm', 'run', '-s', 'test:js'] };
const BROWSERS = { title: 'browsers, two test files at a time', command: testsIn(2, 'tests/browser') };
/** These tests measure time, so one runs at a time. */
const TIMED = { title: 'browsers, tests that measure seconds', command: testsIn(1, 'tests/browser/timed') };
/** These measure milliseconds, so nothing else runs. */
const QUIET = { title: 'browsers, tests that measure milliseconds', command: testsIn(1, 'tests/browser/quiet') };
const FUZZ = [
  { title: 'fuzz targets of 64 bits', command: fuzz('--short', '--seed', '1') },
  { title: 'fuzz targets of 32 bits, build', command: fuzz('--build', '--m32') },
  { title: 'fuzz targets of 32 bits', command: fuzz('--short', '--seed', '1', '--m32') },
];

/** @typedef {{ title: string, command: string[] }} Phase */

/** Phases that have ended, in their order. @type {{ title: string, seconds: number, ok: boolean }[]} */
const ended = [];
/** Output of failed phases that ran beside others. @type {string[]} */
const failures = [];

runMain(async () => {
  const { values } = optionsOf();
  if (values.help) return void process.stdout.write(HELP);
  if (values.browsers) await testBrowsers().then(() => run(QUIET));
  else await testAll(values.fuzz);
  report();
});

function optionsOf() {
  const boolean = /** @type {const} */ ({ type: 'boolean' });
  try {
    return parseArgs({ options: { help: { ...boolean, short: 'h' }, fuzz: boolean, browsers: boolean } });
  } catch (error) {
    throw new Failure(`${error.message} (see npm test -- --help)`);
  }
}

/**
 * Builds and tests often leave a processor idle: the C tests and the fuzz targets, which only compute, run beside all
 * of them from the start.
 * @param {boolean | undefined} isFuzzed
 */
async function testAll(isFuzzed) {
  await need(SET_UP);
  const computed = runBeside([...C_TESTS, ...(isFuzzed ? FUZZ : [])]);
  for (const phase of BUILD) await need(phase);
  await run(JAVASCRIPT);
  await testBrowsers();
  await computed;
  await run(QUIET);
}

/** Ends all, what runs beside too, if a phase fails. @param {Phase} phase */
async function need(phase) {
  if (await run(phase)) return;
  report();
  say(`${phase.title} failed, so no test was run.`);
  process.exit(1);
}

async function testBrowsers() {
  await run(BROWSERS);
  await run(TIMED);
}

/** Runs a phase, which prints as it goes on. @param {Phase} phase @returns {Promise<boolean>} whether it succeeded */
async function run({ title, command: [program, ...args] }) {
  say(`── ${title} ──`);
  const since = performance.now();
  return note(title, since, await exitOf(spawn(program, args, { cwd: root, stdio: 'inherit' })));
}

/** @param {Phase[]} phases which run one after another, each with two jobs */
async function runBeside(phases) {
  for (const { title, command } of phases) {
    const since = performance.now();
    const child = startIdle(command);
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (piece) => {
        text += piece;
      });
    const end = () => process.kill(-child.pid);
    process.on('exit', end);
    const ok = note(title, since, await exitOf(child));
    process.off('exit', end);
    if (ok) process.stdout.write(`\n── ${title} ──\n${text}`);
    else failures.push(`── ${title} ──\n${text}`);
  }
}

/**
 * Starts a program that runs while nothing else does. Linux shares the processors out between sessions first, so it has
 * a session of its own.
 * @param {string[]} command
 */
function startIdle(command) {
  const options = /** @type {const} */ ({ cwd: root, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const child = spawn('nice', ['-n', '19', ...command], options);
  try {
    writeFileSync(`/proc/${child.pid}/autogroup`, '19');
  } catch {} // this system has no such groups
  return child;
}

/** @param {import('node:child_process').ChildProcess} child @returns {Promise<boolean>} */
function exitOf(child) {
  return new Promise((resolve) => {
    child.on('error', ({ message }) => {
      say(message);
      resolve(false);
    });
    child.on('close', (code) => resolve(code === 0));
  });
}

/** @param {string} title @param {number} since @param {boolean} ok */
function note(title, since, ok) {
  const seconds = (performance.now() - since) / 1000;
  ended.push({ title, seconds, ok });
  say(`${title}: ${ok ? 'passed' : 'FAILED'}, ${seconds.toFixed(0)} s`);
  return ok;
}

function report() {
  for (const text of failures) console.error(`\n${text}`);
  const width = Math.max(...ended.map(({ title }) => title.length));
  say('Seconds of each phase:');
  for (const { title, seconds, ok } of ended)
    console.log(`  ${title.padEnd(width)} ${seconds.toFixed(0).padStart(5)}${ok ? '' : '  FAILED'}`);
  if (ended.some(({ ok }) => !ok)) process.exitCode = 1;
}

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));
