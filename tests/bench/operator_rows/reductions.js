// Rows of sums, means and other results over some dims, what runs along one, and softmax.

import { floats, int, ints, lines, pictures, tokens } from './inputs.js';

const REDUCTIONS = [
  'ReduceL1',
  'ReduceL2',
  'ReduceLogSum',
  'ReduceLogSumExp',
  'ReduceMax',
  'ReduceMean',
  'ReduceMin',
  'ReduceProd',
  'ReduceSum',
  'ReduceSumSquare',
];
/** Numbers whose logarithms exist and whose products stay in range. */
const near = (dims) => floats(dims, 0.98, 1.02);
const over = {
  'last axis': (op) => (n) => [op, [near(lines(n).dims), ints(-1)], {}],
  'first axis': (op) => (n) => [op, [near(lines(n).dims), ints(0)], {}],
  'middle axis': (op) => (n) => [op, [near(tokens(n).dims), ints(1)], {}],
  'of pictures': (op) => (n) => [op, [near(pictures(n).dims), ints(2, 3)], {}],
  'of batch and pictures': (op) => (n) => [op, [near(pictures(n).dims), ints(0, 2, 3)], {}],
  'of all': (op) => (n) => [op, [near([n])], { keepdims: 1 }],
};
const reduced = (ops, ...ways) =>
  Object.fromEntries(ops.flatMap((op) => ways.map((way) => [`${op}, ${way}`, over[way](op)])));

const extreme =
  (op, input, axis, attributes = {}) =>
  (n) => [op, [input(n)], { axis, ...attributes }];

export const REDUCED = {
  ...reduced(REDUCTIONS, 'last axis', 'first axis'),
  ...reduced(['ReduceMax', 'ReduceMean', 'ReduceSum', 'ReduceL2'], 'middle axis', 'of pictures', 'of all'),
  ...reduced(['ReduceMean', 'ReduceSum'], 'of batch and pictures'),
  'ArgMax, last axis': extreme('ArgMax', lines, 1),
  'ArgMax, first axis': extreme('ArgMax', lines, 0),
  'ArgMax of channels': extreme('ArgMax', pictures, 1),
  'ArgMin, last axis': extreme('ArgMin', lines, 1),
  CumSum: (n) => ['CumSum', [lines(n), ints(1)], {}],
  'CumSum, first axis': (n) => ['CumSum', [lines(n), ints(0)], {}],
  'CumSum, backwards': (n) => ['CumSum', [lines(n), ints(1)], { reverse: 1, exclusive: 1 }],
  CumProd: (n) => ['CumProd', [near(lines(n).dims), int(1)], {}, { opset: 26 }],
  'Softmax, last axis': extreme('Softmax', lines, -1),
  'Softmax of 64': extreme('Softmax', (n) => lines(n, 64), -1),
  'Softmax of 10': extreme('Softmax', (n) => floats([n / 16, 10]), -1),
  'Softmax of channels': extreme('Softmax', pictures, 1),
  'LogSoftmax, last axis': extreme('LogSoftmax', lines, -1),
  'LogSoftmax of channels': extreme('LogSoftmax', pictures, 1),
  Hardmax: extreme('Hardmax', lines, -1),
};
