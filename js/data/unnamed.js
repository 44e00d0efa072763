/** Tensors without names in a data set: each is the only input of its kind. */

import { badFeed } from '../base/errors.js';
import { isLabel, isOwn } from '../base/labels.js';
import { looksLikeTensor } from '../base/nested.js';

/** @import { Feeds, TensorLike, ValueInfo, WholeArrays } from '../types.js' */
/** @import { TrainingSession } from '../session/training.js' */

/** @param {ValueInfo} input */
const nameOf = ({ name }) => name;

/**
 * The tensors by name: `labels` by itself is the only input for labels, `inputs` by itself the only one that is left.
 * @param {WholeArrays} data @param {readonly ValueInfo[]} inputs @returns {Record<'inputs' | 'labels', Feeds>}
 */
export function byName(data, inputs) {
  const { inputs: x, labels: y = {} } = data;
  if (Array.isArray(y) && !looksLikeTensor(y[0])) throw badFeed(arraySentence(inputs.find(isLabel)));
  const isNamed = (/** @type {string} */ name) =>
    [x, y].some((feeds) => typeof feeds === 'object' && !looksLikeTensor(feeds) && name in (feeds ?? {}));
  const free = inputs.filter(({ name, sampleWeight }) => !sampleWeight && !isNamed(name));
  const marked = free.filter(isLabel);
  const left = looksLikeTensor(y) ? free.filter((input) => !isLabel(input)) : free;
  const own = marked.length ? marked : free;
  return { inputs: nameAlone('inputs', x, left.map(nameOf)), labels: nameAlone('labels', y, own.map(nameOf)) };
}

/** Texts and numbers are not taken: they do not say their type. @param {ValueInfo} [label] */
function arraySentence({ name, type } = { name: 'labels', type: 'float32', dims: [] }) {
  const values = type === 'int64' ? 'indices of classes' : 'numbers';
  return `data set: labels is an array; '${name}' wants a tensor: tensor(${values}, '${type}')`;
}

/**
 * A tensor by itself under the name of the only input.
 * @template {Feeds} F
 * @param {string} what @param {F | TensorLike} value @param {readonly string[]} names of the inputs that it may be
 * @returns {F | Record<string, TensorLike>}
 */
export function nameAlone(what, value, names) {
  if (!looksLikeTensor(value)) return /** @type {F} */ (value);
  if (names.length === 1) return { [names[0]]: value };
  throw badFeed(`data set: ${what} is a tensor without a name; wanted are tensors by name, of '${names.join("', '")}'`);
}

/**
 * A session's inputs beside labels and weights, by name.
 * @template {Feeds} F
 * @param {TrainingSession} session @param {F | TensorLike} inputs
 */
export function nameInputs({ trainingInputs }, inputs) {
  return nameAlone('inputs', inputs, trainingInputs.filter(isOwn).map(nameOf));
}

/** The tensors of a data set's labels. @param {Feeds | TensorLike} [labels] */
export const tensorsIn = (labels) =>
  /** @type {TensorLike[]} */ (looksLikeTensor(labels) ? [labels] : Object.values(labels ?? {}));
