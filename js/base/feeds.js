/** Feeds: the tensors of a run by the names of its inputs, each checked against its input. */

import { badFeed as bad, nameOf } from './errors.js';
import { indicesOf, isOwn, takesIndices } from './labels.js';
import { flatten, looksLikeTensor } from './nested.js';
import { check, convert } from './tensor.js';

/** @import { DataType, Feeds, TensorLike, TypedArray, ValueInfo } from '../types.js' */
/** @import { Taken } from './tensor.js' */

/** @param {readonly ValueInfo[]} values */
const wishes = (values) => values.map((value) => `'${value.name}' (${describeInfo(value)})`).join(', ');

/** @param {ValueInfo} value */
export const describeInfo = ({ type, dims, sequence, optional }) =>
  `${optional ? 'optional ' : ''}${sequence ? 'sequence of ' : ''}${type} [${dims.join(', ')}]`;

/**
 * The tensors of the feeds that are there, nested ones flattened, each checked and known to the graph; an array of them
 * for a sequence. A tensor by itself is the only input.
 * @param {Feeds | TensorLike} feeds
 * @param {readonly ValueInfo[]} inputs
 * @returns {[string, Taken | Taken[]][]}
 */
export function bind(feeds, inputs) {
  const isList = Array.isArray(feeds) || ArrayBuffer.isView(feeds);
  const isAlone = looksLikeTensor(feeds);
  const own = inputs.filter(isOwn);
  if (isAlone && own.length === 1) return bind({ [own[0].name]: feeds }, inputs);
  if (feeds === null || typeof feeds !== 'object' || isList || isAlone)
    throw bad(`feeds must be an object of tensors by name: ${wishes(inputs)}`);
  const known = new Map(inputs.map((input) => [input.name, input]));
  const find = (/** @type {string} */ path) => known.get(path);
  const flat = Object.entries(feeds);
  const named = flat.every(([name]) => find(name)) ? flat : flatten(feeds, (path) => find(path) !== undefined);
  /** @type {[string, Taken | Taken[]][]} */
  const bound = [];
  for (const [name, value] of named) {
    const input = find(name);
    if (!input) throw bad(`there is no input '${name}'; wanted are ${wishes(inputs)}`);
    if (value !== null && (value !== undefined || !input.optional)) bound.push([name, checkFeed(input, value)]);
  }
  return bound;
}

const AS_INDICES = ': give the index of each label in your list of classes, as classes.indexOf(label)';

/** @param {ValueInfo} input @param {unknown} value */
function checkFeed(input, value) {
  const { name, type, dims, sequence, map } = input;
  const what = `input '${name}'`;
  const checkItem = (/** @type {string} */ title, /** @type {unknown} */ item) => {
    const tensor = check(title, item);
    if (!map && (tensor.type === 'string') !== (type === 'string'))
      throw bad(`${title} wants ${type}, ${tensor.type} came${takesIndices(input) ? AS_INDICES : ''}`);
    return tensor;
  };
  if (sequence && Array.isArray(value)) return value.map((item, i) => checkItem(`${what}, item ${i}`, item));
  if (sequence) throw bad(`${what} is a sequence: it must be an array of tensors`);
  if (Array.isArray(value)) throw bad(`${what} must be a tensor, not an array: new Tensor('${type}', elements, dims)`);
  if (ArrayBuffer.isView(value))
    throw bad(`${what} must be a tensor, not ${nameOf(value)}: new Tensor(elements, dims)`);
  const isOne = !dims.length && typeof value !== 'object';
  const tensor = checkItem(
    what,
    isOne ? { type, data: convert(/** @type {DataType} */ (type), [value]), dims } : value,
  );
  return takesIndices(input) ? indicesOf(what, /** @type {Taken<TypedArray>} */ (tensor), input) : tensor;
}
