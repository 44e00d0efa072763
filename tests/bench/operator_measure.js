// Measures one row of the benchmark of operators at one size, in any JavaScript engine: ours and onnxruntime-web, in
// turns in one process of one thread.
//
// The time of the same model without the operator (feeds, calls, the elements) is measured in turns too, and
// subtracted. The limits of the machine also take turns: a copy of as many bytes, or only reading them where that is
// nearly all, and multiply-adds that never leave the registers.

import { COPIED, copyBytes, multiplyAdd, readBytes, WORK } from './contenders/peak.js';
import { repeatedModel, wholeModel } from './operator_model.js';
import { quantile } from './statistics.js';

/** Floats of data, and how often the operator stands in the model. */
export const SIZES = { 'first cache': [2 ** 13, 256], 'second cache': [2 ** 17, 32], memory: [2 ** 22, 12] };
const TURN_MS = 5;
const WARM_MS = 25;
/** The passes that make a backward pass what it is in training; `duplicate` would merge the copies. */
const TRAINED = ['batch_norm', 'fold', 'identity', 'clip_grad', 'transpose', 'pack'];
/** A run is not to take much longer than this. */
const RUN_MS = 240;
const AGREE = 1e-4;

export const disagrees = ({ difference, agree = AGREE }) => !(difference <= agree);

/**
 * The libraries alike: opens a model, to be run again and again; or runs a row once and gives its outputs and the ms of
 * that.
 * `training`: onnxruntime-web's build for training, for the rows that only it has. `clock`: gives ms.
 */
export function librariesOf(ours, ort, { training = ort, clock = () => performance.now() } = {}) {
  const libraryOf = ({ InferenceSession, Tensor }, options) => {
    const open = async ({ bytes, fed }) => {
      const session = await InferenceSession.create(bytes, options);
      const feeds = Object.fromEntries(fed.map(([name, { type, data, dims }]) => [name, new Tensor(type, data, dims)]));
      return { run: () => session.run(feeds), close: () => session.release() };
    };
    const ranOnce = async (model) => {
      const { run, close } = await open(model);
      await run(); // memory is new, and code is not compiled
      const before = clock();
      const outputs = await run();
      const ms = clock() - before;
      await close();
      return { outputs, ms };
    };
    return { open, ranOnce, outputs: (row) => ranOnce(wholeModel(row)) };
  };
  const theirs = { graphOptimizationLevel: 'disabled', executionProviders: ['wasm'], logSeverityLevel: 3 };
  return {
    // Passes that would merge the copies are off in both.
    ours: libraryOf(ours, { worker: false, threads: 1, passes: ['pack'] }),
    trained: { ...libraryOf(ours, { worker: false, threads: 1, passes: TRAINED }), artifacts: ours.generateArtifacts },
    ort: libraryOf(ort, theirs),
    training: libraryOf(training, theirs),
    clock,
  };
}

/** Who else computes a row, and as which row; nobody where the row is alone. */
function peerOf(libraries, row) {
  const { alone, training, peer } = row[3] ?? {};
  return alone ? undefined : { library: training ? libraries.training : libraries.ort, row: peer ?? row };
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

/** That nobody else has a row is asked, not believed. */
async function assertAlone({ ort }, row) {
  const ran = await ort.outputs(row).catch(() => undefined);
  if (ran) throw new Error(`${row[0]} is said to be alone, but onnxruntime-web has it`);
}

/** Difference of ours from the peer, the fewest bytes to read and write, and the ms of the slower one. */
export async function compared(libraries, row) {
  const ours = await libraries.ours.outputs(row);
  const peer = peerOf(libraries, row);
  if (!peer) await assertAlone(libraries, row);
  const theirs = peer && (await peer.library.outputs(peer.row));
  const bytes =
    row[1].reduce((sum, input) => sum + (input?.data.byteLength ?? 0), 0) +
    Object.values(ours.outputs).reduce((sum, { data }) => sum + data.byteLength, 0);
  const isComparable = theirs && !row[3]?.random;
  return {
    difference: isComparable ? difference(ours.outputs, theirs.outputs) : 0,
    agree: row[3]?.agree,
    bytes,
    ms: Math.max(ours.ms, theirs?.ms ?? 0),
  };
}

/** Ms of a run: of a function here, or as another process tells. */
async function timed(run, times, clock) {
  if (run.timed) return await run.timed(times);
  const before = clock();
  for (let i = 0; i < times; i++) await run();
  return (clock() - before) / times;
}

/** Ms of the clock in each round, of functions that take turns, once the compilers are done with them. */
export async function inTurns(runs, rounds, clock) {
  const names = Object.keys(runs);
  const times = {};
  for (const name of names) {
    times[name] = 1;
    for (let spent = 0, before = 1; spent < WARM_MS; ) {
      const each = await timed(runs[name], before, clock);
      spent += Math.max(0.1, each * before);
      times[name] = Math.min(1000, Math.max(1, Math.round(TURN_MS / each)));
      before = Math.min(times[name], 4 * before); // the first ones may say nothing of the others
    }
  }
  const ms = Object.fromEntries(names.map((name) => [name, []]));
  for (let i = 0; i < rounds; i++)
    for (const name of i % 2 ? [...names].reverse() : names) ms[name].push(await timed(runs[name], times[name], clock));
  return ms;
}

/** Time of a run without the rest, from both first quartiles; NaN below the noise. */
export function alone(ms, without) {
  const rest = quantile(without, 0.25);
  const left = quantile(ms, 0.25) - rest;
  return left > 0.02 * rest ? left : Number.NaN;
}

/** Copies of the operator in the model: few where weights are large, or a run takes longer than so many ms. */
export function copiesOf(row, place, ms, longest = RUN_MS) {
  const most = row[1].some((input) => input?.constant && input.data.length > 64) ? 4 : SIZES[place][1];
  return Math.max(1, Math.min(most, Math.floor(longest / ms)));
}

/** Ms that the machine needs at least, and which of its limits that is. */
function limitOf(ms, bytes, flops) {
  if (ms.read) return { limit: 'read', least: (quantile(ms.read, 0.25) * bytes) / Math.min(COPIED, bytes) };
  const copied = (quantile(ms.copy, 0.25) * bytes) / copiedOf(bytes) / 2;
  const computed = flops ? (quantile(ms.multiplyAdd, 0.25) * flops) / WORK['relaxed-peak'] : 0;
  return computed > copied ? { limit: 'multiply-add', least: computed } : { limit: 'copy', least: copied };
}
const copiedOf = (bytes) => Math.min(COPIED, bytes / 2);

/**
 * The figures of a row, by `of`; of one that cannot be measured, why: the others still can.
 * @param {typeof measure} of @param {object} libraries @param {(n: number) => unknown[]} row @param {string} name
 * @param {string} place @param {number} rounds
 */
export async function figuresOf(of, libraries, row, name, place, rounds) {
  try {
    return { name, ...(await of(libraries, row, place, rounds)) };
  } catch (error) {
    return { name, place, error: error.message };
  }
}

/**
 * One row at one size. @param {object} libraries
 * @param {(n: number) => unknown[]} row @param {string} place @param {number} rounds
 */
export async function measure(libraries, row, place, rounds) {
  const one = row(SIZES[place][0]);
  const { flops, reads } = one[3] ?? {};
  const { difference, agree, bytes, ms: whole } = await compared(libraries, one);
  const copies = copiesOf(one, place, whole);
  const peer = peerOf(libraries, one);
  const opened = [];
  const open = async (library, like, without) => {
    opened.push(await library.open(repeatedModel(like, { copies, without })));
    return opened.at(-1).run;
  };
  const ms = await inTurns(
    {
      ours: await open(libraries.ours, one, false),
      oursWithout: await open(libraries.ours, one, true),
      ...(peer && { ort: await open(peer.library, peer.row, false) }),
      ...(peer && { ortWithout: await open(peer.library, peer.row, true) }),
      copy: await copyBytes(copiedOf(bytes)),
      ...(flops && { multiplyAdd: await multiplyAdd() }),
      ...(reads && { read: await readBytes(Math.min(COPIED, bytes)) }),
    },
    rounds,
    libraries.clock,
  );
  for (const session of opened) await session.close();
  const ours = alone(ms.ours, ms.oursWithout) / copies;
  const ort = peer ? alone(ms.ort, ms.ortWithout) / copies : undefined;
  const { limit, least } = limitOf(ms, bytes, flops);
  return {
    operator: one[0],
    place,
    bytes,
    ours,
    ort,
    ratio: ort / ours,
    difference,
    agree,
    rate: flops ? flops / ours / 1e6 : bytes / ours / 1e6,
    unit: flops ? 'GFLOP/s' : 'GB/s',
    limit,
    limitRate: limit === 'multiply-add' ? undefined : bytes / least / 1e6,
    ofLimit: least / ours,
  };
}
