// Inputs for the rows of the benchmark of operators: numbers made by formula, constants, and shapes of n floats.

import { batchBits, batchUnit } from '../../support/recipe.js';

export const elements = (dims) => dims.reduce((a, b) => a * b, 1);
/** Numbers from low to high. */
export function floats(dims, low = -1, high = 1, seed = 1) {
  const data = new Float32Array(elements(dims));
  for (let i = 0; i < data.length; i++) data[i] = low + (high - low) * batchUnit(seed, i);
  return { type: 'float32', dims, data };
}
/** Whole numbers from `from` to below `end`. */
export function indices(dims, end, from = 0) {
  const data = new BigInt64Array(elements(dims));
  for (let i = 0; i < data.length; i++) data[i] = BigInt(from + (batchBits(7, i) % (end - from)));
  return { type: 'int64', dims, data };
}
const whole =
  (type, of) =>
  (dims, end, from = 0, seed = 7) => {
    const data = new of(elements(dims));
    for (let i = 0; i < data.length; i++) data[i] = from + (batchBits(seed, i) % (end - from));
    return { type, dims, data };
  };
export const ints32 = whole('int32', Int32Array);
export const bytes = whole('uint8', Uint8Array);
export const signedBytes = whole('int8', Int8Array);
export const flags = (dims, seed = 3) => ({ ...bytes(dims, 2, 0, seed), type: 'bool' });
/** The same number everywhere. */
export const filled = (dims, value) => ({ type: 'float32', dims, data: new Float32Array(elements(dims)).fill(value) });

export const constant = (tensor) => ({ ...tensor, constant: true });
export const weights = (...dims) => constant(floats(dims, -0.1, 0.1, 5));
export const ints = (...list) =>
  constant({ type: 'int64', dims: [list.length], data: BigInt64Array.from(list, BigInt) });
export const int = (value) => ({ ...ints(value), dims: [] });
export const int32s = (...list) => constant({ type: 'int32', dims: [list.length], data: Int32Array.from(list) });
export const scalar = (value) => constant({ type: 'float32', dims: [], data: Float32Array.of(value) });
export const numbers = (...list) => constant({ type: 'float32', dims: [list.length], data: Float32Array.from(list) });
export const byte = (value, type = 'uint8') =>
  constant({ type, dims: [], data: (type === 'uint8' ? Uint8Array : Int8Array).of(value) });

export const flat = (n, low, high, seed) => floats([n], low, high, seed);
/** (N, width) */
export const lines = (n, width = 1024, seed = 1) => floats([n / width, width], -1, 1, seed);
/** (N, C, H, W): 8 × 32 × 32, 32 × 64 × 64, 8 × 128 × 64 × 64 */
export const pictureDims = (n) =>
  n <= 2 ** 13 ? [1, 8, 32, n / 256] : [Math.max(1, n / 2 ** 19), Math.min(128, n / 4096), 64, 64];
export const pictures = (n, seed) => floats(pictureDims(n), -1, 1, seed);
/** (N, tokens, width): 64 × 128, 1024 × 128, 32 × 1024 × 128 */
export const tokenDims = (n) => [Math.max(1, n / 2 ** 17), Math.min(n, 2 ** 17) / 128, 128];
export const tokens = (n, seed) => floats(tokenDims(n), -1, 1, seed);
