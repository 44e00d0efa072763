/**
 * Makes a build that holds just what some models need:
 *
 *   try the models out ─▶ keep list ─▶ cut ─▶ try them out on what is left ─▶ optimize ─▶ the same to the bit?
 */

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { sentenceOf, TrainletError } from '../../base/errors.js';
import { engineFile } from '../../engine/files.js';
import { cut } from './cut.js';
import { FEATURES } from './features.js';
import { readImage } from './image.js';
import { keepNothing, merge } from './keep.js';
import { optimize } from './optimize.js';
import { tryOut } from './trial.js';

/** @import { Image } from './image.js' */
/** @import { Layout } from './cut.js' */
/** @import { Keep } from './keep.js' */
/** @import { Subject, Wanted } from './trial.js' */

/** The most rebuilds that add something missing. */
const TRIES = 64;
const SHRUNK_FOR_MAX = 79;

/** A wasm file of ours, and what is known of it. */
export class Build {
  /** @param {string} name @param {Uint8Array} bytes @param {Layout} layout */
  constructor(name, bytes, layout) {
    this.name = name;
    this.bytes = bytes;
    this.layout = layout;
    const image = readImage(bytes);
    /** Rows of the table of operators: DOMAIN.NAME of each. @type {{ row: number, op: number, name: string }[]} */
    this.operators = rowsOf(image, layout);
    /** Offsets in an Op of its gradient and its upgrade (src/ops/table.c). */
    this.fields = [0, 4].map((at) => image.memory.readUInt32LE(layout.named.op_fields[0] + at));
    this.known = knownOf(Object.keys(layout.named), this.operators);
    const calls = image.exports.map(({ name: call }) => call.replace(/^abi_/, ''));
    for (const [feature, { calls: its = [], parts = [] }] of Object.entries(FEATURES)) {
      const missing = [
        ...its.filter((it) => !calls.includes(it)),
        ...parts.filter((it) => !layout.named[`part_${it}`]),
      ];
      if (missing.length)
        throw new TrainletError('internal', `feature ${feature} wants ${missing[0]}, which ${name} lacks`);
    }
  }

  /** One of the package's own. @param {string} name such as trainlet.wasm @param {Uint8Array} [other] in its place */
  static async read(name, other) {
    const bytes = other ?? (await readFile(engineFile(name)));
    const layouts = JSON.parse(await readFile(new URL('layouts.json', import.meta.url), 'utf8'));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const layout = layouts[name];
    if (layout?.sha256 === sha256) return new Build(name, bytes, layout);
    throw new TrainletError(
      'invalid-argument',
      `${name} cannot be shrunk: it is not as this version of trainlet was published with, or was linked without lld`,
    );
  }

  /** Offsets in an Op of functions that nothing kept calls. @param {Keep} keep */
  #unusedFields({ feature }) {
    const makesGradients = [...feature].some((name) => FEATURES[name].differentiates);
    const [gradient, upgrade] = this.fields;
    return [...(makesGradients ? [] : [gradient]), ...(feature.has('old-opsets') ? [] : [upgrade])];
  }

  /**
   * Makes the build that contains only `keep`.
   * @param {Keep} keep @param {string} purpose named as what it was shrunk for
   */
  cut(keep, purpose) {
    const image = readImage(this.bytes);
    /** @type {Set<number>} */
    const dead = new Set();
    const unused = this.#unusedFields(keep);
    for (const { row, op, name } of this.operators) {
      if (keep.operator.has(name)) for (const field of unused) image.memory.writeUInt32LE(0, op + field);
      else {
        image.memory.writeUInt32LE(0, row);
        dead.add(op);
      }
    }
    const { calls, parts } = leftOut(keep, this.known);
    for (const part of parts) image.memory.writeUInt32LE(0, this.layout.named[`part_${part}`][0]);
    writePurpose(image, this.layout, purpose);
    if (!keep.feature.has('sentences')) mute(image, this.layout);
    return cut(image, this.layout, (name) => !calls.has(name.replace(/^abi_/, '')), dead);
  }
}

/** @param {Image} image @param {Layout} layout */
function rowsOf({ memory }, { named: { op_rows } }) {
  const text = (/** @type {number} */ at) => (at ? memory.toString('utf8', at, memory.indexOf(0, at)) : '');
  const rows = [];
  for (let row = op_rows[0]; row < op_rows[0] + op_rows[1]; row += 4) {
    const op = memory.readUInt32LE(row);
    const [name, domain] = [text(memory.readUInt32LE(op)), text(memory.readUInt32LE(op + 4))];
    rows.push({ row, op, name: `${domain || 'ai.onnx'}.${name}` });
  }
  return rows;
}

/** @param {string[]} named @param {Build['operators']} operators @returns {Keep} */
function knownOf(named, operators) {
  const parts = (/** @type {string} */ kind) => new Set(namesOf(named, kind));
  return {
    operator: new Set(operators.map(({ name }) => name)),
    pass: parts('pass'),
    optimizer: parts('optimizer'),
    loss: parts('loss'),
    feature: new Set(Object.keys(FEATURES)),
  };
}

/** Parts of one kind, by what follows it. @param {string[]} named @param {string} kind */
const namesOf = (named, kind) =>
  named
    .filter((it) => it.startsWith(`part_${kind}_`) && !isOfFeature(it.slice(5)))
    .map((it) => it.slice(6 + kind.length));

/** @param {string} part */
const isOfFeature = (part) => Object.values(FEATURES).some(({ parts = [] }) => parts.includes(part));

/** Calls and parts that go. @param {Keep} keep @param {Keep} known */
function leftOut(keep, known) {
  const features = Object.entries(FEATURES).filter(([name]) => !keep.feature.has(name));
  const kept = new Set([...keep.feature].flatMap((name) => FEATURES[name].calls ?? [])); // several may have a call
  const rows = /** @type {const} */ (['pass', 'optimizer', 'loss']).flatMap((kind) =>
    [...known[kind]].filter((name) => !keep[kind].has(name)).map((name) => `${kind}_${name}`),
  );
  return {
    calls: new Set(['seen', ...features.flatMap(([, { calls = [] }]) => calls.filter((it) => !kept.has(it)))]),
    parts: [...features.flatMap(([, { parts = [] }]) => parts), ...rows],
  };
}

const LEAST_SENTENCE = 16;

/** All of text, with a space, and no short word of a list. @param {Uint8Array} bytes with their zero at the end */
function isSentence(bytes) {
  const end = bytes.indexOf(0);
  const text = bytes.subarray(0, end);
  const isText = text.every((byte) => byte >= 9 && byte < 127) && bytes.subarray(end).every((byte) => !byte);
  return end >= LEAST_SENTENCE && text.includes(32) && isText;
}

/**
 * Empties sentences, but for the one that says that the build is a shrunk one.
 * @param {Image} image @param {Layout} layout
 */
function mute({ memory }, { objects, tails, named: { shrunk_for } }) {
  let at = 0;
  objects.forEach((step, i) => {
    at += step;
    const end = at + (objects[i + 1] ?? 0);
    const isKept = memory.toString('latin1', at, end).startsWith('this build was shrunk') || at === shrunk_for[0];
    if (isSentence(memory.subarray(at, end)) && !isKept)
      memory.fill(0, at, Math.min(end, ...tails.filter((tail) => tail > at)));
  });
}

/** @param {Image} image @param {Layout} layout @param {string} purpose */
function writePurpose({ memory }, { named }, purpose) {
  const [at] = named.shrunk_for;
  memory.write(`${purpose.replace(/[^\x20-\x7e]/g, '?').slice(0, SHRUNK_FOR_MAX)}\0`, at, 'latin1');
}

// ── From models to what they need ──

/**
 * @typedef {object} Wish
 * @property {Subject[]} subjects what it must run
 * @property {Keep} keep what it holds in any case
 * @property {string[]} without features that it lacks in any case
 * @property {boolean} exact nothing but `keep`
 * @property {boolean} [fast] removes less dead code
 * @property {number[]} sizes that the first dim is tried with, where it is free
 * @property {Map<string, number[]>} shapes of inputs by name, whatever the size
 * @property {string} purpose
 * @property {(what: string) => void} progress
 */

/**
 * Finds what the subjects need, and tries it on a build without anything else.
 * @param {Build} build
 * @param {Wish} wish
 */
export async function needsOf(build, wish) {
  const keep = keepNothing();
  merge(keep, wish.keep);
  const full = await compile(build.bytes);
  const tried = [];
  for (const subject of wish.subjects) {
    wish.progress(`trying ${subject.name} on the whole engine`);
    const features = wish.exact ? keep.feature : featuresFor(subject, wish);
    const wanted = {
      isKept: (/** @type {string} */ it) => features.has(it) || keep.feature.has(it),
      sizes: wish.sizes,
      shapes: wish.shapes,
    };
    const { outcome, seen } = await tryOut(full, subject, wanted);
    tried.push({ subject, wanted, outcome });
    if (wish.exact) continue;
    for (const [kind, name] of seen) keep[kind].add(name);
    for (const name of features) keep.feature.add(name);
    for (const name of fasterWith(keep, wish)) keep.feature.add(name);
  }
  if (keep.feature.has('artifacts')) merge(keep, { ...keepNothing(), loss: build.known.loss });
  for (const { subject, wanted, outcome } of tried) {
    wish.progress(`trying ${subject.name} on what is left`);
    same(subject, outcome, await growUntilItRuns(build, keep, wish, subject, wanted));
  }
  return { keep, tried };
}

/**
 * @param {Build} build
 * @param {Wish} wish
 * @returns {Promise<{ bytes: Uint8Array, keep: Keep }>}
 */
export async function shrink(build, wish) {
  const { keep, tried } = await needsOf(build, wish);
  wish.progress('removing dead code');
  const bytes = optimize(build.cut(keep, wish.purpose), wish.fast);
  const module = await compile(bytes);
  for (const { subject, wanted, outcome } of tried) {
    wish.progress(`trying ${subject.name} on the shrunk engine`);
    same(subject, outcome, (await tryOut(module, subject, wanted)).outcome);
  }
  return { bytes, keep };
}

/** Features that only save time, of operators that are kept. @param {Keep} keep @param {Wish} wish */
const fasterWith = ({ operator }, { without }) =>
  Object.entries(FEATURES)
    .filter(
      ([name, { operators }]) =>
        operators && !without.includes(name) && [...operator].some((it) => it.includes(operators)),
    )
    .map(([name]) => name);

/** Node 20 knows relaxed SIMD only if it is told to. @param {Uint8Array} bytes */
async function compile(bytes) {
  const source = /** @type {BufferSource} */ (bytes);
  if (!WebAssembly.validate(source)) setFlagsFromString('--experimental-wasm-relaxed-simd');
  return await WebAssembly.compile(source);
}

/** All that a subject of its kind is used for, unless it is left out. @param {Subject} subject @param {Wish} wish */
function featuresFor({ parts, constants }, { without }) {
  const trains = parts.every(({ which }) => which !== 'model');
  const unread = parts.some(({ which }) => which === 'train') ? 'compact' : 'onnx';
  const asked = Object.entries(FEATURES).filter(([, { asked }]) => !asked);
  const wanted = trains
    ? asked.map(([name]) => name).filter((name) => name !== 'inference-session' && name !== unread && !isIfNeeded(name))
    : ['inference-session'];
  if (constants?.tensors.length) wanted.push('constants');
  return new Set(wanted.filter((name) => !without.includes(name)));
}

/** @param {string} name */
const isIfNeeded = (name) => FEATURES[name].variant || IF_NEEDED.includes(name);

/** Readers of what few files hold: they are there if one of these does. */
const IF_NEEDED = [
  'other-types',
  'expanded',
  'old-opsets',
  'ort-format',
  'functions',
  'subgraphs',
  'gradient-nodes',
  'computed-shapes',
  'load-ort-checkpoint',
  'nominal',
  'pack',
];

/**
 * Whatever still turns out to be missing is added.
 * @param {Build} build @param {Keep} keep @param {Wish} wish @param {Subject} subject @param {Wanted} wanted
 */
async function growUntilItRuns(build, keep, wish, subject, wanted) {
  for (let i = 0; ; i++) {
    const telling = { ...keep, feature: new Set([...keep.feature, 'sentences']) }; // the missing ones
    const module = await compile(build.cut(telling, wish.purpose));
    try {
      return (await tryOut(module, subject, wanted)).outcome;
    } catch (error) {
      const missing = missingIn(sentenceOf(error), build.known);
      const refused = missing.find(([kind, name]) => kind === 'feature' && wish.without.includes(name));
      if (wish.exact || refused || !missing.length || i === TRIES)
        throw new TrainletError(
          'invalid-argument',
          `${subject.name} cannot run with what is kept: ${sentenceOf(error)}`,
          {
            cause: error,
          },
        );
      for (const [kind, name] of missing) keep[kind].add(name);
    }
  }
}

/**
 * The missing things that an error of a shrunk build names.
 * @param {string} sentence @param {Keep} known @returns {[import('./keep.js').Kind, string][]}
 */
function missingIn(sentence, known) {
  const [, what] = /this build was shrunk for .* and has no (.*)$/.exec(sentence) ?? [];
  if (!what) return [];
  const [, operators] = /^operator (.*)$/.exec(what) ?? [];
  if (operators) return operators.split(', ').flatMap((name) => operatorsNamed(name, known));
  const [, optimizer, momentum] = /^optimizer (\S+)( with momentum)?$/.exec(what) ?? [];
  if (optimizer) return [['optimizer', `${optimizer.replaceAll('-', '_')}${momentum ? '_momentum' : ''}`]];
  return Object.entries(FEATURES)
    .filter(([, feature]) => feature.missing === what)
    .map(([name]) => ['feature', name]);
}

/**
 * The operators of a name, given with or without its domain.
 * @param {string} name @param {Keep} known @returns {['operator', string][]}
 */
const operatorsNamed = (name, known) =>
  [...known.operator]
    .filter((it) => it === name || it === `ai.onnx.${name}` || it.endsWith(`.${name}`))
    .map((it) => ['operator', it]);

/** @param {Subject} subject @param {string[]} wanted @param {string[]} came */
function same({ name }, wanted, came) {
  const at = wanted.findIndex((it, i) => it !== came[i]);
  if (at < 0 && wanted.length === came.length) return;
  throw new TrainletError(
    'internal',
    `${name}: the shrunk engine gives ${came[at]} where the whole gives ${wanted[at]}`,
  );
}
