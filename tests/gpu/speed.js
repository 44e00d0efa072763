// Speed of training on a GPU, beside our wasm on all cores: the same models, batches and losses. Runs in Node with the
// package `webgpu`, on any GPU that Vulkan, Metal or Direct3D knows; needs no network.
//
//   node tests/gpu/speed.js [--tiny] [--only NAME,NAME] [--seconds N] [--out FILE.json]
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
    out: { type: 'string' },
  },
});
const STEPS = { compared: 5, most: 40 };
const adamw = { type: 'adamw', lr: 1e-4 };
const GPT10 = { width: 384, blocks: 6, heads: 6, tokens: 256, vocabulary: 1024 };
const GPT25 = { width: 512, blocks: 8, heads: 8, tokens: 256, vocabulary: 1024 };
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
    rows.push({ title, wasm, device, differ: Math.max(...differ) });
    const numbers = [wasm.ms, device.ms, device.first].map((ms) => ms.toFixed(ms < 100 ? 1 : 0));
    const times = (wasm.ms / device.ms).toFixed(1);
    const cells = [title, device.parameters, ...numbers, times, rows.at(-1).differ.toExponential(1)];
    console.log(`| ${cells.join(' | ')} |`);
    if (rows.at(-1).differ > 1e-3) process.exitCode = 1;
  } catch (error) {
    console.log(`| ${title} | ${error.message} |`);
    process.exitCode = 1;
  }
  if (options.out) writeFileSync(options.out, JSON.stringify({ machine, rows }, null, 1));
}
process.exit(process.exitCode ?? 0); // Dawn's threads would go on
