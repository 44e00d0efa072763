/**
 * Options that go with a model wherever one is read: files that it keeps data in, and inputs that are always the same.
 */

import { InferenceSession, Tensor, TrainingSession } from '../index.js';
import { externalDataOf, trainingAt } from './files.js';
import { text } from './help.js';
import { UsageError } from './run-main.js';
import { warn } from './terminal.js';

/** @import { EngineOptions, NumberType, Tensor as Constant, ValueInfo } from '../types.js' */
/** @typedef {import('./commands.js').Values} Values */

/** @type {import('./help.js').OptionTable} */
export const MODEL_OPTIONS = {
  'external-data': text('FILE', 'a file in which MODEL keeps data', { multiple: true }),
  constant: text('NAME=VALUE', 'an input of MODEL that is always the same, as sr=16000', { multiple: true }),
};

/** @param {string} place a model, or what is trained @param {Values} values @returns {Promise<EngineOptions>} */
export async function modelOptionsIn(place, values) {
  const options = { externalData: externalDataOf(place, values['external-data']) };
  if (!values.constant) return options;
  const inputs = await inputsAt(place, options);
  const constants = constantsIn(values.constant, inputs);
  const unknown = Object.keys(pairsIn(values.constant)).find((name) => !(name in constants));
  if (unknown === undefined) return { ...options, constants };
  throw noInput(unknown, inputs);
}

/** @param {string} name @param {readonly ValueInfo[]} inputs */
export const noInput = (name, inputs) =>
  new UsageError(
    `--constant ${name}: there is no such input; there are ${inputs.map((input) => input.name).join(', ')}`,
  );

/** The inputs of the model or training at a place. @param {string} place @param {EngineOptions} options */
export async function inputsAt(place, options) {
  const training = await trainingAt(place);
  const session = training
    ? await TrainingSession.create(training.artifacts)
    : await InferenceSession.create(place, options);
  await session.release();
  warn(session.warnings);
  return session instanceof TrainingSession ? session.trainingInputs : session.inputs;
}

/**
 * Converts the constants that are inputs to the inputs' types.
 * @param {string[]} texts each NAME=VALUE
 * @param {readonly ValueInfo[]} inputs
 */
export function constantsIn(texts, inputs) {
  const pairs = Object.entries(pairsIn(texts)).flatMap(([name, value]) => {
    const input = inputs.find((input) => input.name === name);
    return input ? [[name, constantOf(input, value)]] : [];
  });
  return /** @type {Record<string, Constant>} */ (Object.fromEntries(pairs));
}

/** @param {string[]} texts */
export const pairsIn = (texts) =>
  Object.fromEntries(
    texts.map((text) => {
      const [, name, value] = /^(.+)=([^=]+)$/.exec(text) ?? [];
      if (name === undefined) throw new UsageError(`--constant must be NAME=VALUE, as sr=16000, not '${text}'`);
      return [name, value];
    }),
  );

/** Patterns of valid values. @type {Record<string, RegExp>} */
const KINDS = {
  bool: /^(true|false)$/,
  int: /^-?\d+$/,
  float: /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i,
};

/** A scalar, which also stands for an input of one element. @param {ValueInfo} input @param {string} text */
function constantOf({ name, type }, text) {
  const kind = type.replace(/^u?(int|float)(8|16|32|64)$/, '$1');
  const wide = /^u?int64$/.test(type);
  try {
    if (!KINDS[kind]?.test(text)) throw undefined;
    const value = kind === 'bool' ? text === 'true' : wide ? BigInt(text) : Number(text);
    return new Tensor(/** @type {NumberType} */ (type), /** @type {number[]} */ ([value]), []);
  } catch {
    throw new UsageError(`--constant ${name}: the input is ${type}, which ${text} is not`);
  }
}
