/** `trainlet fine-tune`: a person's few examples on a pretrained classifier, with the words of fineTune. */

import { FeatureStore, fineTune } from '../index.js';
import { readArrays } from './arrays.js';
import { DATA, readingOf } from './data-options.js';
import { checkPlaces, writeWhole } from './files.js';
import { flag, text } from './help.js';
import { stoppable } from './interrupt.js';
import { inputsAt, MODEL_OPTIONS, modelOptionsIn } from './model-options.js';
import { needed, number, wholeNumber } from './options.js';
import { duration, percent } from './progress.js';
import { UsageError } from './run-main.js';
import { complain, say, sayElsewhere, warn } from './terminal.js';

/** @import { FineTuneOptions, FineTuneProgress, FineTuneReport, FineTuneScores, ValueInfo } from '../types.js' */
/** @import { Values } from './commands.js' */
/** @import { OptionTable } from './help.js' */

/** The labels that fineTune feeds. @type {ValueInfo} */
const LABELS = { name: 'labels', type: 'int64', dims: ['N'], labels: { classes: null, axis: 1 } };

export const FINE_TUNE_USAGE = `trainlet fine-tune MODEL --data DATA -o OUT [options]
Puts a new head for the classes of DATA on MODEL, trains it, and writes the model to OUT. Nothing is written, and \
the exit code is 1, where that is worse than before, on examples that are held out and on those of --replay.`;

/** @type {OptionTable} */
export const FINE_TUNE_OPTIONS = {
  ...DATA,
  'keep-outputs': flag('the model keeps its own outputs, and learns on as a whole'),
  'head-at': text(
    'NAME',
    "the value that is the new head's features (default: what the last layer with a weight reads)",
  ),
  'head-hidden': text('N', 'units of a layer before the new last one (default: 0, there is none)'),
  'last-layers': text(
    'N',
    'layers below the head that learn after it (default: 0); with --keep-outputs, those that learn (default: all)',
  ),
  replay: text('DATA', 'samples of what the model knew, to be kept'),
  'replay-ratio': text('R', 'which share of what is learned they are (default: 0.5)'),
  augment: text(
    'STEPS',
    'what changes the examples each time, joined by commas as of train; or none (default: none; with --keep-outputs ' +
      'pictures are moved and turned a little)',
  ),
  anchor: text('A', 'how strongly the layers are drawn to where they were (default: 0.1)'),
  epochs: text('N', 'the most (default: 40; with --keep-outputs 20, or 10 beside --replay)'),
  'batch-size': text('N', 'examples of a batch (default: 16; 32 with --keep-outputs and --replay)'),
  'drop-last': flag('leaves out the last batch of an epoch if it is smaller'),
  lr: text('RATE', 'the highest learning rate (default: 1e-3)'),
  'label-smoothing': text('E', 'which share of a label all classes have alike (default: 0.1)'),
  validation: text('SHARE', 'of each class, held out (default: 0.2)'),
  patience: text('N', 'epochs without a better loss on what is held out (default: 8)'),
  seed: text('N', 'of what is held out, and of the shuffles (default: 0)'),
  'cache-features': text(
    'DIR',
    'what the layers below a new head give of each example is kept there for the next time',
  ),
  json: flag('the report as JSON'),
  ...MODEL_OPTIONS,
  out: text('OUT', 'where the model goes', { short: 'o' }),
  force: flag('overwrites a file that is there'),
};

/** @param {string} model @param {Values} values */
export async function runFineTune(model, values) {
  const [spec, out, reading, options] = [
    needed(values, 'data'),
    needed(values, 'out'),
    readingOf(values),
    optionsIn(values),
  ];
  if (values.json) sayElsewhere();
  await checkPlaces([out], values.force);
  const engine = await modelOptionsIn(model, values);
  const wanted = [...(await inputsAt(model, engine)), LABELS];
  const data = examplesOf(await readArrays(spec, 'train', wanted, reading));
  const { classes } = reading;
  if (!classes && !values['keep-outputs'])
    throw new UsageError(`--classes is needed: ${spec} has numbers of classes, and no names`);
  const replay = values.replay && {
    ...examplesOf(await readArrays(values.replay, 'train', wanted, reading)),
    ratio: number('replay-ratio', values['replay-ratio'], { least: 0, most: 1 }),
  };
  const cacheFeatures = await cacheIn(values['cache-features']);
  const onWarning = (/** @type {string} */ warning) => warn([warning]);
  const more = { classes, replay, engine, cacheFeatures, onProgress: values.json ? undefined : tell, onWarning };
  const { session, report } = await stoppable((signal) => fineTune(model, data, { ...options, ...more, signal }));
  try {
    if (values.json) process.stdout.write(`${JSON.stringify(report)}\n`);
    else sayReport(report);
    if (!report.accepted) {
      complain(`trainlet: nothing is written: ${report.reason}`);
      process.exitCode = 1;
      return;
    }
    await writeWhole([{ file: out, bytes: await session.exportModel() }], { overwrite: values.force });
    say(`${out}: ${report.classes.join(', ')}`);
  } finally {
    await session.release();
  }
}

/** @param {Values} values @returns {FineTuneOptions} */
function optionsIn(values) {
  const whole = (/** @type {string} */ name, /** @type {number} */ least) =>
    values[name] === undefined ? undefined : wholeNumber(name, values[name], least);
  const keeps = values['keep-outputs'];
  const stray = ['head-at', 'head-hidden'].find((name) => keeps && values[name] !== undefined);
  if (stray) throw new UsageError(`--${stray}: with --keep-outputs there is no new head`);
  if (values['replay-ratio'] && !values.replay) throw new UsageError('--replay-ratio: it is for --replay DATA');
  return {
    head: keeps ? false : { at: values['head-at'], hidden: whole('head-hidden', 0) },
    lastLayers: whole('last-layers', keeps ? 1 : 0),
    augment: augmentIn(values),
    anchor: number('anchor', values.anchor, { least: 0 }),
    epochs: whole('epochs', 1),
    batchSize: whole('batch-size', 1),
    dropLast: values['drop-last'],
    lr: number('lr', values.lr, { least: 0 }),
    labelSmoothing: number('label-smoothing', values['label-smoothing'], { least: 0, most: 1 }),
    validation: number('validation', values.validation, { least: 0, most: 1 }),
    patience: whole('patience', 1),
    seed: whole('seed', 0),
  };
}

/** @param {string} [directory] @returns {Promise<FineTuneOptions['cacheFeatures']>} */
const cacheIn = async (directory) => (directory ? { store: await FeatureStore.open({ directory }) } : undefined);

/** @param {Values} values */
const augmentIn = ({ augment, layout }) =>
  augment === 'none' ? false : augment && { steps: augment.split(','), layout };

/** @param {{ inputs: any, labels?: any }} data */
const examplesOf = ({ inputs, labels }) => ({ inputs, labels: labels[LABELS.name].data });

/** @param {FineTuneProgress} progress */
function tell({ phase, done, of, metrics }) {
  if (phase === 'model' || phase === 'done') return;
  const numbers = metrics ? `: ${textOf({ heldOut: { loss: metrics.val_loss ?? metrics.loss } })}` : '';
  if (process.stdout.isTTY) process.stdout.write(`\r${phase} ${done}/${of}${numbers}\x1b[K${done === of ? '\n' : ''}`);
  else if (done === of) say(`${phase} ${done}/${of}${numbers}`);
}

/** @param {FineTuneScores} scores */
const textOf = (scores) =>
  Object.entries(scores)
    .map(([name, { loss, accuracy }]) =>
      [
        name === 'heldOut' ? 'held out' : name,
        `loss ${loss.toFixed(4)}`,
        ...(accuracy === undefined ? [] : [percent(accuracy)]),
      ].join(' '),
    )
    .join(', ');

/** @param {FineTuneReport} report */
function sayReport({ share, reason, before, after, examples, features, ms }) {
  say(`${examples.trained} examples learned, ${examples.heldOut} held out, in ${duration(ms)}`);
  if (features?.store) say(`features: ${features.store.computed} computed, ${features.store.fromStorage} there before`);
  if (features?.store?.error) complain(`features are not kept: ${features.store.error.message}`);
  if (examples.heldOut || before.replay) {
    say(`before: ${textOf(before)}`);
    say(`after:  ${textOf(after)}`);
  }
  if (share > 0 && share < 1) complain(`${percent(share)} of it was taken, for of all of it: ${reason}`);
}
