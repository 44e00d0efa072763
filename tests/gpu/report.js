// Writes docs/measured/webgpu.md from what tests/gpu/speed.js has measured:
//
//   node tests/gpu/speed.js --peers --out build/gpu.json && node tests/gpu/report.js build/gpu.json

import { readFileSync, writeFileSync } from 'node:fs';

const PAGE = new URL('../../docs/measured/webgpu.md', import.meta.url);
const COMPARED = 5;

const { machine, rows } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const peers = Object.keys(rows[0].beside);
const ms = (/** @type {number} */ number) => number.toFixed(number < 100 ? 1 : 0);
const count = (/** @type {number} */ number) => `${(number / 1e6).toFixed(number < 1e7 ? 1 : 0)} M`;

/** The largest relative difference of the first losses from wasm's. */
const difference = (/** @type {number[]} */ losses, { wasm }) =>
  Math.max(...wasm.losses.slice(0, COMPARED).map((loss, i) => Math.abs(losses[i] - loss) / Math.abs(loss)));

const cellOf = (peer) => (!peer ? '–' : peer.error ? 'fails' : ms(peer.ms));

function lineOf(row) {
  const { title, device, wasm, beside } = row;
  const numbers = [count(device.parameters), ms(device.ms), ms(device.first), ms(wasm.ms)];
  const times = (wasm.ms / device.ms).toFixed(1);
  const cells = [title, ...numbers, times, ...peers.map((name) => cellOf(beside[name]))];
  return `| ${cells.join(' | ')} |`;
}

const titles = ['model', 'parameters', 'WebGPU', 'its first step', 'wasm', 'times as fast', ...peers];
const ours = Math.max(...rows.map((row) => difference(row.device.losses, row)));
const theirs = Math.max(
  ...rows.flatMap((row) =>
    Object.values(row.beside).flatMap(({ losses }) => (losses ? [difference(losses, row)] : [])),
  ),
);

writeFileSync(
  PAGE,
  `# Speed by WebGPU

Written by \`tests/gpu/report.js\` from one run of \`tests/gpu/speed.js --peers\`. Milliseconds of a step: the
median, from the fourth step on, of calls that each wait for their loss.

| ${titles.join(' | ')} |
|---|${titles
    .slice(1)
    .map(() => '---:')
    .join('|')}|
${rows.map(lineOf).join('\n')}

- **Machine**: ${machine.gpu}, by Vulkan in Dawn (npm's \`webgpu\`);
  ${machine.processor}, ${machine.cores} threads for wasm; Node ${machine.node}.
  A server's GPU: a laptop's takes longer, and the ratios are others there. No browser's figures are here.
- **The same work**: models of \`tests/bench/models\`, one batch again and again, AdamW. The first ${COMPARED} losses
  differ from wasm's by at most ${ours.toExponential(0)} of themselves, the peers' by ${theirs.toExponential(0)}.
- **First step**: with planning, and with compiling what no model before it needed.
- **Peers**: jax-js 0.1.25, the whole step in one \`jit\`; TensorFlow.js 4.22.0, its core's operators, as
  \`tests/bench/contenders\` has them, both on their WebGPU backends on the same Dawn. They were not measured on
  adapters (–).
- **The base of the adapters** is float32. Convolutions are not on the GPU yet
  ([webgpu.md](../guides/webgpu.md)), so no picture network is here.
`,
);
