// Overhead of a run: a model of one Relu, fed with few and with many numbers. Ours runs in this thread and in a worker,
// onnxruntime-web here and, in pages, through its proxy; also with a preallocated output. The variants take turns.

import { graphProto, info, modelProto, node, opsetId, TYPES } from '../support/onnx-file.js';
import { quantile } from './statistics.js';

/** Floats of the tensor → runs in a turn. */
const SIZES = new Map([
  [4, 200],
  [2 ** 16, 20],
  [2 ** 22, 1],
]);
const WARM_TURNS = 3;

function modelBytes() {
  const graph = graphProto({
    node: node('Relu', ['x'], 'y'),
    name: 'call',
    input: info('x', TYPES.float32, ['N']),
    output: info('y', TYPES.float32, ['N']),
  });
  return modelProto({ graph, opsetImport: opsetId(17) });
}

const numbers = (count) => Float32Array.from({ length: count }, (_, i) => (i % 7) - 2);

async function ortAt(query, proxy) {
  const dist = new URL('./node_modules/onnxruntime-web/dist/', import.meta.url).href;
  const ort = await import(`${dist}ort.wasm.min.mjs${query}`);
  Object.assign(ort.env.wasm, { numThreads: 1, proxy, wasmPaths: dist });
  return ort;
}

/**
 * Name → { library, session, fills, gives }: `fills`: given tensors; `gives`: its worker takes the fed arrays away, so
 * that each run needs a new one.
 * @param {boolean} inPage
 */
async function openAll(inPage) {
  const trainlet = await import('../../js/index.js');
  const opened = async (library, options, more) => ({
    library,
    session: await library.InferenceSession.create(modelBytes(), options),
    ...more,
  });
  const fills = true;
  const wasm = { executionProviders: ['wasm'] };
  return {
    'trainlet, worker': await opened(trainlet, { threads: 1 }, { fills }),
    'trainlet, here': await opened(trainlet, { threads: 1, worker: false }, { fills }),
    ...(inPage && { 'onnxruntime-web, proxy': await opened(await ortAt('?proxy', true), wasm, { gives: true }) }),
    'onnxruntime-web, here': await opened(await ortAt('', false), wasm),
  };
}

/** The ways to run it, each ready to be timed. */
function waysOf({ library: { Tensor }, session, fills, gives }, count) {
  const data = numbers(count);
  const kept = new Tensor('float32', data, [count]);
  const feeds = gives ? () => ({ x: new Tensor('float32', data.slice(), [count]) }) : () => ({ x: kept });
  const room = new Tensor('float32', new Float32Array(count), [count]);
  const right = ({ y }) => y.data.length === count && y.data.every((v, i) => v === Math.max(0, data[i]));
  return {
    '': { run: () => session.run(feeds()), right },
    ...(fills && {
      ', filled': { run: () => session.run(feeds(), { y: room }), right: ({ y }) => y === room && right({ y }) },
    }),
  };
}

/** Collects garbage of earlier turns and lets the collector's threads finish. */
async function settled() {
  globalThis.gc?.();
  await new Promise((resolve) => setTimeout(resolve, 2));
}

/** Microseconds of the clock, and of the processor where Node tells. */
async function timed(run, times) {
  const processor = globalThis.process?.cpuUsage;
  const [since, before] = [performance.now(), processor?.()];
  for (let i = 0; i < times; i++) await run();
  const wall = ((performance.now() - since) * 1000) / times;
  const used = before && processor(before);
  return { wall, processor: used && (used.user + used.system) / times };
}

/**
 * Rows { floats, way, wall, processor } in µs: the first quartiles of the rounds. @param {number} rounds
 * @param {boolean} inPage
 */
export async function measureCalls(rounds, inPage) {
  const all = await openAll(inPage);
  const rows = [];
  for (const [floats, times] of SIZES) {
    const ways = Object.entries(all).flatMap(([name, opened]) =>
      Object.entries(waysOf(opened, floats)).map(([form, way]) => ({ way: name + form, ...way, turns: [] })),
    );
    for (const { way, run, right } of ways)
      if (!right(await run())) throw new Error(`${way} gives something else than the Relu of ${floats} floats`);
    for (let i = -WARM_TURNS; i < rounds; i++)
      for (const way of i % 2 ? [...ways].reverse() : ways) {
        await settled();
        const turn = await timed(way.run, times);
        if (i >= 0) way.turns.push(turn);
      }
    for (const { way, turns } of ways) {
      const of = (clock) => quantile(turns.map((turn) => turn[clock]).filter(Boolean), 0.25);
      rows.push({ floats, way, wall: of('wall'), processor: turns[0].processor && of('processor') });
    }
  }
  for (const { session } of Object.values(all)) await session.release();
  return rows;
}
