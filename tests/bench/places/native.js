// Contenders without JavaScript: the engine built natively, and PyTorch where the system's Python has it; each reads
// the row from build/bench/ROW.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { root } from '../../../tools/programs.mjs';
import { artifactsOf } from '../contenders/trainlet.js';
import { TYPES } from '../../support/onnx-file.js';
import { task } from '../tasks.js';
import { processorMs, residentBytes } from './process.js';

const CHECKED_STEPS = 5;
/** Today's PyTorch where `npm run models` has installed it, otherwise the system's. */
const TODAYS = join(root, 'build/models-venv/bin/python');
export const PYTHON = existsSync(TODAYS) ? TODAYS : '/usr/bin/python3';
const bytesOf = ({ data }) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

/** Writes what a row's programs read, for ours the models, and gives the folder. */
async function writeRow(work, isOurs) {
  const folder = join(root, 'build/bench', work.name.replaceAll(/[^\w-]/g, '_'));
  const write = (name, bytes) => writeFileSync(join(folder, name), bytes);
  mkdirSync(folder, { recursive: true });
  for (const [name, tensor] of Object.entries(work.feeds)) write(`${name}.bin`, bytesOf(tensor));
  if (isOurs && work.forward) write('model.onnx', work.graph.onnx());
  else if (isOurs) {
    const { trainModel, evalModel, optimizerModel, checkpointState } = await artifactsOf(work);
    Object.entries({
      'train.onnx': trainModel,
      'eval.onnx': evalModel,
      'optimizer.onnx': optimizerModel,
      checkpoint: checkpointState,
    }).forEach(([name, bytes]) => {
      write(name, bytes);
    });
  }
  return folder;
}

/** The network as JSON, and its weights one after the other: for who cannot read ONNX. */
function writeNetwork(folder, { graph, trains, optimizer, forward, feeds }) {
  const plain = (node) =>
    node.op === 'Constant'
      ? {
          ...node,
          attributes: {
            value: {
              ...node.attributes.value,
              data: undefined,
              values: Array.from(node.attributes.value.data, String),
            },
          },
        }
      : node;
  const description = {
    nodes: graph.nodes.map(plain),
    optimizer,
    forward,
    weights: [...graph.weights].map(([name, { dims }]) => ({ name, dims, trains: trains(name) })),
    feeds: Object.entries(feeds).map(([name, { type, dims }]) => ({ name, type, dims })),
  };
  writeFileSync(join(folder, 'network.json'), JSON.stringify(description).replaceAll('Infinity', 'inf'));
  writeFileSync(join(folder, 'weights.bin'), Buffer.concat([...graph.weights.values()].map(bytesOf)));
}

/**
 * Asks a program for steps, a line each. OpenBLAS under PyTorch takes all processors, whatever torch.set_num_threads
 * says.
 */
function programOf(command, args, threads) {
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, OPENBLAS_NUM_THREADS: String(threads) },
  });
  let complaint = '';
  child.stderr.on('data', (text) => {
    complaint = `${complaint}${text}`.slice(-500);
  });
  child.stdin.on('error', () => {});
  const waiting = [];
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.resolve(line.split(' ').map(Number)));
  child.on('close', () => {
    for (const { reject } of waiting) reject(new Error(complaint.trim().split('\n').at(-1) || 'the program ended'));
  });
  const measure = (steps) =>
    new Promise((resolve, reject) => {
      waiting.push({ resolve: ([ms, loss]) => resolve({ ms, loss }), reject });
      child.stdin.write(`${steps}\n`);
    });
  return { child, measure };
}

/**
 * PyTorch's BLAS: a bare system's reference BLAS is twenty times slower than OpenBLAS, and no yardstick.
 */
function blasOf({ pid }) {
  const maps = readFileSync(`/proc/${pid}/maps`, 'utf8');
  return (
    ['mkl', 'openblas', 'blis', 'atlas', 'blas'].find((name) =>
      new RegExp(`/lib${name}[^/]*\\.so|/${name}[^ ]*/libblas`, 'm').test(maps),
    ) ?? 'its own BLAS'
  );
}

async function openProgram(work, contender, threads) {
  const folder = await writeRow(work, contender !== 'pytorch');
  const feeds = Object.entries(work.feeds).map(([name, { type, dims }]) => `${name}:${TYPES[type]}:${dims}`);
  if (contender === 'pytorch') writeNetwork(folder, work);
  const started = performance.now();
  const script = join(root, 'tests/bench/contenders/pytorch.py');
  const { child, measure } =
    contender === 'pytorch'
      ? programOf(PYTHON, [script, folder, String(threads)], threads)
      : programOf(build(), [work.forward ? 'model' : 'train', folder, String(threads), ...feeds], threads);
  const losses = [];
  let firstStepMs, stepMs;
  while (losses.length < CHECKED_STEPS) {
    const { ms, loss } = await measure(1);
    firstStepMs ??= performance.now() - started;
    losses.push(loss);
    stepMs = ms;
  }
  const note = contender === 'pytorch' && existsSync(`/proc/${child.pid}/maps`) ? blasOf(child) : undefined;
  return { opened: { note, firstStepMs, losses, stepMs, residentBytes: residentBytes(child.pid) }, child, measure };
}

let program;
/** Builds bench_native as a release, in a folder of its own, once. */
function build() {
  if (program) return program;
  const folder = join(root, 'build/bench/native');
  const quiet = { stdio: ['ignore', 'ignore', 'inherit'] };
  execFileSync('cmake', ['-S', root, '-B', folder, '-G', 'Ninja', '-DCMAKE_BUILD_TYPE=Release'], quiet);
  execFileSync('cmake', ['--build', folder, '--target', 'bench_native'], quiet);
  program = join(folder, 'bench_native');
  return program;
}

export async function openNative({ threads }) {
  const hasTorch = spawnSync(PYTHON, ['-c', 'import torch']).status === 0;
  return {
    name: 'native',
    start: async (contender, row) => {
      if (contender === 'pytorch' && !hasTorch) throw new Error(`${PYTHON} has no torch`);
      let running;
      return {
        open: async () => {
          running = await openProgram(task(row), contender, threads);
          return running.opened;
        },
        processorMs: async () => processorMs(running.child.pid),
        measure: (steps) => running.measure(steps),
        close: async () => {
          running?.child.kill();
        },
      };
    },
    close: async () => {},
  };
}
