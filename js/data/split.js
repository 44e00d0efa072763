/** Splits a data set into training and validation examples. */

import { checkKeys, nameOf, TrainletError } from '../base/errors.js';
import { sliceRows, takeRows } from '../base/rows.js';
import { isArrays, permutation, tensorsOf } from './dataset.js';

/** @import { Dataset, Feeds, FitOptions, ValueInfo, ValidationSplit } from '../types.js' */
/** @typedef {import('./dataset.js').Taken} Taken */

export const SPLIT_KEYS = /** @type {const} */ (['share', 'splitBy']);

/** @param {string} message */
const bad = (message) => new TrainletError('invalid-feed', `data set: ${message}`);

/**
 * The training and validation data: the data set that was given, or a share of the arrays.
 * @param {Dataset} data
 * @param {FitOptions['validation']} validation
 * @param {readonly ValueInfo[]} inputs of the graph that will be fed
 * @returns {[Dataset, Dataset | undefined]}
 */
export function splitData(data, validation, inputs) {
  if (typeof validation === 'number') return split(data, { share: validation }, inputs);
  if (typeof validation === 'object' && 'share' in validation) return split(data, validation, inputs);
  return [data, validation];
}

/**
 * @param {Dataset} data
 * @param {ValidationSplit} options
 * @param {readonly ValueInfo[]} inputs
 * @returns {[Dataset, Dataset]}
 */
function split(data, options, inputs) {
  checkKeys('validation', options, SPLIT_KEYS);
  const { share, splitBy = 'time' } = options;
  if (!isArrays(data)) throw bad('validation as a share needs whole arrays; give a validation data set');
  if (!(share > 0 && share < 1)) throw bad(`validation as a share must be between 0 and 1, not ${share}`);
  const tensors = tensorsOf(data, inputs);
  const examples = tensors[0][1].dims[0];
  const wanted = Math.round(examples * share);
  const isHeld =
    splitBy === 'time' ? (/** @type {number} */ i) => i >= examples - wanted : byGroup(splitBy, examples, wanted);
  const all = Array.from({ length: examples }, (_, i) => i);
  const held = all.filter(isHeld);
  if (!held.length || held.length === examples)
    throw bad(`a validation share of ${share} of ${examples} examples leaves one side empty`);
  return [
    examplesOf(
      tensors,
      all.filter((i) => !isHeld(i)),
    ),
    examplesOf(tensors, held),
  ];
}

/**
 * Whole groups, those that begin last, until there are so many examples.
 * @param {ArrayLike<unknown>} groups
 * @param {number} examples
 * @param {number} wanted
 */
function byGroup(groups, examples, wanted) {
  if (typeof groups === 'string' || groups?.length !== examples)
    throw bad(
      `splitBy is 'time' or an array with the group of each of the ${examples} examples, not ${nameOf(groups)}`,
    );
  /** @type {Map<unknown, number>} */
  const sizes = new Map();
  for (let i = 0; i < examples; i++) sizes.set(groups[i], (sizes.get(groups[i]) ?? 0) + 1);
  const held = new Set();
  let count = 0;
  for (const [group, size] of [...sizes].reverse()) {
    if (count >= wanted) break;
    held.add(group);
    count += size;
  }
  return (/** @type {number} */ i) => held.has(groups[i]);
}

/** @param {[string, Taken][]} tensors @param {number[]} rows @returns {{ inputs: Feeds }} */
const examplesOf = (tensors, rows) => ({
  inputs: Object.fromEntries(tensors.map(([name, tensor]) => [name, pick(tensor, rows)])),
});

/** A view of rows that lie side by side, otherwise a copy. @param {Taken} tensor @param {number[]} rows */
function pick(tensor, rows) {
  const [first, last] = [rows[0], rows[rows.length - 1]];
  return last - first + 1 === rows.length ? sliceRows(tensor, first, last + 1) : takeRows(tensor, rows);
}

/**
 * A share of the rows of each class, drawn; of fewer than five none is held out.
 * @param {ArrayLike<number>} labels the class of each row @param {number} share @param {number} seed
 * @returns {[kept: number[], held: number[]]} `kept` in their order
 */
export function drawRows(labels, share, seed) {
  const order = permutation(labels.length, seed, 0);
  const [kept, held] = [/** @type {number[]} */ ([]), /** @type {number[]} */ ([])];
  const byClass = /** @type {Map<number, number[]>} */ (new Map());
  for (const row of order) {
    const rows = byClass.get(labels[row]);
    if (rows) rows.push(row);
    else byClass.set(labels[row], [row]);
  }
  for (const c of [...byClass.keys()].sort((a, b) => a - b)) {
    const rows = /** @type {number[]} */ (byClass.get(c));
    const out = rows.length < 5 ? 0 : Math.max(Math.round(rows.length * share), Number(share > 0));
    for (let i = 0; i < rows.length; i++) (i < out ? held : kept).push(rows[i]);
  }
  return [kept.sort((a, b) => a - b), held];
}
