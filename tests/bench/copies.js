// Speed limit of wasm copy loops: v128.load and v128.store, some vectors at a time, in turns with memory.copy in one
// process, at the sizes of the benchmark of operators: `node tests/bench/copies.js [ROUNDS]`.

import { setFlagsFromString } from 'node:v8';
import { copyBytes, copyBytesByLoop } from './contenders/peak.js';
import { inTurns, SIZES } from './operator_measure.js';
import { COMPILED_AT_ONCE, processorMs } from './places/operators.js';
import { quantile } from './statistics.js';

const VECTORS = [1, 4, 8];

for (const flag of COMPILED_AT_ONCE) setFlagsFromString(flag);
const rounds = Number(process.argv[2] ?? 15);
for (const [place, [floats]] of Object.entries(SIZES)) {
  const runs = { 'memory.copy': await copyBytes(4 * floats) };
  for (const vectors of VECTORS) runs[`a loop of ${vectors}`] = await copyBytesByLoop(4 * floats, vectors);
  const ms = await inTurns(runs, rounds, processorMs);
  const speed = (name) => (2 * 4 * floats) / quantile(ms[name], 0.25) / 1e6;
  for (const name of Object.keys(runs)) {
    const percent = Math.round((100 * speed(name)) / speed('memory.copy'));
    console.log(`${place.padEnd(14)}${name.padEnd(14)}${speed(name).toFixed(1).padStart(8)} GB/s ${percent} %`);
  }
}
