/**
 * Says more about errors of generateArtifacts: the name here of a loss or optimizer of other libraries, and why no
 * parameter of a model trains.
 */

import { suggestion, TrainletError } from '../base/errors.js';
import { readSource } from '../sources/source.js';
import { listed, quantizedIn } from './quantized-weights.js';

/** @import { ArtifactOptions, EngineOptions, ModelParameter, Source } from '../types.js' */

/** Losses of Keras, TensorFlow.js and PyTorch, in lower-case letters and digits. */
const LOSSES = /** @type {[string, RegExp][]} */ ([
  ['bce-with-logits', /^(binary|sigmoid)crossentropy|^bce/],
  ['cross-entropy', /crossentropy|^nll|^ce(loss)?$/],
  ['mse', /^meansquarederror|^mse|^l2/],
  ['l1', /^meanabsoluteerror|^mae|^absolutedifference|^l1/],
  ['huber', /^huber|^smoothl1/],
]);

/**
 * Adds a suggestion or the reason to the message of an error; others stay as they are.
 * @param {unknown} error @param {Source} model @param {ArtifactOptions & EngineOptions} options
 * @param {() => Promise<readonly ModelParameter[]>} parametersOf the model
 * @returns {Promise<unknown>} the error
 */
export async function explain(error, model, options, parametersOf) {
  if (!(error instanceof TrainletError)) return error;
  if (!error.message.startsWith('no parameter is left to train')) return retold(error, suggestionFor(error.message));
  const [odd, quantized] = await Promise.all([
    parametersOf().then(notFinite, () => []),
    readSource('model', model, { signal: options.signal }).then(quantizedIn, () => []),
  ]);
  const parts = odd.length ? [`values that are NaN or infinite are in ${listed(odd)}`] : [];
  if (quantized.length)
    parts.push(
      `quantized weights do not train, as ${listed(quantized)}: ` +
        'take the model as it was before it was quantized, or give it a new head, as fineTune does',
    );
  return retold(error, parts.map((part) => `; ${part}`).join(''));
}

/** The error with more words, where it is printed too. @param {TrainletError} error @param {string} more */
function retold(error, more) {
  const { message } = error;
  error.message += more;
  error.stack = error.stack?.replace(message, () => error.message);
  return error;
}

/** @param {string} message */
function suggestionFor(message) {
  if (/^there is no option 'optimizer\.learning_?rate'/i.test(message)) return ' (is it lr?)';
  const [, what, name, others] = /^option (loss|optimizer).*type: '(.*)' is not (.*)$/.exec(message) ?? [];
  if (!what) return '';
  const known = others.split(/, | or /);
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '');
  const [loss] = (what === 'loss' && LOSSES.find(([, pattern]) => pattern.test(plain))) || [];
  return loss ? ` (is it ${loss}?)` : suggestion(name, known);
}

/** @param {readonly ModelParameter[]} parameters */
const notFinite = (parameters) =>
  parameters.filter(({ reason }) => reason?.includes('NaN')).map(({ name }) => `'${name}'`);
