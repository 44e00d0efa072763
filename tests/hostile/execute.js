// Executes one reader many times, in this process: inputs that reach code that none did before are damaged further.
import { setImmediate } from 'node:timers/promises';
import { judge } from './judge.js';
import { randomFrom } from './mutate.js';

/** Inputs between two looks at the coverage, which take a millisecond each; more where the last found nothing. */
const [FEWEST, MOST] = [128, 4096];
/** Bytes of an input that is damaged further, as a multiple of the first ones'. */
const GROWTH = 4;
/** Damages of other inputs than the first ones, of four. */
const FURTHER = 3;

/**
 * @param {{ seeds: Uint8Array[], mutate: Function, fix: Function, read: Function }} target
 * @param {number} count @param {number} seed @param {import('./coverage.js').Coverage} coverage
 */
export async function execute({ seeds, mutate, fix, read }, count, seed, coverage) {
  const random = randomFrom(seed);
  const most = GROWTH * Math.max(...seeds.map(({ length }) => length));
  const kept = [];
  const row = { executions: 0, read: 0, slowest: 0, megabytes: 0, faults: [] };
  const fresh = async (inputs, isFirst = true) => {
    for (const bytes of inputs) {
      const { fault, ms, isRead } = await judge(read, fix(Buffer.from(bytes)));
      if (fault && isFirst) row.faults.push(await traced(read, fault));
      row.slowest = Math.max(row.slowest, Math.round(ms));
      row.read += Number(isRead && isFirst);
    }
    const isNew = await coverage.isNew(inputs.length === 1);
    if (!isNew || inputs.length === 1) return isNew ? inputs : [];
    const half = inputs.length >> 1;
    return [...(await fresh(inputs.slice(0, half), false)), ...(await fresh(inputs.slice(half), false))];
  };
  const next = () => {
    const from = kept.length && random(4) < FURTHER ? kept : seeds;
    return mutate(from[random(from.length)], random);
  };
  Error.stackTraceLimit = 0;
  for (const bytes of seeds) {
    await read(fix(Buffer.from(bytes))); // undamaged
    await fresh([bytes], false);
  }
  const since = performance.now();
  for (let batch = FEWEST; row.executions < count && row.faults.length < 20; ) {
    const inputs = Array.from({ length: Math.min(batch, count - row.executions) }, next);
    const found = await fresh(inputs);
    kept.push(...found.filter(({ length }) => length <= most));
    batch = found.length ? FEWEST : Math.min(2 * batch, MOST);
    row.executions += inputs.length;
    row.megabytes = Math.max(row.megabytes, Math.round(process.memoryUsage.rss() / 2 ** 20));
    await setImmediate(); // lets the event loop free a reader's memory, as zlib's
  }
  const seconds = (performance.now() - since) / 1000;
  return { ...row, kept: kept.length, 'a second': Math.round(row.executions / seconds) };
}

/** A fault with the stack of its error, which none has in the loop: making it takes longer than most readers. */
async function traced(read, fault) {
  Error.stackTraceLimit = 20;
  const { fault: again } = await judge(read, Buffer.from(fault.bytes, 'base64'));
  Error.stackTraceLimit = 0;
  return again ?? fault;
}
