/** Finds the inputs of a decoder-only model, and makes tensors for them. */

import { invalid } from '../base/errors.js';
import { describeInfo } from '../base/feeds.js';
import { arrayOf } from '../base/tensor.js';

/** @import { DataType, TypedArray, ValueInfo } from '../types.js' */
/** @typedef {{ type: DataType, data: TypedArray, dims: number[] }} Plain */
/** @typedef {{ input: ValueInfo, axis: number }} Past keys or values of earlier tokens, which are along that axis */
/**
 * @typedef {object} Decoder
 * @property {ValueInfo} ids (batch, sequence)
 * @property {ValueInfo} [mask] (batch, past + sequence): 1 where there is a token
 * @property {ValueInfo} [positions] (batch, sequence)
 * @property {ValueInfo} [kept] of how many positions there are to be scores; 0: of all
 * @property {ValueInfo} [branch] whether there is a past, as Optimum's merged decoders ask
 * @property {Past[]} past
 */

const INTEGERS = ['int64', 'int32'];

/** @param {ValueInfo} input */
const isLabel = ({ name, labels, sampleWeight }) => labels || sampleWeight || name === 'labels' || name === 'target';

/**
 * @param {string} where
 * @param {readonly ValueInfo[]} inputs
 * @returns {Decoder}
 */
export function decoderOf(where, inputs) {
  const named = (/** @type {string} */ name) => inputs.find((input) => input.name === name);
  const [mask, positions, kept] = [named('attention_mask'), named('position_ids'), named('num_logits_to_keep')];
  const branch = named('use_cache_branch');
  const isIds = (/** @type {ValueInfo} */ input) =>
    INTEGERS.includes(input.type) &&
    input.dims.length === 2 &&
    !isLabel(input) &&
    ![mask, positions].includes(input) &&
    !isPast(input);
  const ids = named('input_ids') ?? only(inputs.filter(isIds));
  if (!ids)
    throw invalid(
      `${where}: wanted a model of token ids, with an input 'input_ids' (batch, sequence); it takes ` +
        inputs.map((input) => `'${input.name}' (${describeInfo(input)})`).join(', '),
    );
  return { ids, mask, positions, kept, branch, past: inputs.filter(isPast).map(pastOf(where)) };
}

/** @template T @param {T[]} found */
const only = (found) => (found.length === 1 ? found[0] : undefined);

/** @param {ValueInfo} input */
const isPast = ({ name, dims }) => /^past(_key_values)?[._]/.test(name) && dims.length > 2;

/** @param {string} where @returns {(input: ValueInfo) => Past} */
const pastOf = (where) => (input) => {
  const free = input.dims.flatMap((dim, i) => (i && typeof dim === 'string' ? [i] : []));
  if (free.length === 1) return { input, axis: free[0] };
  throw invalid(`${where}: input '${input.name}' (${describeInfo(input)}) must have one free dim beside the batch`);
};

/**
 * Whole numbers as a tensor for an input.
 * @param {ValueInfo} input @param {ArrayLike<number>} values @param {number[]} dims
 */
export function tensorFor({ name, type }, values, dims) {
  const array = arrayOf(type);
  if (!array || (/at/.test(type) && !/32|64/.test(type)))
    throw invalid(`'${name}' is ${type}, not a type of whole numbers`);
  const data = /64$/.test(type) && type !== 'float64' ? array.from(values, BigInt) : array.from(values);
  return /** @type {Plain} */ ({ type, data, dims });
}

/** @param {ValueInfo} input @param {boolean} value @returns {Plain} */
export const flagFor = ({ dims }, value) => ({
  type: 'bool',
  data: Uint8Array.of(Number(value)),
  dims: dims.map(() => 1),
});

/** Nothing yet of what is kept for `rows` sequences. @param {Past} past @param {number} rows */
export function emptyFor({ input, axis }, rows) {
  const dims = input.dims.map((dim, i) => (i === 0 ? rows : i === axis ? 0 : Number(dim)));
  return /** @type {Plain} */ ({ type: input.type, data: new (arrayOf(input.type))(), dims });
}
