// Speed of training on a GPU, beside our wasm on all cores: the same models, batches and losses. Runs in Node with the
// package `webgpu`, on any GPU that Vulkan, Metal or Direct3D knows; needs no network.
//
//   node tests/gpu/speed.js [--tiny] [--only NAME,NAME] [--seconds N] [--peers] [--out FILE.json]
//
// --peers measures jax-js and TensorFlow.js on their WebGPU backends, too: of tests/bench/node_modules (npm run bench
// installs them), TensorFlow.js there as one file, tfjs-webgpu.js, made by esbuild of its core, register_all_gradients
// and that backend.
//
// --tiny trains small models, to try the script where there is only a processor.

import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { generateArtifacts, TrainingSession } from '../../js/index.js';
import { gpt, mlp } from '../bench/models/networks.js';
import { batchTensor } from '../support/recipe.js';
import { openGpu } from './node-gpu.js';

const { values: options } = parseArgs({
  options: {
    tiny: { type: 'boolean' },
    only: { type: 'string' },
    seconds: { type: 'string', default: '12' },
    peers: { type: 'boolean' },
    out: { type: 'string' },
  },
});
const STEPS = { compared: 5, most: 40 };
const adamw = { type: 'adamw', lr: 1e-4, betas: [0.9, 0.999], eps: 1e-8, weightDecay: 0.01 };
const GPT10 = { width: 384, blocks: 6, heads: 6, tokens: 256, vocabulary: 1024 };
const GPT25 = { width: 512, blocks: 8, heads: 8, tokens: 256, vocabulary: 1024 };
/** SmolLM2-135M's. */
const GPT135 = { width: 576, blocks: 30, heads: 9, tokens: 256, vocabulary: 49152 };
const TINY = { width: 32, blocks: 1, heads: 2, tokens: 16, vocabulary: 64 };

/** name → [network, options of the artifacts]. */
const ROWS = options.tiny
  ? {
      MLP: [() => mlp(16, [20, 32, 10]), { optimizer: adamw }],
      GPT: [() => gpt(2, TINY), { optimizer: adamw }],
      'GPT, LoRA': [() => gpt(2, TINY), { optimizer: adamw, lora: { r: 4 } }],
    }
  : {
      'MLP 784-2048-2048-10, batch 256': [() => mlp(256, [784, 2048, 2048, 10]), { optimizer: adamw }],
      'W3 (GPT 0.5 M), batch 16 × 64': [() => gpt(16), { optimizer: adamw }],
      'GPT 11 M, batch 8 × 256': [() => gpt(8, GPT10), { optimizer: adamw }],
      'GPT 26 M, batch 8 × 256': [() => gpt(8, GPT25), { optimizer: adamw }],
      'GPT 26 M, LoRA of rank 8, batch 8 × 256': [() => gpt(8, GPT25), { optimizer: adamw, lora: { r: 8 } }],
      'GPT of the shape of SmolLM2-135M, LoRA of rank 8, batch 1 × 256': [
        () => gpt(1, GPT135),
        { optimizer: adamw, lora: { r: 8 } },
      ],
    };

const median = (/** @type {number[]} */ values) => [...values].sort((a, b) => a - b)[values.length >> 1];

async function train(artifacts, feeds, how) {
  const session = await TrainingSession.create(artifacts, how);
  const losses = [];
  const times = [];
  const until = performance.now() + 1000 * Number(options.seconds);
  while (losses.length < STEPS.compared || (performance.now() < until && losses.length < STEPS.most)) {
    const since = performance.now();
    losses.push((await session.step(feeds)).loss);
    times.push(performance.now() - since);
  }
  const parameters = session.getParametersSize ? await session.getParametersSize(false) : 0;
  await session.release();
  return { losses, first: times[0], ms: median(times.slice(3)), steps: losses.length, parameters };
}

/** Steps of a peer: { losses, first, ms, steps }, or { error }. */
async function measurePeer(open, task) {
  try {
    const session = await open(task);
    const losses = [];
    const times = [];
    const until = performance.now() + 1000 * Number(options.seconds);
    while (losses.length < STEPS.compared || (performance.now() < until && losses.length < STEPS.most)) {
      const since = performance.now();
      losses.push(await session.step());
      times.push(performance.now() - since);
    }
    return { losses, first: times[0], ms: median(times.slice(3)), steps: losses.length };
  } catch (error) {
    return { error: String(error?.message ?? error).split('\n')[0] };
  }
}

/** The peers that are here, by name. */
async function peersHere() {
  if (!options.peers) return {};
  const jax = await import('../bench/contenders/jax_js.js');
  const tfjs = await import('../bench/contenders/tfjs.js');
  globalThis.WorkerGlobalScope ??= class {}; // else TensorFlow.js looks for CommonJS's `require`, as in Node
  const tf = await import(new URL('../bench/node_modules/tfjs-webgpu.js', import.meta.url).href);
  const isThere = await tf.setBackend('webgpu');
  await tf.ready();
  if (!isThere || tf.getBackend() !== 'webgpu') throw new Error('TensorFlow.js has no WebGPU here');
  return {
    'jax-js': (task) => jax.open(task, { device: 'webgpu' }),
    'TensorFlow.js': (task) => tfjs.openWith(tf, task),
  };
}

function feedsOf(graph) {
  const [examples, classes] = graph.shapes.logits;
  const label = { name: 'labels', type: 'int64', dims: [], low: 0, high: classes, seed: 2 };
  return { [graph.input.name]: batchTensor(graph.input, graph.batch, 0), labels: batchTensor(label, examples, 0) };
}

const name = await openGpu();
const cores = availableParallelism();
const machine = { gpu: name, processor: cpus()[0].model, cores, node: process.versions.node };
console.log(JSON.stringify(machine));
console.log('| model | parameters | wasm, ms | WebGPU, ms | first step, ms | times as fast | losses differ by |');
console.log('|---|---:|---:|---:|---:|---:|---:|');
const rows = [];
const peers = await peersHere();
for (const [title, [network, recipe]] of Object.entries(ROWS)) {
  if (options.only && !options.only.split(',').some((part) => title.includes(part))) continue;
  try {
    const graph = network();
    const artifacts = await generateArtifacts(graph.onnx(), { loss: 'cross-entropy', ...recipe, worker: false });
    const feeds = feedsOf(graph);
    const device = await train(artifacts, feeds, { backend: 'webgpu', worker: false, threads: 1 });
    const wasm = await train(artifacts, feeds, { worker: true, threads: cores });
    const differ = wasm.losses
      .slice(0, STEPS.compared)
      .map((loss, i) => Math.abs(loss - device.losses[i]) / Math.abs(loss));
    const beside = {};
    if (!recipe.lora)
      for (const [name, open] of Object.entries(peers))
        beside[name] = await measurePeer(open, { graph, trains: () => true, optimizer: recipe.optimizer, feeds });
    rows.push({ title, wasm, device, differ: Math.max(...differ), beside });
    const numbers = [wasm.ms, device.ms, device.first].map((ms) => ms.toFixed(ms < 100 ? 1 : 0));
    const times = (wasm.ms / device.ms).toFixed(1);
    const cells = [title, device.parameters, ...numbers, times, rows.at(-1).differ.toExponential(1)];
    console.log(`| ${cells.join(' | ')} |`);
    for (const [name, { error, ms, first, losses }] of Object.entries(beside))
      console.log(
        error ? `  ${name}: ${error}` : `  ${name}: ${ms.toFixed(1)} ms, first ${first.toFixed(0)}, ${losses[4]}`,
      );
    if (rows.at(-1).differ > 1e-3) process.exitCode = 1;
  } catch (error) {
    console.log(`| ${title} | ${error.message} |`);
    process.exitCode = 1;
  }
  if (options.out) writeFileSync(options.out, JSON.stringify({ machine, rows }, null, 1));
}
process.exit(process.exitCode ?? 0); // Dawn's threads would go on
