// The benchmark of operators: each alone, at three sizes, ours beside onnxruntime-web, in turns in one process of one
// thread.
//
// A model holds the operator several times over, so that a run is long beside its call; of each result one element is
// taken. What the same model takes without the operator (feeds, calls, the elements) is measured in turns too, and
// subtracted.

import { setFlagsFromString } from 'node:v8';
import { copyBytes } from './contenders/peak.js';
import { attribute, info, message, TYPES, tensor } from './models/onnx_file.js';
import { ROWS } from './operator_rows.js';
import { median, quantile } from './statistics.js';

/** Floats of data, and how often the operator stands in the model. */
const SIZES = { 'first cache': [2 ** 13, 64], 'second cache': [2 ** 17, 16], memory: [2 ** 22, 4] };
const TURN_MS = 4;
const WARM_MS = 60;
const AGREE = 1e-4;

/** A node of any number of inputs, '' for those that are absent. */
const node = (op, inputs, outputs, attributes) =>
  message(
    ...inputs.map((name) => [1, name]),
    ...outputs.map((name) => [2, name]),
    [4, op],
    ...Object.entries(attributes).map(([key, value]) => [5, attribute(key, value)]),
  );
const list = (...numbers) => ({ type: 'int64', dims: [numbers.length], data: BigInt64Array.from(numbers, BigInt) });

/**
 * The first element of a value, taken at once, so that its bytes are free for the next; and such elements side by side.
 */
const corner = (value, rank, name) => node('Slice', [value, `zeros${rank}`, `ones${rank}`], [`${name}_corner`], {});
const joined = (names, output) =>
  node(
    'Concat',
    names.map((name) => `${name}_corner`),
    [output],
    { axis: 0 },
  );

/**
 * What a model is made of: `copies` times the operator, or none and only the corners of its input; `whole` results, or
 * their corners.
 */
function modelOf(
  [op, inputs, attributes, { opset = 18, outputs = 1, rank } = {}],
  { copies, without = false, whole = false },
) {
  const names = inputs.map((input, i) => (input ? `in${i}` : ''));
  const given = inputs.flatMap((input, i) => (input ? [[names[i], input]] : []));
  const fed = given.filter(([, input]) => !input.constant);
  const results = Array.from({ length: outputs }, (_, k) => Array.from({ length: copies }, (_, c) => `y${k}_${c}`));
  const depth = rank ?? inputs[0].dims.length;
  const nodes = [];
  for (let c = 0; c < copies; c++) {
    const made = results.map((of) => of[c]);
    if (!without) nodes.push(node(op, names, made, attributes));
    if (!whole) made.forEach((name) => nodes.push(corner(without ? 'in0' : name, depth, name)));
  }
  if (!whole) {
    results.forEach((of, k) => nodes.push(joined(of, `out${k}`)));
    for (const [name, { dims }] of fed.slice(1))
      if (dims.length) nodes.push(corner(name, dims.length, name), joined([name], `of_${name}`));
  }
  const made = whole ? results.map((of) => of[0]) : [...results.keys()].map((k) => `out${k}`);
  const others = whole ? [] : fed.slice(1).flatMap(([name, { dims }]) => (dims.length ? [`of_${name}`] : []));
  const ranks = [...new Set([depth, ...fed.map(([, { dims }]) => dims.length)])].filter((r) => r > 0);
  const graph = message(
    ...nodes.map((one) => [1, one]),
    [2, 'operator'],
    ...(without ? [] : given.filter(([, input]) => input.constant)).map(([name, input]) => [5, tensor(name, input)]),
    ...(whole ? [] : ranks).flatMap((r) => [
      [5, tensor(`zeros${r}`, list(...Array(r).fill(0)))],
      [5, tensor(`ones${r}`, list(...Array(r).fill(1)))],
    ]),
    ...fed.map(([name, { type, dims }]) => [11, info(name, TYPES[type], dims)]),
    ...[...made, ...others].map((name) => [12, message([1, name])]),
  );
  return { bytes: message([1, 8], [7, graph], [8, message([1, ''], [2, opset])]), fed };
}

/** Both libraries alike: opens a model, to be run again and again; or runs a row once and gives its outputs. */
export function librariesOf(ours, ort) {
  const libraryOf = ({ InferenceSession, Tensor }, options) => {
    const open = async ({ bytes, fed }) => {
      const session = await InferenceSession.create(bytes, options);
      const feeds = Object.fromEntries(fed.map(([name, { type, data, dims }]) => [name, new Tensor(type, data, dims)]));
      return { run: () => session.run(feeds), close: () => session.release() };
    };
    const outputs = async (row) => {
      const { run, close } = await open(modelOf(row, { copies: 1, whole: true }));
      const results = await run();
      await close();
      return results;
    };
    return { open, outputs };
  };
  return {
    // What would merge the copies is off in both.
    ours: libraryOf(ours, { worker: false, threads: 1, passes: ['pack'] }),
    ort: libraryOf(ort, { graphOptimizationLevel: 'disabled', executionProviders: ['wasm'], logSeverityLevel: 3 }),
  };
}

/** The largest difference of two results, relative where they are above 1. */
function difference(got, want) {
  let worst = 0;
  for (const name of Object.keys(want)) {
    const [a, b] = [got[name].data, want[name].data];
    if (a.length !== b.length) return Number.POSITIVE_INFINITY;
    for (let i = 0; i < b.length; i++) {
      const [x, y] = [Number(a[i]), Number(b[i])];
      const off = x === y || (Number.isNaN(x) && Number.isNaN(y)) ? 0 : Math.abs(x - y) / Math.max(1, Math.abs(y));
      worst = Math.max(worst, Number.isNaN(off) ? Number.POSITIVE_INFINITY : off);
    }
  }
  return worst;
}

/** How far the two are apart, and the bytes that are read and written at least. */
export async function compared(libraries, row) {
  const [got, want] = [await libraries.ours.outputs(row), await libraries.ort.outputs(row)];
  const bytes =
    row[1].reduce((sum, input) => sum + (input?.data.byteLength ?? 0), 0) +
    Object.values(want).reduce((sum, { data }) => sum + data.byteLength, 0);
  return { difference: difference(got, want), bytes };
}

async function timed(run, times) {
  const before = process.cpuUsage();
  for (let i = 0; i < times; i++) await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / times;
}

/** Ms of the processor in each round, of functions that take turns, once the compilers are done with them. */
async function inTurns(runs, rounds) {
  const names = Object.keys(runs);
  const times = {};
  for (const name of names) {
    const since = performance.now();
    do times[name] = Math.min(1000, Math.max(1, Math.round(TURN_MS / (await timed(runs[name], 2)))));
    while (performance.now() - since < WARM_MS);
  }
  const ms = Object.fromEntries(names.map((name) => [name, []]));
  for (let i = 0; i < rounds; i++)
    for (const name of i % 2 ? [...names].reverse() : names) ms[name].push(await timed(runs[name], times[name]));
  return ms;
}

/** What is left of a run without the rest, round by round: the median; NaN where that is less than the rest's noise. */
function alone(ms, without) {
  const left = median(ms.map((one, i) => one - without[i]));
  return left > 0.02 * quantile(without, 0.25) ? left : Number.NaN;
}

/** One row at one size. */
async function measure(libraries, row, place, rounds) {
  const [floats, copies] = SIZES[place];
  const one = row(floats);
  const times = one[1].some((input) => input?.constant && input.data.length > 64) ? Math.min(copies, 4) : copies;
  const { difference, bytes } = await compared(libraries, one);
  const opened = [];
  const open = async (who, how) => {
    opened.push(await libraries[who].open(modelOf(one, how)));
    return opened.at(-1).run;
  };
  const ms = await inTurns(
    {
      ours: await open('ours', { copies: times }),
      oursWithout: await open('ours', { copies: times, without: true }),
      ort: await open('ort', { copies: times }),
      ortWithout: await open('ort', { copies: times, without: true }),
      copy: await copyBytes(bytes / 2),
    },
    rounds,
  );
  for (const session of opened) await session.close();
  const [ours, ort] = ['ours', 'ort'].map((who) => alone(ms[who], ms[`${who}Without`]) / times);
  const { flops } = one[3] ?? {};
  return {
    place,
    bytes,
    ours,
    ort,
    ratio: ort / ours,
    difference,
    rate: flops ? flops / ours / 1e6 : bytes / ours / 1e6,
    unit: flops ? 'GFLOP/s' : 'GB/s',
    ofCopy: quantile(ms.copy, 0.25) / ours,
  };
}

const lineOfTexts = (name, place, [ours, ort, ratio, rate], unit, ofCopy) =>
  name.padEnd(26) +
  place.padEnd(14) +
  `${ours.padStart(10)}${ort.padStart(10)}${ratio.padStart(7)}${rate.padStart(10)} ` +
  `${unit.padEnd(8)}${ofCopy.padStart(9)}`;
const HEADER = lineOfTexts('operator', 'place', ['ours µs', 'ort µs', 'ratio', 'rate'], '', 'of a copy');
const lineOf = (name, m) => {
  const numbers = [(m.ours * 1e3).toFixed(1), (m.ort * 1e3).toFixed(1), m.ratio.toFixed(2), m.rate.toFixed(1)];
  const line = lineOfTexts(name, m.place, numbers, m.unit, `${(100 * m.ofCopy).toFixed(0)} %`);
  return m.difference > AGREE ? `${line}  DIFFERS by ${m.difference.toExponential(1)}` : line;
};

/** The rows whose name contains one of the words, all without any. */
function rowsOf(words) {
  const chosen = Object.keys(ROWS).filter((name) => !words.length || words.some((word) => name.includes(word)));
  words.forEach((word) => {
    if (!Object.keys(ROWS).some((name) => name.includes(word)))
      throw new RangeError(
        `No row of the benchmark of operators is called '${word}': ${Object.keys(ROWS).join('; ')}.`,
      );
  });
  return chosen;
}

/**
 * Measures and prints; gives back the rows. @param {string[]} words
 * @param {{ rounds: number, json?: boolean, where?: string }} options
 */
export async function benchOperators(words, { rounds, json = false }) {
  const names = rowsOf(words);
  if (Number(process.versions.node.split('.')[0]) < 22) setFlagsFromString('--experimental-wasm-relaxed-simd');
  const ort = await import(new URL('./node_modules/onnxruntime-web/dist/ort.wasm.min.mjs', import.meta.url).href);
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
  const libraries = librariesOf(await import('../../js/index.js'), ort);
  const rows = [];
  if (!json) console.log(HEADER);
  for (const name of names)
    for (const place of Object.keys(SIZES)) {
      rows.push({ name, ...(await measure(libraries, ROWS[name], place, rounds)) });
      if (!json) console.log(lineOf(name, rows.at(-1)));
    }
  if (json) console.log(JSON.stringify(rows, null, 1));
  return rows;
}
export const disagrees = ({ difference }) => !(difference <= AGREE);
