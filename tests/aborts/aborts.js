// Aborts amid long runs, at random moments: how long each takes to be heard.

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { InferenceSession, Tensor } from '../../js/index.js';
import { info, node } from '../support/onnx-file.js';
import { floats as constant, int64, list, model } from '../support/bomb-models.js';
import { fed, split } from '../support/string-bombs.js';

const EARLIEST_MS = 50;
const LATEST_MS = 400;
const WIDE = 2560;
const NARROW = 640;
const floats = (...dims) =>
  new Tensor(
    'float32',
    Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, i) => (i % 7) / 4000),
    dims,
  );
/** `count` products with the square matrix x, one after another. */
const products = (count) =>
  list(count, (i) => node('MatMul', [i ? `p${i - 1}` : 'x', 'x'], [i === count - 1 ? 'y' : `p${i}`]));
const wholeModel = (nodes, dims, constants) =>
  model(nodes, constants, { dims, output: info('y', 1, ['a', 'b', 'c', 'd'].slice(0, dims.length)) });
const strings = () => model([...fed(4), split('many')], { size: int64(2 ** 21) }, { opset: 20, type: true });

/** A run of each kind takes seconds; `most`: milliseconds in which its abort is to be heard. */
export const KINDS = {
  strings: { make: strings, x: () => floats(1, 4), most: 300 },
  MatMul: { make: () => wholeModel(products(1), ['n', 'n']), x: () => floats(WIDE, WIDE), most: 300 },
  'MatMul one by one': { make: () => wholeModel(products(64), ['n', 'n']), x: () => floats(NARROW, NARROW), most: 100 },
  Conv: {
    make: () =>
      wholeModel([node('Conv', ['x', 'w5'], ['y'])], ['n', 64, 'h', 'w'], { w5: constant([64, 64, 5, 5], 1 / 4000) }),
    x: () => floats(4, 64, 300, 300),
    most: 300,
  },
};

/** A session of the kind, and feeds of a long run. */
async function opened({ make, x }, threads = 1) {
  const session = await InferenceSession.create(make(), { threads, maxWork: Infinity });
  return { session, feeds: { x: x() } };
}

/**
 * Aborts `count` runs of the kind; the session computes afterwards.
 * @returns milliseconds until each was heard
 */
export async function abortRuns(kind, count, random = Math.random, threads = 1) {
  const { session, feeds } = await opened(KINDS[kind], threads);
  const taken = [];
  while (taken.length < count) {
    const stop = new AbortController();
    const running = assert.rejects(session.run(feeds, { signal: stop.signal }), { code: 'aborted' });
    await pause(EARLIEST_MS + random() * (LATEST_MS - EARLIEST_MS));
    const begun = performance.now();
    stop.abort();
    await running;
    taken.push(performance.now() - begun);
  }
  const small = kind === 'strings' ? undefined : { x: floats(...feeds.x.dims.map((d) => Math.min(d, 64))) };
  if (small) assert.ok((await session.run(small)).y.data.every(Number.isFinite));
  else await assert.rejects(session.run({ x: floats(2) }), { code: 'invalid-feed' });
  await session.release();
  return taken;
}

/** Releases `count` sessions amid a run: milliseconds that each release took. */
export async function releaseAmid(kind, count, random = Math.random) {
  const taken = [];
  while (taken.length < count) {
    const { session, feeds } = await opened(KINDS[kind]);
    const calls = [session.run(feeds), session.run(feeds)].map((run) => assert.rejects(run, { code: 'released' }));
    await pause(EARLIEST_MS + random() * (LATEST_MS - EARLIEST_MS));
    const begun = performance.now();
    await session.release();
    taken.push(performance.now() - begun);
    await Promise.all(calls);
    await assert.rejects(session.run(feeds), { code: 'released' });
  }
  return taken;
}

/** @param {number[]} taken */
export function figures(taken) {
  const sorted = taken.toSorted((a, b) => a - b);
  const [median, most] = [sorted[sorted.length >> 1], sorted.at(-1)].map(Math.round);
  return { count: taken.length, median, most };
}
