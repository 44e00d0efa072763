// Shrinks the engine for each network that there is here: those of the benchmark, of the tests, and real models. Says
// what each weighs and takes to make, and how fast a step or run is beside the whole engine's, in turns.
//
//   node tests/shrink/run.js [NAME …]

import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { keepNothing } from '../../js/cli/shrink/keep.js';
import { Build, shrink } from '../../js/cli/shrink/shrink.js';
import { tryOut } from '../../js/cli/shrink/trial.js';
import { packConstants } from '../../js/engine/options.js';
import { compactArtifacts, generateArtifacts } from '../../js/index.js';
import { task, taskNames } from '../bench/tasks.js';
import { MODELS, shipped } from '../support/real-models.js';
import { HERE, root } from '../support/engines.js';

/** To try in turn: the first that fits the model. */
const LOSSES = ['cross-entropy', 'mse', 'none'];
/** Left out for training alone: the page takes what was learned by getParameter, and errors are codes. */
const MORE_THAN_TRAINING =
  'save-checkpoint load-checkpoint export feature-cache best buffer-of-parameters properties resume sentences'.split(
    ' ',
  );
const ROUNDS = 15;

const shapesOf = (tensors) => new Map(Object.entries(tensors).map(([name, { dims }]) => [name, [...dims]]));
const bench = taskNames.map((name) => {
  const { graph, optimizer, trainable = ['*'], feeds } = task(name);
  const options = { loss: 'cross-entropy', optimizer, requiresGrad: trainable };
  return { name, model: () => graph.onnx(), trainings: [options], shapes: shapesOf(feeds) };
});
const golden = readdirSync(join(root, 'tests/golden/data'))
  .filter((file) => file.endsWith('.onnx'))
  .map((file) => ({
    name: basename(file, '.onnx'),
    model: () => readFileSync(join(root, 'tests/golden/data', file)),
    trainings: LOSSES.map((loss) => ({ loss })),
    shapes: new Map(),
  }));
const real = Object.entries(MODELS).map(([name, { file, feeds, constants, loss, scores, label }]) => ({
  name,
  model: () => shipped(file),
  trainings: loss ? [{ loss, constants, ...(scores && { lossInputs: [scores] }) }] : [],
  shapes: shapesOf({ ...feeds, ...(label && { labels: label, target: label }) }),
  constants,
}));

const build = await Build.read('trainlet.wasm');
const whole = await WebAssembly.compile(build.bytes);
const kb = (bytes) => (brotliCompressSync(bytes).length / 1024).toFixed(1);
const asked = process.argv.slice(2);
console.log(
  "| network | as | KB of brotli | of training alone | operators | seconds | time of a trial, × the whole engine's |",
);
console.log('|---|---|---|---|---|---|---|');
for (const it of [...bench, ...golden, ...real]) {
  if (asked.length && !asked.includes(it.name)) continue;
  const [subject, as] = await subjectOf(it);
  console.log(`| ${it.name} | ${as} | ${(await cellsOf(subject, it.shapes)).join(' | ')} |`);
}
process.exit(0);

/** The first training that runs on the whole engine, as a compact file; else the model itself. */
async function subjectOf({ name, model, trainings, shapes, constants }) {
  for (const options of trainings) {
    try {
      const bytes = await compactArtifacts(await generateArtifacts(model(), { ...options, ...HERE }), HERE);
      const subject = { name, parts: [{ which: 'compact', bytes }], external: [] };
      await tryOut(whole, subject, wantedOf(shapes));
      return [subject, `trained by ${options.loss}`];
    } catch {
      // another loss may fit
    }
  }
  const parts = [{ which: 'model', bytes: model() }];
  return [{ name, parts, external: [], constants: packConstants({ constants }) }, 'run'];
}

function wantedOf(shapes) {
  return { isKept: () => false, sizes: [2, 1], shapes };
}

async function cellsOf(subject, shapes) {
  const since = performance.now();
  const wish = { subjects: [subject], keep: keepNothing(), without: [], exact: false, sizes: [2, 1], shapes };
  const made = await shrink(build, { ...wish, purpose: subject.name, progress() {} }).catch((error) => error);
  if (made instanceof Error) return [made.message];
  const seconds = (performance.now() - since) / 1000;
  const trains = subject.parts[0].which === 'compact';
  const least = trains && (await shrink(build, { ...wish, without: MORE_THAN_TRAINING, purpose: 'x', progress() {} }));
  const ratio = await ratioOf(await WebAssembly.compile(made.bytes), subject, shapes);
  return [kb(made.bytes), least ? kb(least.bytes) : '', made.keep.operator.size, seconds.toFixed(1), ratio];
}

/** Best of rounds in turns. */
async function ratioOf(shrunk, subject, shapes) {
  const best = [Infinity, Infinity];
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, module] of [whole, shrunk].entries()) {
      const since = performance.now();
      await tryOut(module, subject, wantedOf(shapes));
      best[i] = Math.min(best[i], performance.now() - since);
    }
  }
  return (best[1] / best[0]).toFixed(2);
}
