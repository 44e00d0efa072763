/** The command `artifacts`: makes what training starts from, as four files or as one. */

import { rm } from 'node:fs/promises';
import { compactArtifacts, generateArtifacts, InferenceSession, planMemory, TrainingSession } from '../index.js';
import { loraIn } from './adapter.js';
import { engine } from './checkpoint.js';
import {
  artifactsIn,
  checkPlaces,
  checkpointBeside,
  ortFilesIn,
  trainingAt,
  writeArtifacts,
  writeWhole,
} from './files.js';
import { flag, text } from './help.js';
import { MODEL_OPTIONS, modelOptionsIn } from './model-options.js';
import { needed, number, wholeNumber } from './options.js';
import { UsageError } from './run-main.js';
import { say, warn } from './terminal.js';

/**
 * @import { ArtifactOptions, ArtifactSources, EngineOptions, HeadOptions, LossOptions, LossType } from '../types.js'
 * @import { OptimizerOptions, OptimizerType } from '../types.js'
 */
/** @import { Training } from './files.js' */
/** @typedef {import('./commands.js').Values} Values */

const FORMATS = ['ort', 'trainlet', 'compact'];

/** Options that only apply when artifacts are made from a model. */
const OF_MODEL = [
  'loss',
  'ignore-index',
  'label-smoothing',
  'lr',
  'weight-decay',
  'momentum',
  'clip-grad-norm',
  'clip-grad-value',
];
const ALSO_OF_MODEL = [
  'sample-weights',
  'lora',
  'head',
  'head-at',
  'head-hidden',
  'train',
  'freeze',
  'optimizer',
  'output',
  'batch',
  'batch-norm',
  'untie',
  'quantize-frozen',
  'nominal',
  'ort-format',
  'external-data',
  'constant',
  'dim',
];

export const ARTIFACTS_USAGE = `trainlet artifacts MODEL [--loss LOSS] -o DIR [options]
trainlet artifacts MODEL|DIR|COMPACT --format compact -o FILE [--weights WEIGHTS] [options]
trainlet artifacts MODEL [--loss LOSS] --plan NAME=DIMS [--plan NAME=DIMS …] [options]
Makes the four files that training starts from, by ONNX Runtime's names, or one compact file that holds them all, of \
a MODEL or of the training directory DIR or the compact file COMPACT as it is now. A file that is there already, as \
a trained checkpoint may be, is overwritten with --force only.`;

const lossHelp = async () =>
  `${(await engine()).constants.losses.join(', ')} (default: as the model's own training_info says)`;

async function optimizerHelp() {
  const { optimizers } = (await engine()).constants;
  return `${optimizers.join(', ')} (default: ${optimizers[0]})`;
}

/** @type {import('./help.js').OptionTable} */
export const ARTIFACTS_OPTIONS = {
  loss: text('LOSS', lossHelp),
  'ignore-index': text(
    'LABEL',
    "of cross-entropy: labels that do not count, such as PyTorch's -100 (default: all count)",
  ),
  'label-smoothing': text(
    'E',
    'of cross-entropy: which share of a label all classes have alike, as in PyTorch (default: 0)',
  ),
  'sample-weights': flag(
    'examples may count more or less, as by train --class-weight: the graphs have an input for it',
  ),
  lora: text(
    'OPTIONS',
    'adapters train, and the weights stay: KEY=VALUE joined by commas, as r=8,alpha=16,targets=q_proj,v_proj (keys: ' +
      "r, alpha, dropout, targets, exclude, modules-to-save, bias, init, rs-lora); or a PEFT adapter's " +
      'adapter_config.json',
  ),
  head: text('CLASS', "a new last layer, for classes of one's own: given for each of them, in their order", {
    multiple: true,
  }),
  'head-at': text(
    'NAME',
    "the value that is the new layer's features (default: what the last layer with a weight reads)",
  ),
  'head-hidden': text('N', 'units of a layer before the new last one (default: 0, there is none)'),
  optimizer: text('NAME', optimizerHelp),
  lr: text('RATE', "learning rate (default: the optimizer's)"),
  'weight-decay': text('W', "how strongly weights are drawn to 0 (default: the optimizer's)"),
  momentum: text('M', 'of sgd and rmsprop (default: 0)'),
  'clip-grad-norm': text('N', 'scales the gradients together down to this L2 norm (default: not at all)'),
  'clip-grad-value': text('V', 'clamps each element of a gradient to -V … V (default: not at all)'),
  train: text(
    'GLOB',
    'parameters to train (default: what layers read as weight, bias or scale; inspect shows it; with --head its own)',
    { multiple: true },
  ),
  freeze: text('GLOB', 'parameters to leave as they are; wins over --train', { multiple: true }),
  batch: text('HOW', "free (default): a batch that the model's exporter has fixed becomes free; or fixed"),
  'batch-norm': text(
    'HOW',
    'frozen (default): a BatchNormalization that does not train leaves its statistics alone; or update',
  ),
  untie: flag('parameters that began equal and that the exporter merged without a trace are several again'),
  'quantize-frozen': text(
    'TYPE',
    'weights that do not train in fewer bits: int8, int4 or float16 (default: as they are)',
  ),
  output: text('NAME', 'a model output that training also gives (default: the first, for its accuracy)', {
    multiple: true,
  }),
  nominal: flag('a checkpoint of names alone; the page brings the values with loadParametersBuffer'),
  format: text('FORMAT', 'of the checkpoint: ort, which ONNX Runtime reads too, or trainlet; or compact: one file', {
    default: 'ort',
  }),
  'ort-format': flag("the three models beside as .ort files, ONNX Runtime's own format, for its builds without ONNX"),
  weights: text(
    'WEIGHTS',
    ".safetensors whose tensors take the place of MODEL's own weights, or the index of several (.json); with " +
      '--format compact also exact (default), float16 or int8: how it keeps parameters of two or more dims',
    { multiple: true },
  ),
  ...MODEL_OPTIONS,
  dim: text(
    'NAME=NUMBER',
    "a number for a free dim of MODEL's inputs, as height=224 (x[2]: dim 2 of x, if it has no name)",
    { multiple: true },
  ),
  plan: text(
    'NAME=DIMS',
    'makes nothing, and tells what memory a step takes that is fed so, as input_ids=1x128: given for each input, ' +
      'labels too. Files of external data need not be there',
    { multiple: true },
  ),
  out: text('DIR|FILE', 'where the files go, or the file', { short: 'o' }),
  force: flag('overwrites the files that are there'),
};

/** @param {string} place @param {Values} values */
export async function artifacts(place, values) {
  const { format, force, nominal, 'ort-format': ortFormat } = values;
  if (values.plan) return await plan(place, values);
  const out = needed(values, 'out');
  if (!FORMATS.includes(format)) throw new UsageError(`--format must be ${FORMATS.join(', ')}, not '${format}'`);
  if (weightsIn(values).type && format !== 'compact') throw new UsageError('--weights: it is for --format compact');
  if (nominal && format === 'trainlet')
    throw new UsageError('--nominal: a checkpoint of --format trainlet cannot be of names alone');
  if (ortFormat && format === 'compact') throw new UsageError('--ort-format: a compact file has no such models');
  if (format === 'compact') return await compact(place, out, values);
  await checkPlaces(Object.values({ ...ortFilesIn(out), ...artifactsIn(out) }).reverse(), force);
  const made = await makeFromOptions(place, values);
  const inOrtFormat = ortFormat && (await makeFromOptions(place, values, true));
  const checkpointState = format === 'ort' ? made.checkpointState : await ownCheckpoint(made);
  await writeArtifacts(out, { ...made, checkpointState }, force, inOrtFormat);
  say(`${out}: ${checkpointState.length.toLocaleString('en')} bytes of checkpoint`);
}

/** @param {string} model @param {Values} values */
async function plan(model, values) {
  const dims = Object.fromEntries(
    values.plan.map((/** @type {string} */ text) => {
      const [, name, shape] = /^(.+)=(\d+(?:x\d+)*)$/.exec(text) ?? [];
      if (!name) throw new UsageError(`--plan must be NAME=DIMS, as input_ids=1x128, not '${text}'`);
      return [name, shape.split('x').map(Number)];
    }),
  );
  const options = { ...(await artifactOptionsIn(values)), ...(await modelOptionsIn(model, values)), dims };
  const { stateBytes, arenaBytes, peakBytes } = await planMemory(model, options);
  const [state, arena, peak] = [stateBytes, arenaBytes, peakBytes].map((bytes) => bytes.toLocaleString('en'));
  say(`memory            state ${state}, arena ${arena}, peak ${peak} bytes`);
}

/** @param {string} place a model or a training directory @param {string} out @param {Values} values */
async function compact(place, out, values) {
  const old = checkpointBeside(out);
  await checkPlaces([out, old], values.force);
  const training = await trainingAt(place);
  const made = training ? asItIs(place, training, values) : await makeFromOptions(place, values);
  const bytes = await compactArtifacts(made, { weights: weightsIn(values).type });
  await writeWhole([{ file: out, bytes }], { overwrite: values.force });
  await rm(old, { force: true });
  say(`${out}: ${bytes.length.toLocaleString('en')} bytes`);
}

/** @param {string} place @param {Training} training @param {Values} values */
function asItIs(place, { artifacts }, values) {
  const option = [...OF_MODEL, ...ALSO_OF_MODEL].find((name) => values[name] !== undefined);
  if (weightsIn(values).files) throw new UsageError(`--weights: what is trained in ${place} has its own`);
  if (option) throw new UsageError(`--${option}: what is trained in ${place} is taken as it is`);
  return artifacts;
}

/** @param {ArtifactSources} made */
async function ownCheckpoint(made) {
  const session = await TrainingSession.create(made);
  try {
    return await session.saveCheckpoint();
  } finally {
    await session.release();
  }
}

/** Files of weights, and how a compact file keeps its own. @param {Values} values */
function weightsIn({ weights = [] }) {
  const isFile = (/** @type {string} */ source) => /\.(safetensors|json)$/i.test(source);
  const files = weights.filter(isFile);
  const type = weights.find((/** @type {string} */ weight) => !isFile(weight));
  return { files: files.length > 1 ? files : files[0], type };
}

const OF_CROSS_ENTROPY = ['ignore-index', 'label-smoothing'];

/** @param {Values} values @returns {LossType | LossOptions | undefined} */
function lossIn({ loss, ...values }) {
  const option = OF_CROSS_ENTROPY.find((name) => values[name] !== undefined);
  const sampleWeights = values['sample-weights'];
  if (option && loss !== 'cross-entropy') throw new UsageError(`--${option}: it is for --loss cross-entropy`);
  if (sampleWeights && !loss) throw new UsageError('--sample-weights: it is for a --loss');
  if (!option && !sampleWeights) return loss;
  const ignored = values['ignore-index'];
  return {
    type: loss,
    ignoreIndex: ignored === undefined ? ignored : wholeNumber('ignore-index', ignored, Number.MIN_SAFE_INTEGER),
    labelSmoothing: number('label-smoothing', values['label-smoothing'], { least: 0, most: 1 }),
    sampleWeights,
  };
}

/** @param {Values} values @returns {Record<string, number> | undefined} */
const dimsIn = ({ dim }) =>
  dim &&
  Object.fromEntries(
    dim.map((/** @type {string} */ text) => {
      const [, name, number] = /^(.+)=(\d+)$/.exec(text) ?? [];
      if (!name) throw new UsageError(`--dim must be NAME=NUMBER, as height=224, not '${text}'`);
      return [name, Number(number)];
    }),
  );

/** @param {Values} values @returns {HeadOptions | undefined} */
function headIn({ head, 'head-at': at, 'head-hidden': hidden }) {
  if (head) return { classes: head, at, hidden: hidden === undefined ? hidden : wholeNumber('head-hidden', hidden, 0) };
  if (at || hidden) throw new UsageError(`--head-${at ? 'at' : 'hidden'}: it is for --head CLASS`);
  return undefined;
}

/** @param {string} model @param {Values} values @param {boolean} [ortFormat] */
async function makeFromOptions(model, values, ortFormat) {
  const options = { ...(await artifactOptionsIn(values)), ortFormat };
  return await makeArtifacts(model, options, await modelOptionsIn(model, values));
}

/** @param {Values} values @returns {Promise<ArtifactOptions>} */
async function artifactOptionsIn(values) {
  const loss = lossIn(values);
  const { batch, nominal, untie, train: requiresGrad, freeze: frozen, output: additionalOutputs } = values;
  const batchNorm = values['batch-norm'];
  /** @type {OptimizerOptions} */
  const optimizer = {
    type: /** @type {OptimizerType} */ (values.optimizer),
    lr: number('lr', values.lr),
    weightDecay: number('weight-decay', values['weight-decay']),
    momentum: number('momentum', values.momentum),
    clipGradNorm: number('clip-grad-norm', values['clip-grad-norm']),
    clipGradValue: number('clip-grad-value', values['clip-grad-value']),
  };
  const lists = { requiresGrad, frozen, additionalOutputs };
  const [head, lora] = [headIn(values), await loraIn(values.lora)];
  const weights = weightsIn(values).files;
  const more = { weights, batch, batchNorm, quantizeFrozen: values['quantize-frozen'], untie, nominal };
  return { loss, optimizer, head, lora, freeDimensionOverrides: dimsIn(values), ...lists, ...more };
}

/** @param {string} model @param {ArtifactOptions} options @param {EngineOptions} engine */
export async function makeArtifacts(model, options, engine) {
  const type = typeof options.loss === 'object' ? options.loss.type : options.loss;
  const first =
    type === 'cross-entropy' && !options.additionalOutputs
      ? [options.head ? 'scores' : await firstOutput(model, engine)]
      : undefined;
  const made = await generateArtifacts(model, {
    ...options,
    additionalOutputs: first ?? options.additionalOutputs,
    ...engine,
  });
  if (!options.ortFormat) warn(made.warnings);
  return made;
}

/** @param {string} model @param {EngineOptions} options */
async function firstOutput(model, options) {
  const session = await InferenceSession.create(model, options);
  await session.release();
  return session.outputNames[0];
}
