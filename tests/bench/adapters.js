// Costs of rank-8 adapters on language models of 5 and 25 million parameters, for each kind of frozen base: bytes of
// the checkpoint and of the adapter, memory and time of a step.
//
//   node tests/bench/adapters.js

import { availableParallelism } from 'node:os';
import { generateArtifacts, TrainingSession } from '../../js/index.js';
import { gpt } from './models/networks.js';
import { quantile } from './statistics.js';

const TOKENS = 128;
const STEPS = 8;
const SIZES = [
  { name: '5 M', width: 256, blocks: 4, heads: 4, vocabulary: 4096 },
  { name: '25 M', width: 512, blocks: 6, heads: 8, vocabulary: 6144 },
];
const BASES = ['float32', 'float16', 'int8', 'int4'];
const MB = 1e6;

/** Milliseconds of the processor that a step takes, after two that plan and warm up. */
async function stepMs(session, feeds) {
  const times = [];
  for (let i = 0; i < STEPS; i++) {
    const { user, system } = process.cpuUsage();
    await session.step(feeds);
    const now = process.cpuUsage();
    times.push((now.user + now.system - user - system) / 1000);
  }
  return quantile(times.slice(2), 0.5);
}

async function rowOf(size, base) {
  const graph = gpt(1, { ...size, tokens: TOKENS });
  const artifacts = await generateArtifacts(graph.onnx(), {
    loss: 'cross-entropy',
    optimizer: { type: 'adamw', lr: 2e-4 },
    lora: { r: 8 },
    quantizeFrozen: base === 'float32' ? undefined : base,
    worker: false,
  });
  const checkpoint = artifacts.checkpointState.length;
  const session = await TrainingSession.create(artifacts, { worker: false, threads: 1 });
  const ids = BigInt64Array.from({ length: TOKENS }, (_, i) => BigInt((i * 7919) % size.vocabulary));
  const [input, labels] = session.trainingInputs;
  const feeds = {
    [input.name]: { type: 'int64', data: ids, dims: [1, TOKENS] },
    [labels.name]: { type: 'int64', data: ids, dims: [TOKENS] },
  };
  const ms = await stepMs(session, feeds);
  const { peakBytes } = await session.getMemoryPlan();
  const files = await session.exportAdapter({ type: 'float16' });
  await session.release();
  const adapter = files['adapter_model.safetensors'].length;
  const numbers = [checkpoint, adapter, peakBytes].map((bytes) => (bytes / MB).toFixed(bytes < MB ? 2 : 1));
  return `| ${size.name}, ${base} | ${numbers.join(' | ')} | ${ms.toFixed(0)} |`;
}

console.log(
  `one thread of ${availableParallelism()}, Node ${process.versions.node}; a text of ${TOKENS} tokens a step`,
);
console.log('| model, base | checkpoint, MB | adapter in float16, MB | state and step, MB | a step, ms |');
console.log('|---|---:|---:|---:|---:|');
for (const size of SIZES) for (const base of BASES) console.log(await rowOf(size, base));
