/** Keras' initializers. Shapes are Keras', too: (inputs, outputs), for convolutions (…kernel, inputs, outputs). */

import { checkKeys, invalid, nameOf } from '../base/errors.js';
import { sizeOf } from '../base/tensor.js';
import { checkOneOf } from './layer.js';
import { normal } from './random.js';

/** @import { Initializer } from '../types/layers/index.js' */
/** @import { Part, Weight } from './layer.js' */
/** @import { Random } from './random.js' */
/** @typedef {(random: Random) => Float32Array<ArrayBuffer>} Draw */
/** @typedef {(shape: readonly number[], options: Record<string, any>) => Draw} Drawing */

/** Normal numbers are cut at ±8 deviations, truncated ones at ±2; these have the last number as their deviation. */
const [NORMAL_BOUND, TRUNCATED_BOUND, TRUNCATED_DEVIATION] = [8, 2, 0.87962566103423978];

/** @param {readonly number[]} shape @param {(random: Random) => number} one @returns {Draw} */
const each = (shape, one) => (random) => Float32Array.from({ length: sizeOf(shape) }, () => one(random));

/** @type {Drawing} */
const uniform = (shape, { minval = -0.05, maxval = 0.05 }) =>
  each(shape, (random) => minval + (maxval - minval) * random());

/** @param {number} bound @returns {Drawing} */
const normalWithin =
  (bound) =>
  (shape, { mean = 0, stddev = 0.05 }) =>
    each(shape, (random) => mean + stddev * normal(random, bound));

const truncated = normalWithin(TRUNCATED_BOUND);

/** The number of inputs and outputs of each unit. @param {readonly number[]} shape */
function fansOf(shape) {
  const field = sizeOf(shape.slice(0, -2));
  const [inputs, outputs] = [shape.at(-2) ?? shape[0] ?? 1, shape.at(-1) ?? 1];
  return { fan_in: inputs * field, fan_out: outputs * field };
}

const DISTRIBUTIONS = ['truncated_normal', 'untruncated_normal', 'uniform'];

/** @type {Drawing} */
function varianceScaling(shape, { scale = 1, mode = 'fan_in', distribution = 'truncated_normal' }) {
  const { fan_in, fan_out } = fansOf(shape);
  const fans = { fan_in, fan_out, fan_avg: (fan_in + fan_out) / 2 };
  checkOneOf('variance_scaling: mode', mode, Object.keys(fans));
  checkOneOf('variance_scaling: distribution', distribution, DISTRIBUTIONS);
  const variance = scale / Math.max(1, fans[/** @type {keyof typeof fans} */ (mode)]);
  const stddev = Math.sqrt(variance);
  if (distribution === DISTRIBUTIONS[0]) return truncated(shape, { stddev: stddev / TRUNCATED_DEVIATION });
  if (distribution === DISTRIBUTIONS[1]) return normalWithin(NORMAL_BOUND)(shape, { stddev });
  const limit = Math.sqrt(3 * variance);
  return uniform(shape, { minval: -limit, maxval: limit });
}

/** @param {number} scale @param {string} mode @param {string} distribution @returns {Drawing} */
const scaled = (scale, mode, distribution) => (shape) => varianceScaling(shape, { scale, mode, distribution });

/** Rows or columns, whichever are fewer, are orthogonal to each other (Gram-Schmidt). @type {Drawing} */
const orthogonal =
  (shape, { gain = 1 }) =>
  (random) => {
    const columns = shape.at(-1) ?? 1;
    const rows = sizeOf(shape) / columns;
    const [count, length] = rows < columns ? [rows, columns] : [columns, rows];
    const vectors = Array.from({ length: count }, () =>
      Float64Array.from({ length }, () => normal(random, NORMAL_BOUND)),
    );
    vectors.forEach((vector, i) => {
      for (const other of vectors.slice(0, i)) subtract(vector, other, dot(vector, other));
      const norm = Math.sqrt(dot(vector, vector));
      for (let k = 0; k < length; k++) vector[k] /= norm;
    });
    const at = (/** @type {number} */ row, /** @type {number} */ column) =>
      rows < columns ? vectors[row][column] : vectors[column][row];
    return Float32Array.from({ length: rows * columns }, (_, i) => gain * at(Math.floor(i / columns), i % columns));
  };

/** @param {Float64Array} a @param {Float64Array} b */
function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** a -= factor · b @param {Float64Array} a @param {Float64Array} b @param {number} factor */
function subtract(a, b, factor) {
  for (let i = 0; i < a.length; i++) a[i] -= factor * b[i];
}

/** @type {Drawing} */
const constant = (shape, { value = 0 }) => each(shape, () => value);

/** @type {Record<string, readonly [Drawing, ...string[]]>} with the names of its options */
const INITIALIZERS = {
  zeros: [constant],
  ones: [(shape) => constant(shape, { value: 1 })],
  constant: [constant, 'value'],
  uniform: [uniform, 'minval', 'maxval'],
  random_uniform: [uniform, 'minval', 'maxval'],
  normal: [normalWithin(NORMAL_BOUND), 'mean', 'stddev'],
  random_normal: [normalWithin(NORMAL_BOUND), 'mean', 'stddev'],
  truncated_normal: [truncated, 'mean', 'stddev'],
  variance_scaling: [varianceScaling, 'scale', 'mode', 'distribution'],
  glorot_uniform: [scaled(1, 'fan_avg', 'uniform')],
  glorot_normal: [scaled(1, 'fan_avg', 'truncated_normal')],
  he_uniform: [scaled(2, 'fan_in', 'uniform')],
  he_normal: [scaled(2, 'fan_in', 'truncated_normal')],
  lecun_uniform: [scaled(1, 'fan_in', 'uniform')],
  lecun_normal: [scaled(1, 'fan_in', 'truncated_normal')],
  orthogonal: [orthogonal, 'gain'],
};

/** The numbers of a weight, in ONNX's order. @param {Weight} weight @param {Random} random */
export function drawn({ title, key, dims, parts }, random) {
  const all = new Float32Array(sizeOf(dims));
  let at = 0;
  for (const part of parts) {
    const data = arranged(part, drawing(`${title}: its ${key}`, part)(random));
    all.set(data, at);
    at += data.length;
  }
  return all;
}

/** @param {string} what it is, for messages @param {Part} part @returns {Draw} */
function drawing(what, { shape, initializer }) {
  if (isNumbers(initializer)) return given(what, initializer, shape);
  const { type, ...options } = typeof initializer === 'string' ? { type: initializer } : (initializer ?? {});
  if (!Object.hasOwn(INITIALIZERS, type))
    throw invalid(
      `${what}: there is no initializer ${nameOf(type)}; there are ${Object.keys(INITIALIZERS).join(', ')}`,
    );
  const [make, ...keys] = INITIALIZERS[type];
  checkKeys(what, options, keys);
  return make(shape, options);
}

/**
 * True for weights that the caller gives.
 * @param {Initializer} initializer @returns {initializer is ArrayLike<number>}
 */
const isNumbers = (initializer) => ArrayBuffer.isView(initializer) || Array.isArray(initializer);

/** @param {string} what @param {ArrayLike<number>} numbers @param {readonly number[]} shape @returns {Draw} */
function given(what, numbers, shape) {
  if (numbers.length === sizeOf(shape)) return () => Float32Array.from(numbers);
  throw invalid(`${what} has the shape (${shape.join(', ')}): ${sizeOf(shape)} numbers, not ${numbers.length}`);
}

/** @param {Part} part @param {Float32Array<ArrayBuffer>} data */
function arranged({ shape, initializer, axes, gates, forget }, data) {
  if (forget && !isNumbers(initializer)) data.fill(1, forget, 2 * forget);
  const moved = axes ? transposed(data, shape, axes) : data;
  if (!gates) return moved;
  const size = moved.length / gates.length;
  return Float32Array.from(moved, (_, i) => moved[gates[Math.floor(i / size)] * size + (i % size)]);
}

/**
 * Moves axes, as NumPy's transpose: axis i of the result is axis `order[i]` of the data.
 * @param {Float32Array<ArrayBuffer>} data @param {readonly number[]} shape @param {readonly number[]} order
 * @returns {Float32Array<ArrayBuffer>}
 */
function transposed(data, shape, order) {
  const strides = order.map((axis) => sizeOf(shape.slice(axis + 1)));
  const dims = order.map((axis) => shape[axis]);
  const place = new Int32Array(order.length);
  let from = 0;
  return Float32Array.from(data, () => {
    const value = data[from];
    for (let axis = order.length - 1; axis >= 0; axis--) {
      from += strides[axis];
      if (++place[axis] < dims[axis]) break;
      from -= strides[axis] * dims[axis];
      place[axis] = 0;
    }
    return value;
  });
}
