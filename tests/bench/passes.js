// Gain of each pass: the time of a step without it over the time with all, in sessions that differ in that alone and
// take turns. Time is the processor's, so that a busy machine disturbs it less.
//   node tests/bench/passes.js [rows, W1,W3] [seconds a row, 20] [passes, all]

import { readFileSync } from 'node:fs';
import { generateArtifacts, InferenceSession, TrainingSession } from '../../js/index.js';
import { task, taskNames } from './tasks.js';

const table = readFileSync(new URL('../../src/passes/passes.def', import.meta.url), 'utf8');
const PASSES = [...table.matchAll(/^(?:LATE_)?PASS\((\w+)\)/gm)].map(([, name]) => name);

const [rows = taskNames.join(','), seconds = '20', wanted = PASSES.join(',')] = process.argv.slice(2);
const left = wanted.split(',');
for (const name of rows.split(',')) console.log(await measure(task(name), Number(seconds)));

/** A step with these passes, ready to run; undefined means all. */
async function open({ graph, optimizer, trainable, forward, feeds }, passes) {
  const options = { worker: false, threads: 1, passes };
  if (forward) {
    const session = await InferenceSession.create(graph.onnx(), options);
    return () => session.run(feeds);
  }
  const artifacts = await generateArtifacts(graph.onnx(), {
    loss: 'cross-entropy',
    optimizer,
    ...(trainable && { requiresGrad: trainable }),
    ...options,
  });
  const session = await TrainingSession.create(artifacts, options);
  return () => session.step(feeds);
}

async function measure(row, limit) {
  const variants = [undefined, 'none', ...left.map((pass) => PASSES.filter((other) => other !== pass))];
  const steps = [];
  for (const passes of variants) steps.push(await open(row, passes));
  const best = steps.map(() => Infinity);
  const start = performance.now();
  for (let round = 0; round < 5 || performance.now() - start < limit * 1000; round++) {
    for (const [i, step] of steps.entries()) {
      const from = process.cpuUsage();
      await step();
      const { user, system } = process.cpuUsage(from);
      best[i] = Math.min(best[i], (user + system) / 1000);
    }
  }
  const [all, none, ...without] = best;
  const parts = left.map((pass, i) => `${pass} ${(without[i] / all).toFixed(3)}`);
  const ratios = `without any ×${(none / all).toFixed(3)}; without one ×: ${parts.join(', ')}`;
  return `${row.name}: ${all.toFixed(2)} ms; ${ratios}`;
}
