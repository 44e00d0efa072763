// One contender in a Web Worker or a Node process of its own: opens a row, then makes as many steps as it is told and
// says how long they took.
//
//   { open: { contender, row, threads } }  ─▶ { firstStepMs, losses, outputs, memory }   import to first loss
//   { measure: steps }                     ─▶ { ms, loss }                               of one step, mean of the steps

import { task } from './tasks.js';

const MODULES = {
  trainlet: () => import('./contenders/trainlet.js'),
  'trainlet-alone': () => import('./contenders/trainlet.js'),
  'trainlet-beside': () => import('./contenders/trainlet.js'),
  'ort-graph': () => import('./contenders/ort_graph.js'),
  'ort-training': () => import('./contenders/ort_training.js'),
  'tfjs-wasm': () => import('./contenders/tfjs.js'),
  'tfjs-cpu': () => import('./contenders/tfjs.js'),
  'jax-js': () => import('./contenders/jax_js.js'),
  'simd-peak': () => import('./contenders/peak.js'),
  'relaxed-peak': () => import('./contenders/peak.js'),
  'memory-copy': () => import('./contenders/peak.js'),
};
const CHECKED_STEPS = 5,
  WARM_MS = 2_000,
  PATIENCE_MS = 12_000;

let session;

async function open({ contender, row, ...options }) {
  const work = task(row);
  const started = performance.now();
  session = await (await MODULES[contender]()).open(work, { ...options, contender });
  const losses = [await session.step()];
  const firstStepMs = performance.now() - started;
  let stepMs;
  do {
    const { ms, loss } = await measure(1);
    losses.push(loss);
    stepMs = ms;
  } while (losses.length < CHECKED_STEPS && performance.now() - started < PATIENCE_MS);
  // meanwhile the compiler's second tier arrives
  for (const since = performance.now(); performance.now() - since + stepMs < WARM_MS; ) stepMs = (await measure(1)).ms;
  return { firstStepMs, losses, outputs: session.outputs?.(), stepMs, memory: await session.memory?.() };
}

async function measure(steps) {
  let loss;
  const started = performance.now();
  for (let i = 0; i < steps; i++) loss = await session.step();
  return { ms: (performance.now() - started) / steps, loss };
}

async function answer(message, post) {
  try {
    post(message.open ? await open(message.open) : await measure(message.measure));
  } catch (error) {
    post({ error: String(error?.message ?? error).split('\n')[0] || String(error), stack: String(error?.stack) });
  }
}

if (globalThis.process?.send) process.on('message', (message) => answer(message, (data) => process.send(data)));
else self.onmessage = ({ data }) => answer(data, (message) => self.postMessage(message));
