// Mutates the code of the gradients, one change at a time, and counts the changes that the operators' harness notices.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { Failure, findProgram, root, run, runMain, say } from '../../tools/programs.mjs';
import { gradientLines } from './lines.js';
import { functionsOf, mutantsOf, withoutComments } from './mutate.js';

const HELP = `npm run mutants -- [options] [part of a file's name …]

  --sample 40     about so many mutants in all, the same ones every time, instead of every one
  --jobs 2        so many at a time
  --limit 10      seconds a mutant may take
  --list          the mutants, without running them
  --survivors     only those that survived the last time (build/mutants.json)
`;
/** The cases are shared out among threads as large ones are; under the sanitizers a thread does several at once. */
const FLAGS = '-DTRAINLET_SMALL_RANGES';
const QUICK = {
  folder: 'build/mutants',
  flags: `-O1 -DNDEBUG ${FLAGS}`,
  programs: ['harness', 'kernels', 'convolutions'],
};
const CHECKED = {
  folder: 'build/mutants-checked',
  flags: `-O1 -fsanitize=address,undefined -fno-sanitize-recover=all`,
  programs: ['harness'],
};
const COUNTED = { folder: 'build/coverage', flags: '-O0 -DNDEBUG --coverage', programs: ['harness'] };
const RESULTS = join(root, 'build/mutants.json');
const PASSES = 0.95;
/** Functions that check a model before it runs, and give sizes of scratch memory: no gradient is computed there. */
const NO_GRADIENT = /_infer$|^check_|_bytes$|^infer_|_want_statistics$/;

/** Ways a mutant is killed. */
const KILLS = ['failed', 'crash', 'time'];
/** The table's columns, of a file's row. */
const COLUMNS = ['mutants', 'killed', ...KILLS, 'survived', 'equivalent'];

await runMain(main);

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean' },
      sample: { type: 'string' },
      jobs: { type: 'string', default: '2' },
      limit: { type: 'string', default: '10' },
      list: { type: 'boolean' },
      survivors: { type: 'boolean' },
    },
  });
  if (values.help) return process.stdout.write(HELP);
  if (!findProgram('gcc') || !findProgram('gcov'))
    throw new Failure('gcc and its gcov are needed to find the lines that compute gradients.');
  for (const made of [QUICK, CHECKED, COUNTED]) build(made);
  const lines = gradientLines(join(root, 'build/coverage'));
  const equivalent = readEquivalent();
  let mutants = [...lines.keys()].sort().flatMap((file) => mutantsIn(file, lines.get(file)));
  sayStale(mutants, equivalent);
  if (positionals.length) mutants = mutants.filter(({ file }) => positionals.some((part) => file.includes(part)));
  if (values.survivors) mutants = mutants.filter((m) => survivedBefore().has(m.id));
  mutants = shuffled(mutants);
  if (values.sample) mutants.length = Math.min(mutants.length, Number(values.sample));
  say(`${mutants.length} mutants of ${new Set(mutants.map(({ file }) => file)).size} files.`);
  if (values.list) return mutants.forEach((m) => console.log(described(m)));
  for (const m of mutants) if (namesOf(m).some((name) => equivalent.has(name))) m.result = 'equivalent';
  await runAll(
    mutants.filter((m) => !m.result),
    Number(values.jobs),
    Number(values.limit) * 1000,
  );
  report(mutants);
}

function build({ folder, flags, programs }) {
  const path = join(root, folder);
  const log = folder.replace('build/', 'build-');
  if (!existsSync(join(path, 'build.ninja'))) {
    run(log, `CMake could not configure ${folder}`, 'cmake', [
      '-S',
      root,
      '-B',
      path,
      '-G',
      'Ninja',
      '-DCMAKE_C_COMPILER=gcc',
      '-DCMAKE_BUILD_TYPE=None',
      `-DCMAKE_C_FLAGS=${flags}`,
    ]);
  }
  say(`Building ${folder} …`);
  run(log, `The build in ${folder} failed`, 'cmake', [
    '--build',
    path,
    '-j2',
    '--target',
    ...programs.map((name) => `test_${name}`),
  ]);
}

// ── which ──

/**
 * The mutants within functions on lines that run for gradients alone. A line without code of its own belongs to the one
 * before it.
 */
function mutantsIn(file, lines) {
  if (![...lines.values()].some(Boolean)) return [];
  const text = readFileSync(join(root, file), 'utf8');
  const functions = functionsOf(withoutComments(text).bare);
  const starts = [0];
  for (const m of text.matchAll(/\n/g)) starts.push(m.index + 1);
  const found = [];
  let line = 0;
  for (const mutant of mutantsOf(text)) {
    while (line + 1 < starts.length && starts[line + 1] <= mutant.at) line++;
    const within = functions.find(({ start, end }) => mutant.at >= start && mutant.at < end);
    const counted = within
      ? lineBefore(lines, line + 1)
      : lines.has(line + 1)
        ? line + 1
        : 0; /* outside of functions: a macro that makes one */
    if (!counted || !lines.get(counted) || NO_GRADIENT.test(within?.name ?? '')) continue;
    const mutated = text.slice(0, mutant.at) + mutant.to + text.slice(mutant.at + mutant.length);
    const ends = text.indexOf('\n', mutant.at + mutant.length);
    const after = mutated.slice(starts[line], ends + mutant.to.length - mutant.length);
    const before = text.slice(starts[line], ends);
    const squeeze = (s) => s.replace(/\s+/g, ' ').trim();
    found.push({
      file,
      line: line + 1,
      kind: mutant.kind,
      mutated,
      before: squeeze(before),
      after: squeeze(after),
      id: `${basename(file)}: ${squeeze(before)}  ⇒  ${squeeze(after)}`,
    });
  }
  return found;
}

function lineBefore(lines, line) {
  for (let at = line; at > 0 && at > line - 12; at--) if (lines.has(at)) return at;
  return 0;
}

function described(m) {
  return `${m.file}:${m.line} (${m.kind})\n  - ${m.before}\n  + ${m.after}`;
}

/** The list in an order that has nothing to do with the place, the same every time: its beginning is a sample. */
function shuffled(mutants) {
  const hash = (s) => [...s].reduce((h, c) => Math.imul(h ^ c.charCodeAt(0), 16777619) >>> 0, 2166136261);
  return mutants
    .map((m) => ({ m, at: hash(m.id) }))
    .sort((a, b) => a.at - b.at)
    .map(({ m }) => m);
}

// ── what becomes of them ──

/** Names that equivalent.json may use: the change, or its line, where no change of it matters. */
function namesOf({ id }) {
  return [id, id.split('  ⇒  ')[0]];
}

/** @returns {Map<string, string>} the reason by the mutant's name */
function readEquivalent() {
  const reasons = JSON.parse(readFileSync(new URL('equivalent.json', import.meta.url), 'utf8'));
  return new Map(Object.entries(reasons).flatMap(([reason, ids]) => ids.map((id) => [id, reason])));
}

function sayStale(mutants, equivalent) {
  const names = new Set(mutants.flatMap(namesOf));
  const stale = [...equivalent.keys()].filter((name) => !names.has(name));
  for (const name of stale) say(`equivalent.json lists what is no mutant any more: ${name}`);
}

/** Ids of the last run's survivors. */
function survivedBefore() {
  return new Set(
    JSON.parse(readFileSync(RESULTS, 'utf8'))
      .filter(({ result }) => result === 'survived')
      .map(({ id }) => id),
  );
}

async function runAll(mutants, jobs, limit) {
  const users = includers();
  const operators = operatorsOf();
  const commands = new Map([QUICK, CHECKED].map((made) => [made, commandsOf(made)]));
  const unchanged = new Map();
  const seen = new Set();
  let next = 0;
  let done = 0;
  await Promise.all(
    Array.from({ length: jobs }, async (_, job) => {
      while (next < mutants.length) {
        const m = mutants[next++];
        const work = {
          job,
          commands,
          units: m.file.endsWith('.c') ? [m.file] : (users.get(m.file) ?? []),
          operators: operators(m.file),
          limit,
          seen,
        };
        if (!unchanged.has(m.file)) unchanged.set(m.file, codeUnchanged(m.file, work));
        m.result = await outcome(m, work, await unchanged.get(m.file));
        if (m.result === 'survived') say(`survives: ${described(m)}`);
        if (++done % 200) continue;
        say(`${done} of ${mutants.length}`);
        save(mutants);
      }
    }),
  );
}

function save(mutants) {
  writeFileSync(
    RESULTS,
    JSON.stringify(
      mutants.map(({ mutated, ...m }) => m),
      null,
      1,
    ),
  );
}

function commandsOf({ folder }) {
  const commands = JSON.parse(readFileSync(join(root, folder, 'compile_commands.json'), 'utf8'));
  return new Map(commands.map((c) => [c.file.slice(root.length), c.command]));
}

/** Includers of each header of ours, through other headers too. */
function includers() {
  const files = readdirSync(join(root, 'src'), { recursive: true })
    .filter((name) => /\.[ch]$/.test(name))
    .map((name) => `src/${name}`);
  const direct = new Map(
    files.map((file) => [
      file,
      [...readFileSync(join(root, file), 'utf8').matchAll(/^#include "([^"]+)"/gm)].map((m) => `src/${m[1]}`),
    ]),
  );
  const reaches = (file, header) =>
    direct.get(file)?.some((other) => other === header || (other.endsWith('.h') && reaches(other, header)));
  return new Map(
    files
      .filter((file) => file.endsWith('.h'))
      .map((header) => [header, files.filter((file) => file.endsWith('.c') && reaches(file, header))]),
  );
}

/** Objects of all units with the text in place of the file's; undefined when one does not compile. */
async function compiled(folder, commands, units, file, text) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, dirname(file)), { recursive: true });
  writeFileSync(join(folder, file), text);
  const objects = [];
  for (const [i, unit] of units.entries()) {
    const object = join(folder, `${i}.o`);
    const source = unit === file ? join(folder, file) : join(root, unit);
    const command = commands
      .get(unit)
      .replace(/ -o \S+ -c \S+$/, ` -o ${object} -c ${source}`)
      .replace(/ -I(\S+src)\b/, ` -I${join(folder, 'src')} -I$1`);
    if (!(await runs('sh', ['-c', command], 60000)).ok) return undefined;
    objects.push(object);
  }
  return objects;
}

async function codeUnchanged(file, { commands, units }) {
  const folder = join(root, QUICK.folder, 'unchanged', basename(file));
  return code(await compiled(folder, commands.get(QUICK), units, file, readFileSync(join(root, file), 'utf8')));
}

/** Hash of the objects, to see whether a change makes another program at all. */
function code(objects) {
  const hash = createHash('sha256');
  for (const object of objects) hash.update(readFileSync(object));
  return hash.digest('hex');
}

/**
 * The cheap questions first: the operator's own cases, all cases, what tests the kernels, all cases under the
 * sanitizers.
 */
async function outcome(m, work, unchanged) {
  const folder = join(root, QUICK.folder, `job${work.job}`);
  const objects = await compiled(folder, work.commands.get(QUICK), work.units, m.file, m.mutated);
  if (!objects) return 'no code';
  const made = code(objects);
  if (made === unchanged || work.seen.has(made)) return 'same code';
  work.seen.add(made);
  const questions = [
    ...(work.operators.length ? [['harness', work.operators]] : []),
    ...QUICK.programs.map((name) => [name, []]),
  ];
  for (const [name, args] of questions) {
    const result = await tested(QUICK, folder, objects, name, args, work.limit);
    if (result) return result;
  }
  const checked = join(root, CHECKED.folder, `job${work.job}`);
  return (
    (await tested(
      CHECKED,
      checked,
      await compiled(checked, work.commands.get(CHECKED), work.units, m.file, m.mutated),
      'harness',
      [],
      3 * work.limit,
    )) ?? 'survived'
  );
}

/** Failure of the test program with these objects; undefined when it passes. */
async function tested(made, folder, objects, name, args, limit) {
  const program = join(folder, name);
  const built = (part) => join(root, made.folder, part);
  const libraries = ['libtest_parts.a', 'libtrainlet.a', 'libschema.a'].map(built);
  const link = [
    ...made.flags.split(' '),
    built(`CMakeFiles/test_${name}.dir/tests/c/${name}.c.o`),
    ...objects,
    ...libraries,
    '-lm',
    '-lpthread',
    '-o',
    program,
  ];
  if (!existsSync(program) && !(await runs('gcc', link, 60000)).ok) return 'no code';
  const memory = made === QUICK ? 'ulimit -v 4000000; ' : '';
  const { ok, timeout, signal } = await runs('sh', ['-c', `${memory}exec ${program} ${args.join(' ')}`], limit);
  return ok ? undefined : timeout ? 'time' : signal ? 'crash' : 'failed';
}

/** Operators in a file, and those that emit them as their gradient. */
function operatorsOf() {
  const files = readdirSync(join(root, 'src/ops'), { recursive: true })
    .filter((name) => name.endsWith('.c'))
    .map((name) => `src/ops/${name}`);
  const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
  const named = (text) => [...text.matchAll(/^ *\.name = "(\w+)"/gm)].map((m) => m[1]);
  return (file) => {
    const own = named(texts.get(file) ?? '');
    const users = own.flatMap((name) =>
      files.filter((other) => texts.get(other).includes(`"${name}", `)).flatMap((other) => named(texts.get(other))),
    );
    return [...new Set([...own, ...users])];
  };
}

/** @returns {Promise<{ ok: boolean, timeout?: boolean, signal?: boolean }>} */
function runs(program, args, timeout) {
  return new Promise((resolve) => {
    execFile(program, args, { cwd: root, timeout, killSignal: 'SIGKILL', maxBuffer: 1 << 26 }, (error) => {
      resolve({ ok: !error, timeout: error?.killed, signal: Boolean(error?.signal) });
    });
  });
}

// ── the table ──

function report(mutants) {
  const rows = new Map();
  const total = newRow();
  for (const m of mutants) {
    const row = rows.get(m.file) ?? newRow();
    rows.set(m.file, row);
    for (const r of [row, total]) count(r, m);
  }
  for (const r of [...rows.values(), total]) r.mutants = r.killed + r.survived;
  const width = Math.max(...[...rows.keys()].map((file) => file.length), 5);
  const line = (name, r) =>
    `${name.padEnd(width)} ${COLUMNS.map((column) => String(r[column]).padStart(column.length + 1)).join(' ')}`;
  console.log(`${'file'.padEnd(width)}  ${COLUMNS.join('  ')}`);
  for (const [file, row] of [...rows].sort(([a], [b]) => a.localeCompare(b))) console.log(line(file, row));
  console.log(line('all', total));
  save(mutants);
  const share = total.killed / (total.killed + total.survived);
  say(
    `${total.killed} of ${total.killed + total.survived} mutants killed, ${(100 * share).toFixed(1)} %; ` +
      `${total.equivalent} equivalent, ${total.dropped} without code or with the same as another.`,
  );
  if (!(share >= PASSES)) throw new Failure(`Fewer than ${100 * PASSES} % of the mutants are killed.`);
}

function newRow() {
  return { mutants: 0, killed: 0, failed: 0, crash: 0, time: 0, survived: 0, equivalent: 0, dropped: 0 };
}

function count(r, { result }) {
  r[result === 'no code' || result === 'same code' ? 'dropped' : result]++;
  if (KILLS.includes(result)) r.killed++;
}
