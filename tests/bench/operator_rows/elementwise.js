// Rows of what makes a number of each number, or of two that meet.

import { bytes, constant, flags, flat, floats, indices, int, ints32, lines, pictures, scalar } from './inputs.js';

/** Unary operators: range of the numbers, attributes and more. */
const UNARY = {
  Abs: [-1, 1],
  Acos: [-1, 1],
  Acosh: [1, 9],
  Asin: [-1, 1],
  Asinh: [-4, 4],
  Atan: [-4, 4],
  Atanh: [-0.99, 0.99],
  Ceil: [-9, 9],
  Celu: [-4, 4, { alpha: { float: 1.5 } }],
  Cos: [-9, 9],
  Cosh: [-4, 4],
  Elu: [-4, 4],
  Erf: [-4, 4],
  Exp: [-8, 8],
  Floor: [-9, 9],
  Gelu: [-4, 4, {}, { opset: 20 }],
  'Gelu, by tanh': [-4, 4, { approximate: 'tanh' }, { opset: 20 }],
  HardSigmoid: [-4, 4],
  HardSwish: [-4, 4.1], // no number at ±3, where its slope jumps
  IsInf: [-1, 1],
  IsNaN: [-1, 1],
  LeakyRelu: [-4, 4],
  Log: [0.01, 9],
  Mish: [-4, 4],
  Neg: [-1, 1],
  Reciprocal: [0.1, 9],
  Relu: [-4, 4],
  Round: [-9, 9],
  Selu: [-4, 4],
  Shrink: [-4, 4, { lambd: { float: 0.5 }, bias: { float: 0.5 } }],
  Sigmoid: [-8, 8],
  Sign: [-1, 1],
  Sin: [-9, 9],
  Sinh: [-4, 4],
  Softplus: [-8, 8],
  Softsign: [-4, 4],
  Sqrt: [0, 9],
  Swish: [-4, 4, {}, { opset: 24, peer: ['com.microsoft.QuickGelu', { alpha: { float: 1 } }] }],
  Tan: [-1.5, 1.5],
  Tanh: [-4, 4],
  ThresholdedRelu: [-4, 4],
};
const operatorOf = (name) => name.split(',')[0];
const unary = Object.fromEntries(
  Object.entries(UNARY).map(([name, [low, high, attributes = {}, { peer, ...more } = {}]]) => [
    name,
    (n) => [
      operatorOf(name),
      [flat(n, low, high)],
      attributes,
      { ...more, ...(peer && { peer: [peer[0], [flat(n, low, high)], peer[1]] }) },
    ],
  ]),
);

/** Shapes that meet, by the words that a row's name ends with. */
const MEETINGS = {
  'same shapes': (n) => [flat(n), floats([n], 0.5, 1.5, 2)],
  'a number': (n) => [flat(n), scalar(1.25)],
  'a row': (n) => [lines(n), floats([1024], 0.5, 1.5)],
  'a column': (n) => [lines(n), floats([n / 1024, 1], 0.5, 1.5)],
  'a channel': (n) => [pictures(n), floats([pictures(n).dims[1], 1, 1], 0.5, 1.5)],
  int64: (n) => [indices([n], 100), indices([n], 90, 1)],
  int32: (n) => [ints32([n], 100), ints32([n], 90, 1, 8)],
  booleans: (n) => [flags([n]), flags([n], 4)],
};
const met = (op, attributes, ...meetings) =>
  Object.fromEntries(meetings.map((how) => [`${op}, ${how}`, (n) => [op, MEETINGS[how](n), attributes]]));

const powers = Object.fromEntries(
  [2, 3, 0.5, -0.5, 0.75].map((e) => [`Pow ${e}`, (n) => ['Pow', [flat(n, 0.1, 4), scalar(e)], {}]]),
);

const TYPES = { float32: 1, uint8: 2, int32: 6, int64: 7, bool: 9, float16: 10 };
const SOURCES = {
  float32: (n) => flat(n, 0, 100),
  int64: (n) => indices([n], 100),
  int32: (n) => ints32([n], 100),
  uint8: (n) => bytes([n], 255),
  bool: (n) => flags([n]),
};
const casts = Object.fromEntries(
  [
    ['float32', 'int64'],
    ['float32', 'int32'],
    ['float32', 'uint8'],
    ['float32', 'bool'],
    ['float32', 'float16'],
    ['int64', 'float32'],
    ['int64', 'int32'],
    ['int32', 'float32'],
    ['uint8', 'float32'],
    ['bool', 'float32'],
  ].map(([from, to]) => [`Cast, ${from} to ${to}`, (n) => ['Cast', [SOURCES[from](n)], { to: TYPES[to] }]]),
);

/** Scores (heads, queries, keys) under a mask of (queries, keys). */
const scores = (n) => floats([n / 2 ** 12, 64, 64]);

export const ELEMENTWISE = {
  ...unary,
  ...met('Add', {}, 'same shapes', 'a number', 'a row', 'a column', 'a channel', 'int64'),
  ...met('Sub', {}, 'same shapes', 'a number', 'a row', 'a column'),
  ...met('Mul', {}, 'same shapes', 'a number', 'a row', 'a column', 'a channel', 'int64'),
  ...met('Div', {}, 'same shapes', 'a number', 'a row', 'a column', 'int64'),
  ...met('Max', {}, 'same shapes', 'a number'),
  ...met('Min', {}, 'same shapes', 'a number'),
  ...met('Mod', {}, 'int64', 'int32'),
  ...met('Equal', {}, 'same shapes', 'a number', 'int64'),
  ...met('Greater', {}, 'same shapes', 'a number', 'a row', 'int64'),
  ...met('GreaterOrEqual', {}, 'same shapes', 'a number'),
  ...met('Less', {}, 'same shapes', 'a number', 'int64'),
  ...met('LessOrEqual', {}, 'same shapes', 'a number'),
  ...met('And', {}, 'booleans'),
  ...met('Or', {}, 'booleans'),
  ...met('Xor', {}, 'booleans'),
  ...met('BitwiseAnd', {}, 'int32'),
  ...met('BitwiseOr', {}, 'int32'),
  ...met('BitwiseXor', {}, 'int32'),
  ...powers,
  'Pow, same shapes': (n) => ['Pow', [flat(n, 0.1, 4), floats([n], -2, 2, 2)], {}],
  'Mod, of floats': (n) => ['Mod', [flat(n, -9, 9), scalar(1.5)], { fmod: 1 }],
  'Abs, int64': (n) => ['Abs', [indices([n], 100, -100)], {}],
  'Relu, a picture': (n) => ['Relu', [pictures(n)], {}],
  'Clip to [0, 6]': (n) => ['Clip', [flat(n, -9, 9), scalar(0), scalar(6)], {}],
  'PRelu, a channel': (n) => ['PRelu', [pictures(n), constant(floats([pictures(n).dims[1], 1, 1], 0, 1))], {}],
  'Sum of three': (n) => ['Sum', [flat(n), flat(n, -1, 1, 2), flat(n, -1, 1, 3)], {}],
  'Mean of two': (n) => ['Mean', [flat(n), flat(n, -1, 1, 2)], {}],
  Not: (n) => ['Not', [flags([n])], {}],
  BitwiseNot: (n) => ['BitwiseNot', [ints32([n], 100)], {}],
  BitShift: (n) => ['BitShift', [bytes([n], 255), bytes([n], 7)], { direction: 'LEFT' }],
  BitCast: (n) => ['BitCast', [flat(n)], { to: TYPES.int32 }, { opset: 26 }],
  CastLike: (n) => ['CastLike', [ints32([n], 100), scalar(1)], {}, { opset: 19 }],
  ...casts,
  Where: (n) => ['Where', [flags([n]), flat(n), floats([n], -1, 1, 2)], {}, { opset: 16 }],
  'Where, a mask of scores': (n) => ['Where', [flags([1, 64, 64]), scores(n), scalar(-1e9)], {}, { rank: 3 }],
  'Where, a column': (n) => ['Where', [flags([n / 1024, 1]), lines(n), scalar(0)], {}],
  SwiGLU: (n) => ['SwiGLU', [flat(n, -4, 4), flat(n, -1, 1, 2)], {}, { opset: 28, alone: true }],
  'Dropout, not in training': (n) => ['Dropout', [flat(n)], {}],
  'Dropout, in training': (n) => [
    'Dropout',
    [flat(n), scalar(0.5), constant({ type: 'bool', dims: [], data: Uint8Array.of(1) })],
    { seed: 1 },
    { random: true },
  ],
  Range: (n) => ['Range', [scalar(0), scalar(n), scalar(1)], {}, { rank: 1 }],
  'Range, int64': (n) => ['Range', [int(0), int(n), int(1)], {}, { rank: 1 }],
  'Clip, int64': (n) => ['Clip', [indices([n], 100), int(5), int(90)], {}],
};
