// Rows of products of matrices, of floats and of integers, and of elimination.

import { byte, bytes, constant, elements, floats, scalar, signedBytes, tokens, weights } from './inputs.js';

/** The rows of a square matrix of n numbers. */
const side = (n) => 2 ** Math.floor(Math.log2(n) / 2);
/** Products of `rows` rows with a matrix of n numbers. */
const product = (rows) => (n) => {
  const inputs = [floats([rows, side(n)]), constant(floats([side(n), n / side(n)]))];
  return ['MatMul', inputs, {}, { flops: 2 * rows * n }];
};
const transposed = (rows) => (n) => {
  const inputs = [floats([rows, n / side(n)]), constant(floats([side(n), n / side(n)]))];
  return ['Gemm', inputs, { transB: 1 }, { flops: 2 * rows * n }];
};
/** Queries, keys and values of tokens 192 wide, as in small vision transformers. */
const projected = (n) => {
  const rows = n <= 2 ** 13 ? 32 : n < 2 ** 20 ? 512 : 2048;
  return [
    'Gemm',
    [floats([rows, 192]), weights(576, 192), weights(576)],
    { transB: 1 },
    { flops: 2 * rows * 192 * 576 },
  ];
};
/** A row by 64 MB of numbers, where others are given 16 MB. */
const largeProduct = (n) => {
  const [name, inputs] = product(1)(n >= 2 ** 22 ? 4 * n : n);
  return [name, inputs, {}, { reads: true }];
};
/** Square matrices: 64, 256 and 1024 wide. */
const width = (n) => (n <= 2 ** 13 ? 64 : n < 2 ** 20 ? 256 : 1024);
const squares = (n) => [floats([width(n), width(n)]), floats([width(n), width(n)], -1, 1, 2)];
const cubed = (n) => ({ flops: 2 * width(n) ** 3 });
/** Heads of queries and keys: (heads, 64, 32), (16, 128, 64), (64, 256, 64) */
const heads = (n) => (n <= 2 ** 13 ? [4, 64, 32] : n < 2 ** 20 ? [16, 128, 64] : [64, 256, 64]);
const scores = (n) => {
  const [count, length, depth] = heads(n);
  return { flops: 2 * count * length * length * depth };
};
const einsum = (equation, of, flops) => (n) => ['Einsum', of(n), { equation }, flops?.(n)];
const queries = (n, seed) => floats([1, ...heads(n)], -1, 1, seed);
/** Matrices of 8 by 8 that can be inverted. */
const small = (n) => {
  const data = floats([n / 64, 8, 8]);
  for (let i = 0; i < data.data.length; i += 9) data.data[i - (i % 64) + ((i % 64) % 8) * 9] += 4;
  return data;
};
/** `rows` rows times a quantized matrix in blocks of 32, of so many bits. */
const inBits = (bits, rows) => (n) => {
  const [depth, columns] = [side(n), n / side(n)];
  const blocks = depth / 32;
  return [
    'com.microsoft.MatMulNBits',
    [
      floats([rows, depth]),
      constant(bytes([columns, blocks, (32 * bits) / 8], 256)),
      constant(floats([columns * blocks], 0.01, 0.1)),
    ],
    { K: depth, N: columns, bits, block_size: 32 },
    { flops: 2 * rows * n },
  ];
};
const integers = (rows) => (n) => [
  'MatMulInteger',
  [bytes([rows, side(n)], 255), constant(signedBytes([side(n), n / side(n)], 100, -100)), byte(128), byte(0, 'int8')],
  {},
  { flops: 2 * rows * n },
];
/**
 * int8 weights (K, N), or (N, K), with a scale; onnxruntime-web has them as float32. x is rounded to 16 bits, so that a
 * sum of 2,000 products may differ in its third digit behind the point.
 */
const narrow = (rows, transB) => (n) => {
  const [depth, columns] = [side(n), n / side(n)];
  const w = signedBytes(transB ? [columns, depth] : [depth, columns], 100, -100);
  const wide = { type: 'float32', dims: w.dims, data: Float32Array.from(w.data, (v) => v * 0.015625) };
  const x = floats([rows, depth]);
  return [
    'com.trainlet.WeightOnlyMatMul',
    [x, constant(w), scalar(0.015625)],
    { transB },
    { flops: 2 * rows * n, peer: ['Gemm', [x, constant(wide)], { transB }], agree: 2e-3 },
  ];
};
const activated = (op, attributes, more) => (n) => {
  const [a, b] = squares(n);
  return [op, [a, constant(b), weights(width(n))], attributes, { ...cubed(n), ...more }];
};

export const PRODUCTS = {
  'MatMul, 1 row': product(1),
  'MatMul, 1 row by 64 MB': largeProduct,
  'MatMul, 2 rows': product(2),
  'MatMul, 3 rows': product(3),
  'MatMul, 4 rows': product(4),
  'MatMul, 8 rows': product(8),
  'MatMul, 64 rows': (n) => product(64)(Math.min(n, 2 ** 21)),
  'MatMul of squares': (n) => ['MatMul', squares(n), {}, cubed(n)],
  'MatMul of squares, one constant': (n) => ['MatMul', [squares(n)[0], constant(squares(n)[1])], {}, cubed(n)],
  'MatMul of heads': (n) => {
    const [count, length, depth] = heads(n);
    return ['MatMul', [queries(n), floats([1, count, depth, length], -1, 1, 2)], {}, scores(n)];
  },
  'MatMul of tokens': (n) => [
    'MatMul',
    [tokens(Math.min(n, 2 ** 20)), weights(128, 256)],
    {},
    { flops: 2 * Math.min(n, 2 ** 20) * 256 },
  ],
  'MatMul, many small ones': (n) => [
    'MatMul',
    [floats([n / 64, 8, 8]), floats([n / 64, 8, 8], -1, 1, 2)],
    {},
    { flops: 16 * n },
  ],
  'MatMul by a vector': (n) => [
    'MatMul',
    [floats([n / side(n), side(n)]), floats([side(n)])],
    {},
    { flops: 2 * n, rank: 1 },
  ],
  'Gemm, 1 row, transposed': transposed(1),
  'Gemm, 8 rows, transposed': transposed(8),
  'Gemm with a bias': activated('Gemm', {}),
  'Gemm, transposed, with a bias': activated('Gemm', { transB: 1 }),
  'Gemm of tokens, 192 to 576': projected,
  'Gemm, the first transposed': activated('Gemm', { transA: 1 }),
  'com.microsoft.FusedGemm with Relu': activated('com.microsoft.FusedGemm', { activation: 'Relu' }, { gradients: 0.1 }),
  'com.microsoft.FusedMatMul, transposed': (n) => [
    'com.microsoft.FusedMatMul',
    squares(n),
    { transB: 1, alpha: { float: 0.5 } },
    cubed(n),
  ],
  'com.microsoft.FusedMatMul of heads': (n) => [
    'com.microsoft.FusedMatMul',
    [queries(n), queries(n, 2)],
    { transB: 1, alpha: { float: 0.125 } },
    scores(n),
  ],
  'Einsum bij,bjk->bik': einsum(
    'bij,bjk->bik',
    (n) => [floats(heads(n)), floats([heads(n)[0], heads(n)[2], heads(n)[1]], -1, 1, 2)],
    scores,
  ),
  'Einsum bhid,bhjd->bhij': einsum('bhid,bhjd->bhij', (n) => [queries(n), queries(n, 2)], scores),
  'Einsum bihd,bjhd->bhij': einsum(
    'bihd,bjhd->bhij',
    (n) => {
      const [count, length, depth] = heads(n);
      return [floats([1, length, count, depth]), floats([1, length, count, depth], -1, 1, 2)];
    },
    scores,
  ),
  'Einsum bi,bi->b': einsum(
    'bi,bi->b',
    (n) => [floats([n / 1024, 1024]), floats([n / 1024, 1024], -1, 1, 2)],
    () => ({ rank: 1 }),
  ),
  'Einsum ij->ji': einsum('ij->ji', (n) => [floats([side(n), n / side(n)])]),
  'Einsum i,j->ij': einsum(
    'i,j->ij',
    (n) => [floats([side(n)]), floats([n / side(n)])],
    () => ({ rank: 2 }),
  ),
  Det: (n) => ['Det', [small(n)], {}, { rank: 1 }],
  'com.microsoft.Inverse': (n) => ['com.microsoft.Inverse', [small(n)], {}, { gradients: 0.01 }],
  'com.microsoft.CDist': (n) => [
    'com.microsoft.CDist',
    [floats([side(n), 16]), floats([n / side(n), 16], -1, 1, 2)],
    { metric: 'euclidean' },
    { flops: 32 * n },
  ],
  'MatMulInteger, 1 row': integers(1),
  'MatMulInteger, 8 rows': integers(8),
  'MatMulInteger, 64 rows': (n) => integers(64)(Math.min(n, 2 ** 20)),
  'com.microsoft.MatMulNBits, 4 bits, 1 row': inBits(4, 1),
  'com.microsoft.MatMulNBits, 4 bits, 3 rows': inBits(4, 3),
  'com.microsoft.MatMulNBits, 4 bits, 8 rows': inBits(4, 8),
  'com.microsoft.MatMulNBits, 4 bits, 64 rows': (n) => inBits(4, 64)(Math.min(n, 2 ** 20)),
  'com.microsoft.MatMulNBits, 8 bits, 1 row': inBits(8, 1),
  'com.trainlet.WeightOnlyMatMul, 1 row': narrow(1, 0),
  'com.trainlet.WeightOnlyMatMul, 8 rows': narrow(8, 0),
  'com.trainlet.WeightOnlyMatMul, 1 row, transposed': narrow(1, 1),
  QLinearMatMul: (n) => {
    const wide = Math.min(512, width(n));
    return [
      'QLinearMatMul',
      [
        bytes([wide, wide], 255),
        scalar(0.02),
        byte(128),
        constant(bytes([wide, wide], 255, 0, 8)),
        scalar(0.01),
        byte(128),
        scalar(0.5),
        byte(128),
      ],
      {},
      { flops: 2 * wide ** 3 },
    ];
  },
  'com.microsoft.QGemm': (n) => {
    const wide = Math.min(512, width(n));
    const weight = constant(bytes([wide, wide], 255, 0, 8));
    return [
      'com.microsoft.QGemm',
      [
        bytes([wide, wide], 255),
        scalar(0.02),
        byte(128),
        weight,
        scalar(0.01),
        byte(128),
        null,
        scalar(0.5),
        byte(128),
      ],
      {},
      { flops: 2 * wide ** 3 },
    ];
  },
  QLinearConv: (n) => {
    const dims = n <= 2 ** 13 ? [1, 8, 32, 32] : n < 2 ** 20 ? [1, 32, 64, 64] : [1, 64, 128, 128];
    const kernel = constant(signedBytes([dims[1], dims[1], 3, 3], 100, -100));
    return [
      'QLinearConv',
      [bytes(dims, 255), scalar(0.02), byte(128), kernel, scalar(0.01), byte(0, 'int8'), scalar(0.5), byte(128)],
      { pads: [1, 1, 1, 1] },
      { flops: 2 * dims[2] * dims[3] * elements(kernel.dims) },
    ];
  },
  QuantizeLinear: (n) => ['QuantizeLinear', [floats([n], -2, 2), scalar(0.02), byte(128)], {}],
  'QuantizeLinear of channels': (n) => [
    'QuantizeLinear',
    [floats([n / 1024, 1024], -2, 2), constant(floats([1024], 0.01, 0.03)), constant(signedBytes([1024], 1, 0))],
    { axis: 1 },
  ],
  DequantizeLinear: (n) => ['DequantizeLinear', [bytes([n], 255), scalar(0.02), byte(128)], {}],
  'DequantizeLinear of rows': (n) => [
    'DequantizeLinear',
    [signedBytes([n / 1024, 1024], 100, -100), constant(floats([n / 1024], 0.01, 0.03))],
    { axis: 0 },
  ],
  DynamicQuantizeLinear: (n) => ['DynamicQuantizeLinear', [floats([n], -2, 3)], {}, { outputs: [1, 0, 0] }],
};
