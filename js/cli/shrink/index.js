/** `trainlet shrink`: from directories and models on disk to a folder with a wasm file of just their needs. */

import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { packConstants } from '../../engine/constants.js';
import { readExternal, readSource } from '../../sources/source.js';
import { artifactsAt, externalDataOf, isCompact, isDirectory, readData, writeWhole } from '../files.js';
import { flag, text } from '../help.js';
import { constantsIn, inputsAt, MODEL_OPTIONS, noInput, pairsIn } from '../model-options.js';
import { UsageError } from '../run-main.js';
import { complain, say } from '../terminal.js';
import { FEATURES } from './features.js';
import { keepNothing, merge, printKeep, readKeep } from './keep.js';
import { programOf } from './optimize.js';
import { Build, needsOf, shrink } from './shrink.js';

/** @import { Keep } from './keep.js' */
/** @import { Subject } from './trial.js' */

const BUILDS = /** @type {Record<string, string>} */ ({
  plain: 'trainlet.wasm',
  threads: 'trainlet-threads.wasm',
  relaxed: 'trainlet-relaxed.wasm',
  'threads-relaxed': 'trainlet-threads-relaxed.wasm',
});

export const SHRINK_USAGE = `trainlet shrink DIR|MODEL… -o OUT [options]
Makes a wasm file that holds just what these training directories, compact files and models need: every other \
operator, pass, optimizer, reader and call goes. Each is tried out on made-up data before and after, and must come \
out the same to the bit. Needs the npm package binaryen (npm install --save-dev binaryen).`;

/** A line for each feature. */
const FEATURE_LIST = Object.entries(FEATURES)
  .map(([name, { about }]) => `  ${name.padEnd(29)} ${about}`)
  .join('\n');

/** @type {import('../help.js').OptionTable} */
export const SHRINK_OPTIONS = {
  build: text('NAME', `which of the files: ${Object.keys(BUILDS).join(', ')}; plain runs in any browser`, {
    default: 'plain',
  }),
  with: text('FEATURE', `keeps one of these too\n${FEATURE_LIST}`, { multiple: true }),
  without: text('FEATURE', 'leaves that out, although a directory would have it; one, or several with commas', {
    multiple: true,
  }),
  'batch-size': text('N', 'sizes of the first dim to try, where it is free (default: 1, 3 and 8)', { multiple: true }),
  shape: text('INPUT=DIMS', 'of one input, as labels=64 or tokens=8,32, whatever the size', { multiple: true }),
  keep: text('LIST', "also keeps what this file lists: one of ours, or ONNX Runtime's required_operators.config", {
    multiple: true,
  }),
  exactly: flag('nothing but what --keep lists'),
  fast: flag('optimizes less: a third of the time, about 1 % larger'),
  list: flag('prints the keep list and makes no file'),
  ...MODEL_OPTIONS,
  constant: text(
    'NAME=VALUE',
    'an input that is always the same, as sr=16000, where there is one of that name; sessions of the shrunk engine ' +
      'need it as well',
    { multiple: true },
  ),
  wasm: text('FILE', "shrinks this file instead of the package's own, if it is the same"),
  out: text('OUT', 'where trainlet.wasm, index.js and keep.config go', { short: 'o' }),
  force: flag('overwrites the files that are there'),
};

/** @param {string[]} places @param {Record<string, any>} values */
export async function runShrink(places, values) {
  const { build: name, list, out, exactly, fast, force } = values;
  const file = BUILDS[name];
  if (!Object.hasOwn(BUILDS, name))
    throw new UsageError(`--build must be one of ${Object.keys(BUILDS).join(', ')}, not '${name}'`);
  if (!list && !out) throw new UsageError('shrink needs -o OUT, or --list');
  const [more, without] = [featuresIn(values.with), featuresIn(values.without)];
  const sizes = sizesIn(values['batch-size']);
  const shapes = shapesIn(values.shape);
  if (!list) programOf(); // before anything is tried out
  const build = await Build.read(file, values.wasm && (await readData(values.wasm)));
  const keep = await keepIn(values.keep ?? [], build.known);
  for (const feature of more) keep.feature.add(feature);
  const subjects = await subjectsAt(places, values);
  const purpose = places.map((place) => path.basename(path.resolve(place))).join(', ');
  const progress = (/** @type {string} */ what) => complain(`[trainlet] ${what} …`);
  const wish = { subjects, keep, without, exact: exactly, fast, sizes, shapes, purpose, progress };
  if (list) return void process.stdout.write(printKeep((await needsOf(build, wish)).keep));
  await write(out, force, file, build, await shrink(build, wish), purpose);
}

/** @param {string[]} [lists] */
function featuresIn(lists = []) {
  const names = lists.flatMap((list) => list.split(','));
  const unknown = names.find((name) => !Object.hasOwn(FEATURES, name));
  if (unknown !== undefined)
    throw new UsageError(`there is no feature '${unknown}'; there are ${Object.keys(FEATURES).join(', ')}`);
  return names;
}

/** @param {string[]} [texts] */
function sizesIn(texts = ['1', '3', '8']) {
  const wrong = texts.find((text) => !/^[1-9]\d{0,8}$/.test(text));
  if (wrong !== undefined) throw new UsageError(`--batch-size must be a whole number of at least 1, not '${wrong}'`);
  return texts.map(Number);
}

/** @param {string[]} [texts] @returns {Map<string, number[]>} */
function shapesIn(texts = []) {
  return new Map(
    texts.map((text) => {
      const [, name, dims] = /^(.+)=(\d{1,9}(?:,\d{1,9})*)$/.exec(text) ?? [];
      if (!name) throw new UsageError(`--shape must be INPUT=DIMS, as labels=64 or tokens=8,32, not '${text}'`);
      return [name, dims.split(',').map(Number)];
    }),
  );
}

/** @param {string[]} files @param {Keep} known */
async function keepIn(files, known) {
  const keep = keepNothing();
  for (const file of files) merge(keep, readKeep(file, new TextDecoder().decode(await readData(file)), known));
  return keep;
}

/** @param {string[]} places @param {Record<string, any>} values */
async function subjectsAt(places, { 'external-data': files, constant = [] }) {
  const subjects = [];
  const unbound = new Set(Object.keys(pairsIn(constant)));
  const all = [];
  for (const place of places) {
    const externalData = externalDataOf(place, files);
    const inputs = constant.length ? await inputsAt(place, { externalData }) : [];
    const constants = constantsIn(constant, inputs);
    for (const name of Object.keys(constants)) unbound.delete(name);
    all.push(...inputs);
    subjects.push({
      ...(await subjectAt(place, await readExternal({ externalData }))),
      constants: packConstants(constants),
    });
  }
  for (const name of unbound) throw noInput(name, all);
  return subjects;
}

/** @param {string} place @param {Subject['external']} external @returns {Promise<Subject>} */
async function subjectAt(place, external) {
  const name = path.basename(path.resolve(place));
  if (!(await isDirectory(place))) {
    const bytes = await readSource('model', place, {});
    return { name, parts: [{ which: isCompact(bytes) ? 'compact' : 'model', bytes }], external };
  }
  const { trainModel, evalModel, optimizerModel, checkpointState } = await artifactsAt(place);
  const files = /** @type {const} */ ([
    ['train', trainModel],
    ['eval', evalModel],
    ['optimizer', optimizerModel],
    ['checkpoint', checkpointState],
  ]);
  const parts = await Promise.all(
    files.map(async ([which, file]) => ({ which, bytes: await readSource(which, file, {}) })),
  );
  return { name, parts, external: [] };
}

/**
 * @param {string} out @param {boolean} force @param {string} file which of the package's it was
 * @param {Build} build @param {{ bytes: Uint8Array, keep: Keep }} made @param {string} purpose
 */
async function write(out, force, file, build, { bytes, keep }, purpose) {
  const integrity = `sha384-${createHash('sha384').update(bytes).digest('base64')}`;
  const [now, before] = [sizesOf(bytes), sizesOf(build.bytes)];
  const text = (/** @type {string} */ it) => new TextEncoder().encode(it);
  const threads = file.includes('threads');
  await mkdir(out, { recursive: true });
  await writeWhole(
    [
      { file: path.join(out, 'trainlet.wasm'), bytes },
      { file: path.join(out, 'index.js'), bytes: text(loaderOf(purpose, now, integrity, threads)) },
      { file: path.join(out, 'keep.config'), bytes: text(`# ${file}, shrunk for ${purpose}\n${printKeep(keep)}`) },
    ],
    { overwrite: force },
  );
  say(`${path.join(out, 'trainlet.wasm')}: ${now} (${file}: ${before})`);
  say(
    `operators ${keep.operator.size} of ${build.known.operator.size}, features ${[...keep.feature].sort().join(', ')}`,
  );
}

/** @param {Uint8Array} bytes */
function sizesOf(bytes) {
  const kb = (/** @type {number} */ count) => `${(count / 1024).toFixed(1)} KB`;
  const [gzip, brotli] = [gzipSync(bytes, { level: 9 }), brotliCompressSync(bytes)].map(({ length }) => kb(length));
  return `${kb(bytes.length)}, gzip ${gzip}, brotli ${brotli}`;
}

/** @param {string} purpose @param {string} sizes @param {string} integrity @param {boolean} threads */
const loaderOf = (purpose, sizes, integrity, threads) => `/**
 * Trainlet's engine shrunk for ${purpose.replaceAll('*/', '')}: ${sizes}. Made by 'trainlet shrink'.
 *
 *   import { engine } from './index.js';
 *   const session = await TrainingSession.create(artifacts, { ...engine });
 */

/** Options for whatever starts an engine. */
export const engine = { wasmUrl: new URL('./trainlet.wasm', import.meta.url)${threads ? '' : ', threads: 1'} };
/** The hash of trainlet.wasm, for \`<link rel="preload" integrity>\`, or for fetch with the option wasmBinary. */
export const integrity = '${integrity}';
`;
