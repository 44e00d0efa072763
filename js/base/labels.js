/** Class labels in the forms that people have them: made the indices that a loss reads, or refused in a sentence. */

import { badFeed as bad } from './errors.js';

/** @import { DataType, TypedArray, ValueInfo } from '../types.js' */
/** @typedef {import('./tensor.js').Taken<TypedArray>} Taken */

/** True if an input takes class indices. @param {ValueInfo} input */
export const takesIndices = ({ name, type, labels }) =>
  (type === 'int64' || type === 'int32') && (labels !== undefined || name === 'labels');

/**
 * Indices of another type, a column of them, or one-hot rows.
 * @param {string} what
 * @param {Taken} tensor
 * @param {ValueInfo} input which takesIndices
 * @returns {Taken}
 */
export function indicesOf(what, tensor, input) {
  const { type, dims } = tensor;
  const isBits = type === 'float16' || type === 'bfloat16';
  if (isBits) throw bad(`${what} wants ${input.type}, ${type} came`);
  const isWider = dims.length === input.dims.length + 1;
  if (!isWider) return type === input.type ? tensor : asType(what, tensor.data, dims, input);
  const axis = input.labels?.axis === -1 ? dims.length - 1 : 1;
  const rest = dims.toSpliced(axis, 1);
  const classes = dims[axis];
  if (classes === 1) return asType(what, tensor.data, rest, input);
  const inner = dims.slice(axis + 1).reduce((product, d) => product * d, 1);
  const hot = Array.from({ length: rest.reduce((product, d) => product * d, 1) }, (_, i) =>
    hotAt(tensor.data, classes, Math.floor(i / inner) * classes * inner + (i % inner), inner),
  );
  const odd = hot.indexOf(-1);
  if (odd < 0) return asType(what, hot, rest, input);
  throw bad(
    `${what} wants class indices, ${input.type} [${input.dims.join(', ')}]; ${type} [${dims.join(', ')}] came, which ` +
      `is not one-hot in row ${Math.floor(odd / inner)}: give the index of each row's class, as its largest element is`,
  );
}

/**
 * The one place of a row that is 1 where all others are 0; -1 where they are not.
 * @param {TypedArray} data
 * @param {number} classes
 * @param {number} from
 * @param {number} step from one class to the next
 */
function hotAt(data, classes, from, step) {
  let hot = -1;
  for (let c = 0; c < classes; c++) {
    const value = Number(data[from + c * step]);
    if (value === 0) continue;
    if (value !== 1 || hot >= 0) return -1;
    hot = c;
  }
  return hot;
}

/**
 * @param {string} what
 * @param {ArrayLike<number | bigint>} values
 * @param {readonly number[]} dims
 * @param {ValueInfo} input
 * @returns {Taken}
 */
function asType(what, values, dims, { type }) {
  const data = type === 'int64' ? new BigInt64Array(values.length) : new Int32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const value = Number(values[i]);
    const fits = type === 'int64' ? Number.isSafeInteger(value) : value === (value | 0);
    if (!fits)
      throw bad(`${what}: element ${i} is ${values[i]}, which is no class: labels are class indices, whole numbers`);
    data[i] = type === 'int64' ? BigInt(value) : value;
  }
  return { type: /** @type {DataType} */ (type), data, dims };
}

/** True of an input that a loss takes beside the model's own. @param {ValueInfo} input */
export const isLabel = ({ name, labels }) => labels !== undefined || name === 'labels' || name === 'target';

/** True of the model's own inputs. @param {ValueInfo} input */
export const isOwn = (input) => !isLabel(input) && !input.sampleWeight;
