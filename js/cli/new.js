/** `trainlet new`: an untrained network from the command line, of layers of trainlet/layers. */

import {
  add,
  batchNormalization,
  conv1d,
  conv2d,
  dense,
  dropout,
  embedding,
  globalAveragePooling1d,
  globalAveragePooling2d,
  input,
  layerNormalization,
  lstm,
  maxPooling1d,
  maxPooling2d,
  model,
  multiHeadAttention,
  summary,
} from '../layers/index.js';
import { checkPlaces, writeWhole } from './files.js';
import { flag, text } from './help.js';
import { needed, number, wholeNumber, wholeNumbers } from './options.js';
import { UsageError } from './run-main.js';
import { say } from './terminal.js';

/** @import { SymbolicTensor } from '../types/layers/index.js' */
/** @import { Values } from './commands.js' */
/** @import { OptionTable } from './help.js' */
/** @typedef {{ units: number[], heads: number, rate: number }} Sizes */
/**
 * @typedef {object} Kind
 * @property {string} wants its inputs, for messages
 * @property {number[]} ranks how many dims these have
 * @property {number[]} units by default
 * @property {(x: SymbolicTensor, sizes: Sizes) => SymbolicTensor} build all but the last layer
 */

/** @param {SymbolicTensor} x @param {number} rate */
const dropped = (x, rate) => (rate ? dropout(rate)(x) : x);

/** @param {SymbolicTensor} x @param {Sizes} sizes */
const mlp = (x, { units, rate }) => units.reduce((y, n) => dropped(dense(n, { activation: 'relu' })(y), rate), x);

/**
 * Blocks of convolution, normalization and pooling, then the mean of each channel.
 * @param {SymbolicTensor} x @param {Sizes} sizes
 */
function cnn(x, { units, rate }) {
  const isSignal = x.shape.length === 3;
  const block = (/** @type {SymbolicTensor} */ y, /** @type {number} */ filters) => {
    const convolution = (isSignal ? conv1d : conv2d)(filters, 3, { padding: 'same', activation: 'relu' });
    return (isSignal ? maxPooling1d : maxPooling2d)(2, { padding: 'same' })(batchNormalization()(convolution(y)));
  };
  const pooled = (isSignal ? globalAveragePooling1d : globalAveragePooling2d)()(units.reduce(block, x));
  return dropped(pooled, rate);
}

/** @param {SymbolicTensor} x @param {Sizes} sizes */
const recurrent = (x, { units, rate }) =>
  units.reduce((y, n, i) => dropped(lstm(n, { returnSequences: i < units.length - 1 })(y), rate), x);

/**
 * A convolution, which tells the order of the steps, then blocks of attention, then the mean over time.
 * @param {SymbolicTensor} x @param {Sizes} sizes
 */
function transformer(x, { units, heads, rate }) {
  const last = /** @type {const} */ ({ dataFormat: 'channels_last' });
  const block = (/** @type {SymbolicTensor} */ y, /** @type {number} */ width) => {
    if (width % heads) throw new UsageError(`--units: ${width} is no multiple of the ${heads} heads`);
    const wide = y.shape.at(-1) === width ? y : dense(width)(y);
    const seen = layerNormalization()(add()([wide, multiHeadAttention(heads, width / heads, { dropout: rate })(wide)]));
    const thought = dense(width)(dense(2 * width, { activation: 'gelu' })(seen));
    return layerNormalization()(add()([seen, dropped(thought, rate)]));
  };
  const first = conv1d(units[0], 3, { padding: 'same', ...last })(x);
  return globalAveragePooling1d(last)(units.reduce(block, first));
}

/** @type {Record<string, Kind>} */
const KINDS = {
  mlp: { wants: 'FEATURES', ranks: [1], units: [64, 64], build: mlp },
  cnn: { wants: 'CHANNELS,HEIGHT,WIDTH or CHANNELS,LENGTH', ranks: [2, 3], units: [32, 64], build: cnn },
  lstm: { wants: 'TIME,FEATURES', ranks: [2], units: [64], build: recurrent },
  transformer: { wants: 'TIME,FEATURES', ranks: [2], units: [64, 64], build: transformer },
};

export const NEW_USAGE = `trainlet new mlp|cnn|lstm|transformer --inputs DIMS -o MODEL [options]
Writes an untrained network, which artifacts takes, and prints its layers. Its weights are drawn as in Keras.
  mlp          dense layers over a row of features
  cnn          convolutions over pictures, or over signals of several channels
  lstm         recurrent layers over steps of features, or over tokens
  transformer  blocks of attention over steps of features, or over tokens`;

/** @type {OptionTable} */
export const NEW_OPTIONS = {
  inputs: text(
    'DIMS',
    'the shape of an example: 13 (features), 3,32,32 (channels, height, width), 6,100 (channels, length) or, for ' +
      'lstm and transformer, 20,8 (time, features); with --vocabulary the number of tokens',
  ),
  classes: text('N', 'outputs: scores of so many classes, or numbers', { default: '1' }),
  units: text(
    'NUMBERS',
    'units of each layer, filters of each convolution or the width of each block, joined by commas (default: 64,64 ' +
      'of mlp and transformer, 32,64 of cnn, 64 of lstm)',
  ),
  heads: text('N', 'heads of the attention of transformer', { default: '4' }),
  vocabulary: text('N', 'the inputs of lstm or transformer are tokens, numbers below N, each with a learned vector'),
  dropout: text('RATE', 'share of numbers that training sets to zero', { default: '0' }),
  seed: text('N', 'the same weights each time (default: others each time)'),
  name: text('NAME', 'name of the graph (default: the kind)'),
  out: text('MODEL', 'where the model goes', { short: 'o' }),
  force: flag('overwrites a file that is there'),
};

/** @param {string} kind @param {Values} values */
export async function runNew(kind, values) {
  if (!Object.hasOwn(KINDS, kind))
    throw new UsageError(`there is no network '${kind}'; there are ${Object.keys(KINDS).join(', ')}`);
  const [{ build, units }, out] = [KINDS[kind], needed(values, 'out')];
  const [x, tokens] = inputOf(kind, values);
  const sizes = {
    units: wholeNumbers('units', values.units, 1) ?? units,
    heads: wholeNumber('heads', values.heads, 1),
    rate: /** @type {number} */ (number('dropout', values.dropout, { least: 0, most: 0.99 })),
  };
  const outputs = dense(wholeNumber('classes', values.classes, 1), { name: 'scores' })(build(tokens, sizes));
  const seed = values.seed === undefined ? undefined : wholeNumber('seed', values.seed, 0);
  const bytes = await model({ inputs: x, outputs, seed, name: values.name ?? kind });
  await checkPlaces([out], values.force);
  await writeWhole([{ file: out, bytes }], { overwrite: values.force });
  for (const line of (await summary(bytes)).split('\n')) say(line);
}

/** The input, and what layers take: it, or vectors of its tokens. @param {string} kind @param {Values} values */
function inputOf(kind, values) {
  const { wants, ranks, units } = KINDS[kind];
  const dims = /** @type {number[]} */ (wholeNumbers('inputs', needed(values, 'inputs'), 1));
  if (values.vocabulary === undefined) {
    if (!ranks.includes(dims.length)) throw new UsageError(`--inputs of ${kind} are ${wants}, not ${dims.join(',')}`);
    const x = input(dims, { name: 'input' });
    return [x, x];
  }
  if (kind !== 'lstm' && kind !== 'transformer') throw new UsageError('--vocabulary is for lstm and transformer');
  if (dims.length !== 1) throw new UsageError(`--inputs with --vocabulary are the number of tokens, not ${dims}`);
  const x = input(dims, { name: 'input', dtype: 'int64' });
  const width = wholeNumbers('units', values.units, 1)?.[0] ?? units[0];
  return [x, embedding(wholeNumber('vocabulary', values.vocabulary, 1), width)(x)];
}
