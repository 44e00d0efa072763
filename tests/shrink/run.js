// Shrinks the engine for each network that there is here: those of the tests, of the benchmark, and real models; says
// what each weighs, how long it took, and how fast a step is beside the whole engine.
//
//   node tests/shrink/run.js [NAME …]

import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { compactArtifacts, generateArtifacts } from '../../js/index.js';
import { keepNothing } from '../../js/cli/shrink/keep.js';
import { Build, shrink } from '../../js/cli/shrink/shrink.js';
import { tryOut } from '../../js/cli/shrink/trial.js';
import { root } from '../../wasm/tools.mjs';
import { TASKS, task } from '../bench/tasks.js';
import { REAL_MODELS } from './real-models.js';

/** Losses to try, one after the other: the first that fits the model's outputs. */
const LOSSES = ['cross-entropy', 'mse', 'none'];
const ROUNDS = 12;

const golden = readdirSync(join(root, 'tests/golden'))
  .filter((file) => file.endsWith('.onnx'))
  .map((file) => ({ name: basename(file, '.onnx'), model: () => readFileSync(join(root, 'tests/golden', file)) }));
const bench = TASKS.map((name) => ({ name, task: task(name), model: () => task(name).graph.onnx() }));
const real = REAL_MODELS.map(({ name, path }) => ({ name, model: () => readFileSync(path) }));
const asked = process.argv.slice(2);
const build = await Build.read('trainlet.wasm');
const whole = await WebAssembly.compile(build.bytes);
const kb = (bytes) => (brotliCompressSync(bytes).length / 1024).toFixed(1);

console.log(
  `| network | as | KB of brotli | operators | seconds | step, × the whole engine's |\n|---|---|---|---|---|---|`,
);
for (const it of [...bench, ...golden, ...real]) {
  if (asked.length && !asked.includes(it.name)) continue;
  for (const subject of await subjectsOf(it))
    console.log(await row(subject, it).catch(({ message }) => `| ${subject.name} | ${subject.as} | ${message} |`));
}
process.exit(0);
