// The rows of the benchmark of operators: a line each, which makes of a size the inputs of one operator, with the
// attributes that networks give it.
//
//   name: (n) => [operator, inputs, attributes, more]      n floats of data, a power of two from 2^13 on
//   more: opset (18), outputs (1), rank of the output if not the first input's, flops (else it counts bytes)

import { batchBits, batchUnit } from '../golden/recipe.js';

const elements = (dims) => dims.reduce((a, b) => a * b, 1);
/** Numbers from low to high. */
function floats(dims, low = -1, high = 1, seed = 1) {
  const data = new Float32Array(elements(dims));
  for (let i = 0; i < data.length; i++) data[i] = low + (high - low) * batchUnit(seed, i);
  return { type: 'float32', dims, data };
}
/** Whole numbers from 0 to below `end`. */
function indices(dims, end) {
  const data = new BigInt64Array(elements(dims));
  for (let i = 0; i < data.length; i++) data[i] = BigInt(batchBits(7, i) % end);
  return { type: 'int64', dims, data };
}
const flags = (dims) => ({
  type: 'bool',
  dims,
  data: Uint8Array.from({ length: elements(dims) }, (_, i) => batchBits(3, i) & 1),
});
const constant = (tensor) => ({ ...tensor, constant: true });
const ints = (...list) => constant({ type: 'int64', dims: [list.length], data: BigInt64Array.from(list, BigInt) });
const scalar = (value) => constant({ type: 'float32', dims: [], data: Float32Array.of(value) });
const scales = (...list) => constant({ type: 'float32', dims: [list.length], data: Float32Array.from(list) });

const flat = (n, low, high) => floats([n], low, high);
/** (N, width) */
const lines = (n, width = 1024, seed = 1) => floats([n / width, width], -1, 1, seed);
/** (N, C, H, W) of n numbers: 8 × 32 × 32, 32 × 64 × 64, 8 × 128 × 64 × 64 */
const pictures = (n) =>
  floats(n <= 2 ** 13 ? [1, 8, 32, 32] : [Math.max(1, n / 2 ** 19), Math.min(128, n / 4096), 64, 64]);
/** (N, tokens, width) */
const tokens = (n) => floats([Math.max(1, n / 2 ** 17), Math.min(n, 2 ** 17) / 128, 128]);

const pool = (kernel, stride, pad) => ({
  kernel_shape: [kernel, kernel],
  strides: [stride, stride],
  pads: [pad, pad, pad, pad],
});
const resize = (mode, place, nearest) => ({
  mode,
  coordinate_transformation_mode: place,
  ...(nearest && { nearest_mode: nearest }),
});
/** Products of `rows` rows with a square matrix of n numbers. */
const square = (n) => 2 ** Math.floor(Math.log2(n) / 2);
const product = (rows) => (n) => {
  const width = square(n);
  return ['MatMul', [floats([rows, width]), constant(floats([width, n / width]))], {}, { flops: 2 * rows * n }];
};

export const ROWS = {
  Abs: (n) => ['Abs', [flat(n)], {}],
  'Add of a row': (n) => ['Add', [lines(n), floats([1024])], {}],
  'Add, same shapes': (n) => ['Add', [flat(n), floats([n], -1, 1, 2)], {}],
  ArgMax: (n) => ['ArgMax', [lines(n)], { axis: 1 }],
  'AveragePool 3×3': (n) => ['AveragePool', [pictures(n)], pool(3, 1, 1)],
  'Concat of channels': (n) => ['Concat', [pictures(n / 2), pictures(n / 2)], { axis: 1 }],
  CumSum: (n) => ['CumSum', [lines(n), ints(1)], {}],
  Exp: (n) => ['Exp', [flat(n, -8, 8)], {}],
  Floor: (n) => ['Floor', [flat(n, -9, 9)], {}],
  'Gather of rows': (n) => ['Gather', [lines(n, 64), indices([n / 64], n / 64)], {}],
  GatherElements: (n) => ['GatherElements', [lines(n), indices([n / 1024, 1024], 1024)], { axis: 1 }],
  'Gemm, 1 row, transposed': (n) => [
    'Gemm',
    [floats([1, n / square(n)]), constant(floats([square(n), n / square(n)]))],
    { transB: 1 },
    { flops: 2 * n },
  ],
  GlobalAveragePool: (n) => ['GlobalAveragePool', [pictures(n)], {}],
  HardSigmoid: (n) => ['HardSigmoid', [flat(n, -4, 4)], {}],
  LRN: (n) => ['LRN', [pictures(n)], { size: 5, alpha: { float: 1e-4 }, beta: { float: 0.75 }, bias: { float: 2 } }],
  'MatMul, 1 row': product(1),
  'MatMul, 8 rows': product(8),
  'MaxPool 3×3, stride 2': (n) => ['MaxPool', [pictures(n)], pool(3, 2, 1)],
  'Mul by a column': (n) => ['Mul', [lines(n), floats([n / 1024, 1])], {}],
  'Mul by a channel': (n) => ['Mul', [pictures(n), floats([pictures(n).dims[1], 1, 1])], {}],
  'Pad, reflect': (n) => ['Pad', [pictures(n), ints(0, 0, 1, 1, 0, 0, 1, 1)], { mode: 'reflect' }],
  'Pad, zeros': (n) => ['Pad', [pictures(n), ints(0, 0, 1, 1, 0, 0, 1, 1)], {}],
  'Pow 0.75': (n) => ['Pow', [flat(n, 0.1, 4), scalar(0.75)], {}],
  'ReduceMax, last axis': (n) => ['ReduceMax', [lines(n), ints(1)], {}],
  'ReduceMax, first axis': (n) => ['ReduceMax', [lines(n), ints(0)], {}],
  'ReduceMean, middle axis': (n) => ['ReduceMean', [tokens(n), ints(1)], {}],
  'ReduceSum, last axis': (n) => ['ReduceSum', [lines(n), ints(1)], {}],
  'Resize, linear': (n) => ['Resize', [pictures(n), null, scales(1, 1, 2, 2)], resize('linear', 'half_pixel')],
  'Resize, nearest': (n) => [
    'Resize',
    [pictures(n), null, scales(1, 1, 2, 2)],
    resize('nearest', 'asymmetric', 'floor'),
  ],
  ScatterElements: (n) => [
    'ScatterElements',
    [lines(n), indices([n / 1024, 256], 1024), floats([n / 1024, 256])],
    { axis: 1 },
  ],
  Sigmoid: (n) => ['Sigmoid', [flat(n, -8, 8)], {}],
  Sin: (n) => ['Sin', [flat(n, -9, 9)], {}],
  Sqrt: (n) => ['Sqrt', [flat(n, 0, 9)], {}],
  Tanh: (n) => ['Tanh', [flat(n, -4, 4)], {}],
  Tile: (n) => ['Tile', [lines(n / 4, 64), ints(1, 4)], {}],
  TopK: (n) => ['TopK', [lines(n), ints(10)], {}, { outputs: 2 }],
  'Transpose, NCHW to NHWC': (n) => ['Transpose', [pictures(n)], { perm: [0, 2, 3, 1] }],
  'Transpose of heads': (n) => ['Transpose', [floats([n / 4096, 32, 4, 32])], { perm: [0, 2, 1, 3] }],
  Where: (n) => ['Where', [flags([n]), flat(n), floats([n], -1, 1, 2)], {}, { opset: 16 }],
};
