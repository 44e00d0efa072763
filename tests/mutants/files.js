// Mutates the files that read what comes from outside and keep what was learned, in C and JavaScript, one change at a
// time, and counts the changes that the tests near them notice.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { transformSync } from 'esbuild';
import { Failure, findProgram, root, run, runMain, say, testOptions } from '../../tools/programs.mjs';
import { changesOf } from './changes.js';

const HELP = `npm run mutants:files -- [options] [part of a file's name …]

  --sample 40     about so many mutants of each file, the same ones every time, instead of every one
  --jobs 2        so many at a time
  --limit 60      seconds a test program may take
  --list          the mutants, without running them
  --survivors     only those that survived the last time (build/mutants-files.json)
`;
/** The tests near each file, the quickest first: programs of tests/c, or files of tests/js by room and name. */
const NEAR = {
  'src/session/adapters.c': ['adapter_checkpoints', 'adapter_values', 'adapters'],
  'src/model/quantize.c': ['quantize', 'quantize_numbers', 'tuning'],
  'src/compact/read.c': ['compact_bytes', 'compact_parts'],
  'src/compact/write.c': ['compact_bytes', 'compact_parts'],
  'js/fit/autosave.js': ['fit/autosave'],
  'js/formats/safetensors.js': ['formats/safetensors'],
  'js/fine-tune/fine-tune.js': ['fine-tune/plan'],
  'js/adapters/adapter.js': ['adapters/active-adapter', 'adapters/peft-folder'],
  'js/adapters/metadata.js': ['adapters/metadata'],
  'js/adapters/peft-config.js': ['adapters/peft-config'],
};
/** Without sanitizers, which takes a tenth of the time and kills most. */
const QUICK = {
  folder: 'build/mutants-quick',
  options: ['-DCMAKE_BUILD_TYPE=None', '-DCMAKE_C_FLAGS=-O1 -DTRAINLET_SMALL_RANGES'],
  compile: '-O0',
  link: findProgram('ld.gold') ? '-fuse-ld=gold' : '',
};
/** The same as in npm test. */
const CHECKED = {
  folder: 'build/test',
  options: testOptions(),
  compile: '',
  link: '-fsanitize=address,undefined',
};
const WORK = join(root, 'build/mutants-files');
const RESULTS = join(root, 'build/mutants-files.json');
const PASSES = 0.95;
const COLUMNS = ['killed', 'survived', 'equivalent', 'dropped'];

/** The compiler's commands, by folder and unit. @type {Map<string, string>} */
const commands = new Map();
/** The compiler's output for a file as it is. @type {Map<string, Promise<string>>} */
const ownCodes = new Map();
const isC = (file) => file.endsWith('.c');
const described = (m) => `${m.file}:${m.line} (${m.kind})\n  - ${m.before}\n  + ${m.after}`;
/** Names that equivalent-files.json may give it: the change, or its line, where no change of it matters. */
const namesOf = ({ id }) => [id, id.split('  ⇒  ')[0]];

await runMain(main);

async function main() {
  const text = (value) => ({ type: 'string', default: value });
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean' },
      sample: { type: 'string' },
      jobs: text('2'),
      limit: text('60'),
      list: { type: 'boolean' },
      survivors: { type: 'boolean' },
    },
  });
  if (values.help) return process.stdout.write(HELP);
  const files = Object.keys(NEAR).filter(
    (file) => !positionals.length || positionals.some((part) => file.includes(part)),
  );
  let mutants = files.flatMap((file) => mutantsOf(file, Number(values.sample ?? Infinity)));
  if (values.survivors) mutants = mutants.filter(({ id }) => survivedBefore().has(id));
  if (values.list) return mutants.forEach((m) => console.log(described(m)));
  if (files.some(isC)) build(files);
  const equivalent = readEquivalent();
  for (const m of mutants) if (namesOf(m).some((name) => equivalent.has(name))) m.result = 'equivalent';
  say(`${mutants.length} mutants of ${files.length} files.`);
  await runAll(mutants, Number(values.jobs), Number(values.limit) * 1000);
  report(files, mutants);
}

/** The C tests near the files, in each of the builds. @param {string[]} files */
function build(files) {
  const programs = [...new Set(files.filter(isC).flatMap((file) => NEAR[file]))].map((name) => `test_${name}`);
  for (const { folder, options } of [QUICK, CHECKED]) {
    const [log, path] = [folder.replace('build/', 'build-'), join(root, folder)];
    say(`Building the tests in ${folder} …`);
    const configure = ['-S', root, '-B', path, '-G', 'Ninja', ...options];
    run(log, `CMake could not configure ${folder}`, 'cmake', configure);
    run(log, `The tests in ${folder} could not be built`, 'cmake', ['--build', path, '--target', ...programs]);
  }
}

// ── which ──

/** @param {string} file @param {number} most so many, chosen by their text */
function mutantsOf(file, most) {
  const text = readFileSync(join(root, file), 'utf8');
  const squeeze = (s) => s.replace(/\s+/g, ' ').trim();
  const all = changesOf(text).map(({ at, length, to, kind }) => {
    const [from, end] = [text.lastIndexOf('\n', at) + 1, text.indexOf('\n', at + length)];
    const before = squeeze(text.slice(from, end));
    const after = squeeze(text.slice(from, at) + to + text.slice(at + length, end));
    const line = text.slice(0, from).split('\n').length;
    const id = `${basename(file)}: ${before}  ⇒  ${after}`;
    return { file, line, kind, before, after, id, mutated: text.slice(0, at) + to + text.slice(at + length) };
  });
  const hash = (s) => createHash('sha1').update(s).digest('hex');
  return all.sort((a, b) => (hash(a.id) < hash(b.id) ? -1 : 1)).slice(0, most);
}

/** @returns {Map<string, string>} the reason by the mutant's name */
function readEquivalent() {
  const reasons = JSON.parse(readFileSync(new URL('equivalent-files.json', import.meta.url), 'utf8'));
  return new Map(Object.entries(reasons).flatMap(([reason, ids]) => ids.map((id) => [id, reason])));
}

/** Ids of the last run's survivors. */
function survivedBefore() {
  const before = JSON.parse(readFileSync(RESULTS, 'utf8'));
  return new Set(before.filter(({ result }) => result === 'survived').map(({ id }) => id));
}

// ── what becomes of them ──

async function runAll(mutants, jobs, limit) {
  const waiting = mutants.filter((m) => !m.result);
  const worker = async (job) => {
    mkdirSync(join(WORK, job), { recursive: true });
    for (let m = waiting.shift(); m; m = waiting.shift()) {
      m.result = await (isC(m.file) ? outcomeOfC : outcomeOfScript)(m, join(WORK, job), limit);
      if (waiting.length % 100 === 0) say(`${waiting.length} to go …`);
      if (m.result === 'survived') say(`survives: ${described(m)}`);
    }
  };
  await Promise.all(Array.from({ length: jobs }, (_, job) => worker(`job${job}`)));
}

/** The compiler's command for a unit, without its last words, -o OBJECT -c FILE. */
function commandOf(folder, file) {
  const key = (unit) => `${folder} ${unit}`;
  const list = join(root, folder, 'compile_commands.json');
  if (!commands.has(key(join(root, file))))
    for (const { file: unit, command } of JSON.parse(readFileSync(list, 'utf8')))
      commands.set(key(unit), command.replace(/ -g\b/, '').replace(/ -o \S+ -c \S+$/, ''));
  return commands.get(key(join(root, file)));
}

async function outcomeOfC(m, work, limit) {
  const source = join(work, basename(m.file));
  writeFileSync(source, m.mutated);
  const quick = await outcomeIn(QUICK, m.file, source, work, limit);
  if (quick) return quick;
  if ((await codeOf(m.file, source, work)) === (await ownCodeOf(m.file, work))) return 'dropped';
  return (await outcomeIn(CHECKED, m.file, source, work, limit)) ?? 'survived';
}

/** 'killed', 'dropped' or nothing, by the programs of one build. */
async function outcomeIn({ folder, compile, link }, file, source, work, limit) {
  const object = join(work, 'mutant.o');
  if (!(await shell(`${commandOf(folder, file)} ${compile} -w -o ${object} -c ${source}`, limit))) return 'dropped';
  for (const name of NEAR[file]) {
    const program = join(work, name);
    const parts = [`CMakeFiles/test_${name}.dir/tests/c/${name}.c.o`, object, 'libtest_parts.a', 'libtrainlet.a'];
    const linked = `cd ${join(root, folder)} && cc -s ${link} ${parts.join(' ')} -lm -lpthread -o ${program}`;
    if (!(await shell(linked, limit))) return 'dropped';
    if (!(await runs(program, [], limit)).ok) return 'killed';
  }
}

async function shell(command, limit) {
  return (await runs('sh', ['-c', command], limit)).ok;
}

/** The compiler's output without the sanitizers, which keep each place. */
async function codeOf(file, source, work) {
  const object = join(work, 'plain.o');
  await shell(`${commandOf(QUICK.folder, file)} -w -O2 -o ${object} -c ${source}`, 60_000);
  return createHash('sha1').update(readFileSync(object)).digest('hex');
}

function ownCodeOf(file, work) {
  if (ownCodes.has(file)) return ownCodes.get(file);
  const source = join(work, 'own', basename(file));
  mkdirSync(join(work, 'own'), { recursive: true });
  writeFileSync(source, readFileSync(join(root, file)));
  ownCodes.set(file, codeOf(file, source, work));
  return ownCodes.get(file);
}

async function outcomeOfScript(m, folder, limit) {
  const minified = (text) => transformSync(text, { minify: true, logLevel: 'silent' }).code;
  try {
    if (minified(m.mutated) === minified(readFileSync(join(root, m.file), 'utf8'))) return 'dropped';
  } catch {
    return 'dropped'; /* no program at all */
  }
  const text = join(folder, basename(m.file));
  writeFileSync(text, m.mutated);
  const env = { MUTATED_FILE: join(root, m.file), MUTATED_TEXT: text };
  const how = ['--import', join(root, 'tests/mutants/mutated.js')];
  for (const name of NEAR[m.file])
    if (!(await runs(process.execPath, [...how, `tests/js/${name}.test.js`], limit, env)).ok) return 'killed';
  return 'survived';
}

/** Ends at the first test that fails. @returns {Promise<{ ok: boolean }>} */
function runs(program, args, limit, env = {}) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), limit);
    child.stdout.on('data', (piece) => {
      if (/^(?:FAILED|\s*not ok|\s*✖)/m.test(String(piece))) child.kill('SIGKILL');
    });
    child.on('error', () => resolve({ ok: false }));
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ ok: code === 0 });
    });
  });
}

// ── the table ──

/** The results, beside those of earlier runs. */
function keep(mutants) {
  const ids = new Set(mutants.map(({ id }) => id));
  const earlier = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')).filter(({ id }) => !ids.has(id)) : [];
  writeFileSync(RESULTS, JSON.stringify([...earlier, ...mutants.map(({ mutated, ...m }) => m)], null, 1));
}

function report(files, mutants) {
  const width = Math.max(...files.map((file) => file.length));
  const low = [];
  console.log(`${'file'.padEnd(width)}  made  ${COLUMNS.join('  ')}  %`);
  for (const file of files) {
    const own = mutants.filter((m) => m.file === file);
    const [killed, survived, ...rest] = COLUMNS.map((result) => own.filter((m) => m.result === result).length);
    const share = killed / (killed + survived);
    if (share < PASSES) low.push(file);
    const cells = [own.length, killed, survived, ...rest, (100 * share).toFixed(1)];
    console.log(file.padEnd(width), ...cells.map((cell) => String(cell).padStart(6)));
  }
  keep(mutants);
  if (low.length) throw new Failure(`Fewer than ${100 * PASSES} % are killed in ${low.join(', ')}.`);
}
