// -DTRAINLET_KEEP=LIST and -DTRAINLET_FLAVOUR=NAME leave parts out of a build from source; wasm/keep.cmake runs this:
//
//   node keep.mjs LIST|'' FLAVOUR FOLDER ─▶ FOLDER/ops.def, parts.h, calls.h, differentiates (features that need
//     operators' gradients, a line each); on stdout the files of operators that go
//
// Lists are those of `npx trainlet shrink`.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FEATURES } from '../js/cli/shrink/features.js';
import { keepNothing, merge, readKeep } from '../js/cli/shrink/keep.js';

const SOURCE = fileURLToPath(new URL('../src', import.meta.url));
const read = (file) => readFileSync(join(SOURCE, file), 'utf8');
const files = readdirSync(SOURCE, { recursive: true })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.c'))
  .sort();

/** The operators: [DOMAIN.NAME, file]. */
function operatorsOf() {
  const [, training] = /TRAINING_DOMAIN "(.*)"/.exec(read('ops/optimizer/training_step.h'));
  return files
    .filter((file) => file.startsWith('ops/') && /^OPERATOR\(/m.test(read(file)))
    .map((file) => {
      const text = read(file);
      const [, name] = /\.name = "(\w+)"/.exec(text);
      const [, domain = 'ai.onnx'] = /\.domain = "?([\w.]+)/.exec(text) ?? [];
      return [`${domain === 'TRAINING_DOMAIN' ? training : domain}.${name}`, file];
    });
}

/** OPTIONAL(name, …), and those that macros make: of a pass, and of an optimizer's rule. */
function partsOf() {
  const found = (/** @type {string} */ text, pattern, prefix) =>
    [...text.matchAll(pattern)].map(([, name]) => prefix + name);
  return [
    ...files.flatMap((file) => found(read(file), /^OPTIONAL\((\w+),/gm, '')),
    ...found(read('passes/passes.def'), /^PASS\((\w+)\)/gm, 'pass_'),
    ...found(read('train/optimizer.c'), /^UPDATE\((\w+),/gm, 'optimizer_'),
  ];
}

/** The exports of wasm/abi.c, without abi_. */
const exported = [...read('../wasm/abi.c').matchAll(/^EXPORT\(abi_(\w+)\)/gm)].map(([, name]) => name);
const operators = new Map(operatorsOf());
const parts = partsOf();
const featureOf = new Map(
  Object.entries(FEATURES).flatMap(([feature, { parts: its = [] }]) => its.map((part) => [part, feature])),
);
const ROWS = ['pass', 'optimizer', 'loss'];
/** The kind and name of a part that is a row of a table. */
const rowOf = (part) => {
  const [, kind, name] = /^(pass|optimizer|loss)_(.*)$/.exec(featureOf.has(part) ? '' : part) ?? [];
  return kind && { kind, name };
};

const known = keepNothing();
for (const name of operators.keys()) known.operator.add(name);
for (const part of parts) if (rowOf(part)) known[rowOf(part).kind].add(rowOf(part).name);
for (const feature of Object.keys(FEATURES)) known.feature.add(feature);

const featuresWith = (property) => Object.keys(FEATURES).filter((name) => FEATURES[name][property]);
/** Operators that only training graphs have. */
const TRAINING = /\/(optimizer\/|\w*grad(_\w+)?\.c$)/;
const READERS =
  'sentences compact onnx ort-format functions subgraphs old-opsets expanded other-types external-data constants'.split(
    ' ',
  );
/** The features of each flavour. */
const FLAVOURS = {
  all: known,
  training: { ...known, loss: new Set(), feature: without(known.feature, ['artifacts']) },
  inference: {
    operator: new Set([...operators].filter(([, file]) => !TRAINING.test(file)).map(([name]) => name)),
    pass: without(known.pass, ['clip_grad', 'accumulate']),
    optimizer: new Set(),
    loss: new Set(),
    feature: new Set([
      ...READERS,
      'inference-session',
      'computed-shapes',
      'strings',
      'sequences',
      'recompute',
      'pack',
      'profile',
      ...featuresWith('way'),
    ]),
  },
  artifacts: {
    calls: /^session_/, // go, too
    operator: known.operator,
    pass: new Set(['layer_norm', 'gelu']),
    optimizer: new Set(),
    loss: known.loss,
    feature: new Set([...READERS, 'gradient-nodes', 'computed-shapes', 'artifacts', ...featuresWith('way')]),
  },
};

function without(all, names) {
  return new Set([...all].filter((name) => !names.includes(name)));
}

/** The list's names, or all. ONNX Runtime's lists of operators keep all but the passes, which add other operators. */
function listed(list) {
  if (!list) return known;
  const keep = keepNothing();
  const text = readFileSync(list, 'utf8').replace(/^!.*$/gm, ''); // settings of ONNX Runtime's lists, about types
  merge(keep, readKeep(list, text, known));
  if (!keep.operator.size) throw new Error(`${list} names no operator`);
  const alone = [...ROWS, 'feature'].every((kind) => !keep[kind].size);
  return alone ? { ...known, operator: keep.operator, pass: new Set() } : keep;
}

const [list, flavour, folder] = process.argv.slice(2);
try {
  if (!Object.hasOwn(FLAVOURS, flavour))
    throw new Error(`TRAINLET_FLAVOUR must be one of ${Object.keys(FLAVOURS).join(', ')}, not '${flavour}'`);
  write(listed(list), FLAVOURS[flavour]);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

function write(...wanted) {
  const keeps = (kind, name) => wanted.every((it) => it[kind].has(name));
  const isKept = (part) => {
    const row = rowOf(part);
    if (row) return keeps(row.kind, row.name);
    return !featureOf.has(part) || keeps('feature', featureOf.get(part));
  };
  const kept = [...operators].filter(([name]) => keeps('operator', name));
  const stem = ([, file]) => file.replace(/.*\/|\.c$/g, '');
  const callsOf = (isWanted) =>
    Object.keys(FEATURES).flatMap((name) => (keeps('feature', name) === isWanted ? (FEATURES[name].calls ?? []) : []));
  const callsKept = new Set(callsOf(true)); // several features may have one
  const calls = callsOf(false).filter((call) => !callsKept.has(call));
  for (const { calls: others } of wanted) calls.push(...exported.filter((call) => others?.test(call)));
  mkdirSync(folder, { recursive: true });
  save(
    'differentiates',
    featuresWith('differentiates').filter((name) => keeps('feature', name)),
  );
  save(
    'ops.def',
    kept.map((it) => `OP(${stem(it)})`),
  );
  save(
    'parts.h',
    parts.filter(isKept).map((part) => `#define KEPT_${part} a,`),
  );
  save(
    'calls.h',
    [...new Set(calls)].map((call) => `#define LEFT_OUT_abi_${call} a,`),
  );
  for (const [name, file] of operators) if (!keeps('operator', name)) console.log(file);
}

/** Only where it changes, so that nothing is compiled again without need. */
function save(name, lines) {
  const [file, text] = [join(folder, name), `${lines.join('\n')}\n`];
  try {
    if (readFileSync(file, 'utf8') === text) return;
  } catch {} // it is not there yet
  writeFileSync(file, text);
}
