// Sets off the bomb that it is told: loads and runs it, makes artifacts of it and trains a step; tells what each took.

import { parentPort } from 'node:worker_threads';
import { compileEngine } from '../../js/engine/compile.js';
import { Core } from '../../js/engine/core.js';
import { BOMBS, LARGE } from './bombs.js';

const module = await compileEngine({ threads: 1, reproducible: true });
const SETTINGS = [
  ['loss.type', 'none'],
  ['optimizer.type', 'sgd'],
  ['requiresGrad', 'w'],
];
const ALL = new Map([...BOMBS, ...LARGE]);
const FED = { x: 0.5 };
const MOST_FED = 1 << 20; // bytes; a symbol is 2

/** A new engine, and the memory that it has. */
async function engine() {
  const instance = await WebAssembly.instantiate(module, {
    env: { emscripten_notify_memory_growth() {}, stopped: () => 0, now: () => 0 },
  });
  return { core: new Core(instance), bytes: () => instance.exports.memory.buffer.byteLength };
}

/** Feeds for the model, where they are small. */
function feedsFor(inputs) {
  const tensors = inputs
    .filter(({ name }) => name in FED)
    .map(({ name, type, dims }) => {
      const numbers = dims.map((d) => (typeof d === 'number' ? d : 2));
      return { name, type, dims: numbers, offset: 0, bytes: 4 * numbers.reduce((a, b) => a * b, 1) };
    });
  const bytes = Math.max(...tensors.map((t) => t.bytes), 0);
  return bytes <= MOST_FED && { tensors, sequences: [], buffer: new Float32Array(bytes / 4).fill(0.5).buffer };
}

function infer(core, model, limits) {
  const { info } = core.load({ parts: [{ which: 'model', bytes: model }], external: [], ...limits });
  const feeds = feedsFor(info.model.inputs);
  if (feeds) core.run({ graph: 'model', feeds, fetches: ['y'] });
}

const makeArtifacts = (core, model, { maxMemoryBytes }) =>
  core.artifacts({ model, external: [], settings: [['maxMemoryBytes', String(maxMemoryBytes)], ...SETTINGS] });

function train(core, { trainModel, optimizerModel, checkpointState }, limits) {
  const parts = [
    { which: 'train', bytes: trainModel },
    { which: 'optimizer', bytes: optimizerModel },
    { which: 'checkpoint', bytes: checkpointState },
  ];
  const { info } = core.load({ parts, external: [], ...limits });
  const feeds = feedsFor(info.train.inputs);
  if (feeds) core.step({ feeds, optimize: true });
}

/** The outcome, and the processor time and memory it took. */
async function measured(what, act) {
  const { core, bytes } = await engine();
  const before = process.cpuUsage();
  let error = null,
    made;
  try {
    made = act(core);
  } catch (e) {
    error = { name: e.name, code: e.code, message: e.message };
  }
  const { user, system } = process.cpuUsage(before);
  return { made, end: { what, error, seconds: (user + system) / 1e6, bytes: bytes() } };
}

parentPort.on('message', async ({ name, limits }) => {
  const model = ALL.get(name)();
  const { end: run } = await measured('run', (core) => infer(core, model.slice(), limits));
  const { made, end: artifacts } = await measured('artifacts', (core) => makeArtifacts(core, model.slice(), limits));
  const ends = [run, artifacts];
  if (made) ends.push((await measured('trained', (core) => train(core, made, limits))).end);
  parentPort.postMessage({ modelBytes: model.length, ends });
});
