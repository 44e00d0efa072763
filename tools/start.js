/** The program of `npm start`: trains a convolutional network on MNIST in the terminal, then serves site and demos. */

import { spawn } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { readArrays } from '../js/cli/arrays.js';
import { writeWhole } from '../js/cli/files.js';
import { stoppable } from '../js/cli/interrupt.js';
import { readOptions, wholeNumber } from '../js/cli/options.js';
import { duration, Progress, percent } from '../js/cli/progress.js';
import { runMain, UsageError } from '../js/cli/run-main.js';
import { say } from '../js/cli/terminal.js';
import { CheckpointStore, generateArtifacts, TrainingSession, TrainletError } from '../js/index.js';
import { startServer } from './serve-demo.js';

const HELP = `npm start -- [--epochs N] [--no-serve] [--port P]
Trains a convolutional network on the 60,000 digits of MNIST, tests it on 10,000 others, then builds the site and
serves it with the demos.

  --epochs N    passes over the data (1)
  --no-serve    end after the training
  --port P      of the site (8080, or any free one if that is taken)
`;
const MODEL = new URL('../tests/golden/data/w2.onnx', import.meta.url);
const OUT = fileURLToPath(new URL('../build/', import.meta.url));
const INPUTS = [
  { name: 'input', type: 'float32', dims: ['N', 1, 28, 28] },
  { name: 'labels', type: 'int64', dims: ['N'] },
];

await runMain('npm start --', main);

/** @param {string[]} args */
async function main(args) {
  const { values, positionals } = readOptions(args, {
    help: { type: 'boolean', short: 'h' },
    epochs: { type: 'string', default: '1' },
    'no-serve': { type: 'boolean' },
    port: { type: 'string', default: '8080' },
  });
  if (values.help) return void process.stdout.write(HELP);
  if (positionals.length) throw new UsageError(`npm start takes options alone, not '${positionals[0]}'`);
  await train(wholeNumber('epochs', values.epochs, 1));
  if (!values['no-serve']) await serve(wholeNumber('port', values.port, 0));
}

/** @param {number} epochs */
async function train(epochs) {
  const store = await CheckpointStore.open({ directory: path.join(OUT, 'checkpoints'), keep: 1 });
  const name = `w2-unfinished-${epochs}`;
  const unfinished = await store.load(name);
  const artifacts = await generateArtifacts(MODEL, {
    loss: 'cross-entropy',
    optimizer: { type: 'adam', lr: 1e-3 },
    additionalOutputs: ['logits'],
  });
  if (unfinished) say('Continuing where the last training was stopped.');
  const session = await TrainingSession.create(
    unfinished ? { ...artifacts, checkpointState: unfinished.bytes } : artifacts,
  );
  try {
    await learn(session, epochs, { store, name });
    await test(session);
    await save(session);
    await store.delete(name);
  } finally {
    await session.release();
  }
}

/**
 * @param {TrainingSession} session
 * @param {number} epochs
 * @param {{ store: CheckpointStore, name: string }} checkpoint
 */
async function learn(session, epochs, checkpoint) {
  const parameters = await session.getParametersSize();
  say(`Training ${parameters.toLocaleString('en')} parameters on 60,000 images of MNIST, batches of 64, Adam.`);
  const data = await readArrays('mnist', 'train', INPUTS);
  const progress = new Progress(process.stdout);
  const since = performance.now();
  try {
    await stoppable((signal) =>
      session.fit(data, { epochs, batchSize: 64, checkpoint: { ...checkpoint, everyMs: 30_000 }, signal, ...progress }),
    );
    say(`Trained in ${duration(performance.now() - since)}.`);
  } catch (error) {
    progress.end();
    if (!(error instanceof TrainletError) || error.code !== 'aborted') throw error;
    throw new TrainletError('aborted', 'stopped; the next npm start continues from here', { cause: error });
  }
}

/** @param {TrainingSession} session */
async function test(session) {
  const { accuracy, loss } = await session.evaluate(await readArrays('mnist', 'test', INPUTS), { batchSize: 100 });
  const { peakBytes } = await session.getMemoryPlan();
  say(
    `Accuracy on the 10,000 test images: ${percent(accuracy)} (loss ${loss.toFixed(4)}); ` +
      `planned memory ${(peakBytes / 1e6).toFixed(1)} MB.`,
  );
}

/** @param {TrainingSession} session */
async function save(session) {
  const [checkpoint, model] = [await session.saveCheckpoint(), await session.exportModel()];
  const files = [
    { file: path.join(OUT, 'w2.checkpoint'), bytes: checkpoint },
    { file: path.join(OUT, 'w2.onnx'), bytes: model },
  ];
  await writeWhole(files, { overwrite: true });
  say('Saved build/w2.checkpoint and build/w2.onnx.');
}

/** @param {number} port */
async function serve(port) {
  say('Building the site …');
  const trouble = await buildSite();
  if (trouble) say(`Without the site, the demos alone: ${trouble}.`);
  const site = !trouble;
  const { url } = await startServer({ port, site }).catch((error) => {
    if (error.code === 'EADDRINUSE') return startServer({ site });
    throw error;
  });
  say(`${site ? 'The site with its demos is' : 'The demos are'} at ${url} (Ctrl-C ends it).`);
}

/** Builds build/site where it is not current. @returns {Promise<string>} a sentence on why it could not, or '' */
async function buildSite() {
  const program = fileURLToPath(new URL('site.mjs', import.meta.url));
  const building = spawn(process.execPath, [program, '--stale'], { stdio: ['ignore', 'inherit', 'pipe'] });
  let told = '';
  building.stderr.setEncoding('utf8').on('data', (text) => {
    told += text;
  });
  const code = await new Promise((resolve) => {
    building.on('close', resolve);
  });
  return code === 0 ? '' : told.replace('[trainlet] ', '').split('\n')[0];
}
