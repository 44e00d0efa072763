/** Says why no parameter of a model trains: weights that are not finite, and quantized ones. */

import { TrainletError } from '../base/errors.js';
import { Message } from '../formats/protobuf.js';
import { readSource } from '../sources/source.js';

/** @import { ArtifactOptions, EngineOptions, ModelParameter, Source } from '../types.js' */

/** Fields of onnx.proto. */
const [GRAPH, INITIALIZER, DIMS, TYPE, NAME] = [7, 5, 1, 2, 8];
/** Types of quantized weights by their numbers in onnx.proto. */
const QUANTIZED = new Map([
  [2n, 'uint8'],
  [3n, 'int8'],
  [21n, 'uint4'],
  [22n, 'int4'],
]);
const NAMED = 3;

/**
 * Adds the reason to the message of an error about a model of which nothing trains; others stay as they are.
 * @param {unknown} error @param {Source} model @param {ArtifactOptions & EngineOptions} options
 * @param {() => Promise<readonly ModelParameter[]>} parametersOf the model
 * @returns {Promise<unknown>} the error
 */
export async function explain(error, model, options, parametersOf) {
  if (!(error instanceof TrainletError) || !error.message.startsWith('no parameter is left to train')) return error;
  const [odd, quantized] = await Promise.all([
    parametersOf().then(notFinite, () => []),
    readSource('model', model, { signal: options.signal }).then(quantizedIn, () => []),
  ]);
  const { message } = error;
  if (odd.length) error.message += `; values that are NaN or infinite are in ${listed(odd)}`;
  if (quantized.length)
    error.message +=
      `; quantized weights do not train, as ${listed(quantized)}: ` +
      'take the model as it was before it was quantized, or give it a new head, as fineTune does';
  error.stack = error.stack?.replace(message, () => error.message);
  return error;
}

/** @param {readonly ModelParameter[]} parameters */
const notFinite = (parameters) =>
  parameters.filter(({ reason }) => reason?.includes('NaN')).map(({ name }) => `'${name}'`);

/** Matrices of whole numbers of 8 or 4 bits. @param {Uint8Array} model */
function quantizedIn(model) {
  const initializers = new Message(model).message(GRAPH)?.messages(INITIALIZER) ?? [];
  return initializers.flatMap((tensor) => {
    const type = QUANTIZED.get(tensor.number(TYPE));
    return type && tensor.numbers(DIMS).length > 1 ? `'${tensor.text(NAME)}' (${type})` : [];
  });
}

/** @param {readonly string[]} names */
const listed = (names) =>
  names.slice(0, NAMED).join(', ') + (names.length > NAMED ? ` and ${names.length - NAMED} more` : '');
