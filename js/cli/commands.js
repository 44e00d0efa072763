/** The commands of the command line, each with its options, its help and what it does. */

import { sentenceOf } from '../base/errors.js';
import { describeInfo } from '../base/feeds.js';
import { InferenceSession, parametersOf, TrainingSession, TrainletError } from '../index.js';
import { checkAdapterPlaces, writeAdapter } from './adapter.js';
import { readArrays } from './arrays.js';
import { ARTIFACTS_OPTIONS, ARTIFACTS_USAGE, artifacts, makeArtifacts } from './artifacts.js';
import { bench, randomFeeds } from './bench.js';
import { describeCheckpoint } from './checkpoint.js';
import { DATA, readingOf } from './data-options.js';
import { DEMO_OPTIONS, DEMO_USAGE, runDemo } from './demo.js';
import { EXTEND_OPTIONS, EXTEND_USAGE, runExtend } from './extend.js';
import { checkPlaces, checkpointIn, neededTraining, trainingAt, writeWhole } from './files.js';
import { FINE_TUNE_OPTIONS, FINE_TUNE_USAGE, runFineTune } from './fine-tune.js';
import { GENERATE_OPTIONS, GENERATE_USAGE, runGenerate } from './generate.js';
import { flag, text } from './help.js';
import { stoppable } from './interrupt.js';
import { withLock } from './lock.js';
import { MODEL_OPTIONS, modelOptionsIn } from './model-options.js';
import { NEW_OPTIONS, NEW_USAGE, runNew } from './new.js';
import { needed, number, wholeNumber } from './options.js';
import { parameterTable } from './parameters.js';
import { describe, duration, Progress } from './progress.js';
import { UsageError } from './run-main.js';
import { runShrink, SHRINK_OPTIONS, SHRINK_USAGE } from './shrink/index.js';
import { complain, say, warn } from './terminal.js';
import { checkText, readTexts, TEXT } from './tokenizer.js';
import { TRAIN_OPTIONS, trainOptionsIn } from './train-options.js';

/** @import { ArtifactSources, CompactSource, Dataset, EngineOptions, FitOptions } from '../types.js' */
/** @import { MemoryPlan, ValueInfo } from '../types.js' */

/** @import { OptionTable } from './help.js' */

/** @typedef {'ort' | 'trainlet'} CheckpointFormat */
/** @typedef {Record<string, any>} Values by the name of an option, as readOptions checks them */
/**
 * @typedef {object} Command
 * @property {string} about
 * @property {string} [takes] nothing, where it is absent
 * @property {string} usage the head of its help: how it is called, and what it does
 * @property {OptionTable} options
 * @property {(place: string, values: Values) => Promise<void>} [run] of one place
 * @property {(places: string[], values: Values) => Promise<void>} [runAll] of one or more
 * @property {(values: Values) => Promise<void>} [runAlone] of none
 */

/** @type {Record<string, Command>} */
export const COMMANDS = {
  new: {
    about: 'an untrained network, without Python',
    takes: 'KIND: mlp, cnn, lstm or transformer',
    usage: NEW_USAGE,
    options: NEW_OPTIONS,
    run: runNew,
  },
  inspect: {
    about: 'what is in a model, a training directory, a compact file or a checkpoint',
    takes: 'MODEL, DIR, COMPACT or CHECKPOINT',
    usage: `trainlet inspect MODEL|DIR|COMPACT|CHECKPOINT [--graph] [--train [--loss LOSS]] [options]
Shows inputs, outputs, parameters, and the plan of memory; of the parameters of a MODEL who reads them as what, and \
which train by default; of a checkpoint's file, Trainlet's or ONNX Runtime's, its parameters, the optimizer's steps \
and learning rate, the position in the data and the properties.`,
    options: {
      graph: flag(
        'shows the graph instead, a node a line with the shapes of its outputs, as it runs on random inputs; where ' +
          'each output lies in the arena and how long: @offset+bytes [first node, last node]',
      ),
      train: flag(
        'the training that artifacts makes of MODEL, not its inference; with --graph also that of DIR, whose ' +
          'predictions are shown without it',
      ),
      loss: text('LOSS', 'of --train, as for artifacts'),
      'batch-size': text('N', 'what the first dim is where it is free', { default: '1' }),
      passes: text('NAMES', 'the rewrites to do, joined by commas, or none (default: all)'),
      ...MODEL_OPTIONS,
    },
    run: inspect,
  },
  artifacts: {
    about: 'makes a training directory from an ONNX model, or one compact file of either',
    takes: 'MODEL, DIR or COMPACT',
    usage: ARTIFACTS_USAGE,
    options: ARTIFACTS_OPTIONS,
    run: artifacts,
  },
  train: {
    about: 'trains what artifacts made on data; Ctrl-C leaves a checkpoint, and the next run continues',
    takes: 'DIR or COMPACT',
    usage: `trainlet train DIR|COMPACT --data DATA [options]
Trains a training directory or a compact file, and writes the checkpoint, into DIR or beside the file as \
COMPACT.checkpoint, after each epoch, each half minute, at the end and at Ctrl-C (SIGTERM and SIGHUP too; a second \
one ends at once). Started again with the same data and options after that, it continues.`,
    options: {
      ...DATA,
      ...TEXT,
      epochs: text('N', 'passes over the data', { default: '1' }),
      'batch-size': text('N', 'examples of a batch', { default: '32' }),
      'drop-last': flag('leaves out the last batch of an epoch if it is smaller'),
      lr: text('RATE', 'learning rate from here on'),
      ...TRAIN_OPTIONS,
      seed: text('N', 'of the shuffles'),
      validation: text('SHARE', 'share of the data that is held out, from 0 to 1'),
      augment: text(
        'STEPS',
        'what changes the examples of each batch, joined by commas: flip, shift, rotate, crop, noise, colour of ' +
          'pictures, shift, scale, noise of signals',
      ),
      'class-weight': text(
        'W',
        'balanced, or a number for each class, joined by commas: how much its labels count; for what artifacts ' +
          '--sample-weights made',
      ),
      format: text(
        'FORMAT',
        'of the checkpoint: trainlet, or ort, which ONNX Runtime reads too; that one is written at the end, since it ' +
          'has no room for the position in the data from which a stopped training continues',
        { default: 'trainlet' },
      ),
      adapter: text('OUT', 'a folder for the adapter alone, as PEFT reads it; for what artifacts --lora made'),
      'adapter-prefix': text('P', "what its modules' names begin with here and not in PyTorch, as model. of a wrapper"),
      force: flag('although another process seems to train there; with --adapter, over one that is there'),
    },
    run: train,
  },
  generate: {
    about: 'the tokens or the text with which a language model goes on',
    takes: 'MODEL, DIR or COMPACT',
    usage: GENERATE_USAGE,
    options: GENERATE_OPTIONS,
    run: runGenerate,
  },
  'fine-tune': {
    about: "adapts a classifier to a person's few examples, and writes it only if nothing is worse than before",
    takes: 'MODEL',
    usage: FINE_TUNE_USAGE,
    options: FINE_TUNE_OPTIONS,
    run: runFineTune,
  },
  extend: {
    about: 'more classes in a classifier that is being trained',
    takes: 'DIR or COMPACT',
    usage: EXTEND_USAGE,
    options: EXTEND_OPTIONS,
    run: runExtend,
  },
  eval: {
    about: 'loss and accuracy of a training directory or a compact file on data',
    takes: 'DIR or COMPACT',
    usage: `trainlet eval DIR|COMPACT --data DATA [options]
Tells the loss and, where the labels are classes, the accuracy. COMPACT.checkpoint, where train has left it, counts.`,
    options: {
      ...DATA,
      ...TEXT,
      'batch-size': text('N', 'examples of a batch', { default: '32' }),
      metrics: text('NAMES', 'others, joined by commas: top-3-accuracy, f1, confusion-matrix …'),
    },
    run: evaluate,
  },
  export: {
    about: 'a plain inference model from a training directory or a compact file',
    takes: 'DIR or COMPACT',
    usage: `trainlet export DIR|COMPACT -o MODEL [--format onnx|ort] [--training-info] [--force]
Writes a plain inference model with the parameters as they are now.`,
    options: {
      format: text('FORMAT', "onnx, or ort: ONNX Runtime's own format, for its builds without ONNX", {
        default: 'onnx',
      }),
      'training-info': flag("with the training as it stands, as ONNX's training_info, so that it can go on elsewhere"),
      out: text('MODEL', 'where the model goes', { short: 'o' }),
      force: flag('overwrites a file that is there'),
    },
    run: exportModel,
  },
  bench: {
    about: 'milliseconds a step, and memory',
    takes: 'DIR, COMPACT or MODEL',
    usage: `trainlet bench DIR|COMPACT|MODEL [--batch-size N] [--steps N] [--nodes] [--external-data FILE]
Runs on random inputs: training steps of a directory or a compact file (which stay as they are), or inferences of a \
model.`,
    options: {
      'batch-size': text('N', 'what the first dim is where it is free', { default: '64' }),
      steps: text('N', 'steps that are timed', { default: '30' }),
      nodes: flag(
        'also the milliseconds of each node, by operator: its share of the step, and for products and the like its ' +
          'share of the peak: the multiply-adds that this machine does in registers alone, measured on the spot',
      ),
      ...MODEL_OPTIONS,
    },
    run: async (place, values) => {
      const [batch, steps] = [
        wholeNumber('batch-size', values['batch-size'], 1),
        wholeNumber('steps', values.steps, 1),
      ];
      for (const line of await bench(place, { batch, steps, nodes: values.nodes }, await modelOptionsIn(place, values)))
        say(line);
    },
  },
  shrink: {
    about: 'a wasm file that holds just what your models need',
    takes: 'DIR or MODEL',
    usage: SHRINK_USAGE,
    options: SHRINK_OPTIONS,
    runAll: runShrink,
  },
  demo: {
    about: 'two pages to try it with: your handwriting, your pictures',
    usage: DEMO_USAGE,
    options: DEMO_OPTIONS,
    runAlone: runDemo,
  },
};

/** @param {Values} values @returns {CheckpointFormat} */
function formatOf({ format }) {
  if (format === 'ort' || format === 'trainlet') return format;
  throw new UsageError(`--format must be ort or trainlet, not '${format}'`);
}

/**
 * @template T
 * @param {ArtifactSources | CompactSource} artifacts
 * @param {(session: TrainingSession) => Promise<T>} work
 * @param {EngineOptions} [options]
 */
async function withSession(artifacts, work, options) {
  const session = await TrainingSession.create(artifacts, options);
  try {
    warn(session.warnings);
    return await work(session);
  } finally {
    await session.release();
  }
}

/** The rewrites to do; all by default. @param {Values} values @returns {EngineOptions} */
const passesIn = ({ passes }) =>
  passes === undefined ? {} : { passes: passes === 'none' ? passes : passes.split(',') };

/** @param {string} place @param {Values} values */
async function inspect(place, values) {
  const batch = wholeNumber('batch-size', values['batch-size'], 1);
  const [training, passes] = [await trainingAt(place), passesIn(values)];
  if (values.loss && (training || !values.train)) throw new UsageError('--loss: it is for --train of a model');
  const options = { ...passes, ...(await modelOptionsIn(place, values)) };
  if (training)
    return await withSession(training.artifacts, (session) => inspectTraining(session, batch, values), options);
  const checkpoint = await describeCheckpoint(place, options);
  if (checkpoint) return checkpoint.forEach(say);
  if (!values.train) return await inspectModel(place, options, batch, values);
  const made = await makeArtifacts(place, { loss: values.loss }, options);
  await withSession(made, (session) => inspectTraining(session, batch, values), passes);
}

/** @param {string} model @param {EngineOptions} options @param {number} batch @param {Values} values */
async function inspectModel(model, options, batch, values) {
  const session = await InferenceSession.create(model, options);
  try {
    warn(session.warnings);
    const run = () => session.run(randomFeeds(session.inputs, batch));
    if (values.graph) return await showGraph(run, () => session.getGraphText());
    showValues('input', session.inputs);
    showValues('output', session.outputs);
    await showParameters(model, options);
    await run();
    showMemory(await session.getMemoryPlan());
  } finally {
    await session.release();
  }
}

/** @param {string} model @param {EngineOptions} options */
async function showParameters(model, options) {
  try {
    for (const line of parameterTable(await parametersOf(model, options))) say(line);
  } catch (error) {
    complain(`what of it would train is not known: ${sentenceOf(error)}`);
  }
}

/** @param {TrainingSession} session @param {number} batch @param {Values} values */
async function inspectTraining(session, batch, values) {
  const feeds = randomFeeds(session.trainingInputs, batch);
  if (values.graph && values.train) {
    return await showGraph(
      () => runTraining(session, feeds),
      () => session.getGraphText(),
    );
  }
  if (values.graph) {
    return await showGraph(
      () => session.predict(feedsOf(session.evalInputNames, feeds)),
      () => session.getGraphText('eval'),
    );
  }
  say(`optimizer         ${session.optimizer ?? 'none'}`);
  say(`training inputs   ${session.trainingInputNames.join(', ')}`);
  say(`training outputs  ${session.trainingOutputNames.join(', ')}`);
  say(`eval outputs      ${session.evalOutputNames.join(', ')}`);
  for (const { name, type, dims, trainable } of session.parameters) {
    say(`parameter         ${name}  ${type} [${dims.join(', ')}]${trainable ? '' : '  frozen'}`);
  }
  const [trainable, all] = [await session.getParametersSize(), await session.getParametersSize(false)];
  say(`parameters        ${all.toLocaleString('en')}, of which ${trainable.toLocaleString('en')} are trained`);
  await runTraining(session, feeds);
  showMemory(await session.getMemoryPlan());
}

/**
 * The training graph, as far as it goes by itself.
 * @param {TrainingSession} session
 * @param {ReturnType<typeof randomFeeds>} feeds
 */
const runTraining = async (session, feeds) =>
  session.outside ? await (await session.forward(feeds)).drop() : await session.runTrainStep(feeds);

/**
 * Selects the feeds that an eval model also takes.
 * @param {readonly string[]} names
 * @param {ReturnType<typeof randomFeeds>} feeds
 */
const feedsOf = (names, feeds) => Object.fromEntries(Object.entries(feeds).filter(([name]) => names.includes(name)));

/**
 * The graph as it runs or, if it does not run on random inputs, as it was loaded.
 * @param {() => Promise<unknown>} run
 * @param {() => Promise<string>} text
 */
async function showGraph(run, text) {
  await run().catch((error) =>
    complain(`the graph as it was loaded, since it does not run on random inputs: ${sentenceOf(error)}`),
  );
  for (const line of (await text()).trimEnd().split('\n')) say(line);
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

/** @param {Values} values @returns {FitOptions['augment']} */
const augmentIn = ({ augment, layout }) => augment && { steps: augment.split(','), layout };

/** @param {Values} values @returns {FitOptions['classWeight']} */
function classWeightIn({ 'class-weight': text }) {
  if (text === undefined || text === 'balanced') return text;
  return text.split(',').map((/** @type {string} */ weight) => number('class-weight', weight, { least: 0 }));
}

/**
 * Texts, where there is a tokenizer for them, or arrays.
 * @param {string} spec
 * @param {'train' | 'test'} part
 * @param {TrainingSession} session
 * @param {Values} values
 * @param {ReturnType<typeof readingOf>} reading
 */
const readSet = (spec, part, { trainingInputs }, values, reading) =>
  values.tokenizer ? readTexts(spec, values, trainingInputs) : readArrays(spec, part, trainingInputs, reading);

/** @param {string} place @param {Values} values */
async function train(place, values) {
  const spec = needed(values, 'data');
  const reading = readingOf(values);
  checkText(values);
  const epochs = wholeNumber('epochs', values.epochs, 1);
  const batchSize = wholeNumber('batch-size', values['batch-size'], 1);
  const seed = values.seed === undefined ? undefined : wholeNumber('seed', values.seed, 0);
  const lr = number('lr', values.lr, { least: 0 });
  const more = trainOptionsIn(values);
  const validation = number('validation', values.validation, { least: 0, most: 1 });
  const classWeight = classWeightIn(values);
  const format = formatOf(values);
  const { adapter, 'adapter-prefix': prefix, force } = values;
  if (prefix && !adapter) throw new UsageError('--adapter-prefix: it is for --adapter OUT');
  if (adapter) await checkAdapterPlaces(adapter, force);
  const { artifacts, checkpoint: file } = await neededTraining(place);
  const where = artifacts.trainModel ? place : file;
  await withLock(place, file, force, async () => {
    const checkpoint = await checkpointIn(file); // before it is read
    await withSession(artifacts, async (session) => {
      const data = await readSet(spec, 'train', session, values, reading);
      if (lr !== undefined) await session.setLearningRate(lr);
      if (adapter) await session.exportAdapter({ prefix }); // refused now, where it would be in the end
      const since = performance.now();
      const { steps } = await fit(where, session, data, {
        ...more,
        epochs,
        batchSize,
        dropLast: values['drop-last'],
        seed,
        validation,
        classWeight,
        augment: augmentIn(values),
        checkpoint: { ...checkpoint, everyMs: 30_000 },
      });
      if (format !== 'trainlet') await checkpoint.store.save(checkpoint.name, await session.saveCheckpoint({ format }));
      if (adapter) await writeAdapter(adapter, await session.exportAdapter({ prefix }), force);
      say(`${steps} steps in ${duration(performance.now() - since)}; ${where} holds the checkpoint`);
    });
  });
}

/**
 * Trains until it is done or a signal stops it.
 * @param {string} where
 * @param {TrainingSession} session
 * @param {Dataset} data
 * @param {FitOptions} options
 */
async function fit(where, session, data, options) {
  const progress = new Progress(process.stdout);
  try {
    const onWarning = (/** @type {string} */ warning) => {
      progress.end();
      complain(`warning: ${warning}`);
    };
    return await stoppable((signal) => session.fit(data, { ...options, signal, ...progress, onWarning }));
  } catch (error) {
    progress.end();
    if (!(error instanceof TrainletError) || error.code !== 'aborted') throw error;
    throw new TrainletError('aborted', `stopped; ${where} holds the checkpoint, and the same command continues`, {
      cause: error,
    });
  }
}

/** @param {string} place @param {Values} values */
async function evaluate(place, values) {
  const spec = needed(values, 'data');
  const reading = readingOf(values);
  checkText(values);
  const batchSize = wholeNumber('batch-size', values['batch-size'], 1);
  const { artifacts } = await neededTraining(place);
  await withSession(artifacts, async (session) => {
    const data = await readSet(spec, 'test', session, values, reading);
    const results = await session.evaluate(data, { batchSize, metrics: values.metrics?.split(',') });
    const isArray = (/** @type {[string, unknown]} */ [, value]) => Array.isArray(value);
    say(describe(Object.fromEntries(Object.entries(results).filter((each) => !isArray(each)))));
    for (const [name, value] of Object.entries(results).filter(isArray)) say(`${name} ${JSON.stringify(value)}`);
  });
}

/** @param {string} place @param {Values} values */
async function exportModel(place, values) {
  const out = needed(values, 'out');
  const { force, format, 'training-info': trainingInfo } = values;
  if (format !== 'onnx' && format !== 'ort') throw new UsageError(`--format must be onnx or ort, not '${format}'`);
  if (format === 'ort' && trainingInfo) throw new UsageError('--training-info: it is for --format onnx');
  await checkPlaces([out], force);
  const { artifacts } = await neededTraining(place);
  await withSession(artifacts, async (session) => {
    const bytes = await session.exportModel({ format, trainingInfo });
    await writeWhole([{ file: out, bytes }], { overwrite: force });
    say(`${out}: ${bytes.length.toLocaleString('en')} bytes`);
  });
}
