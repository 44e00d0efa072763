/**
 * Two models for tests that stop them: one whose batch takes seconds, and a small one with random numbers and running
 * statistics.
 */

import { Tensor } from '../../js/index.js';
import { onnxFile } from './onnx-file.js';
import { batchUnit } from './recipe.js';

const uniform = (seed, dims, scale = 1) => ({
  type: 'float32',
  dims,
  data: Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, i) => scale * (2 * batchUnit(seed, i) - 1)),
});
const node = (op, inputs, outputs, attributes = {}) => ({
  op,
  inputs: [inputs].flat(),
  outputs: [outputs].flat(),
  attributes,
});

const WIDTH = 1024;
/** A chain of `products` MatMuls of 2 · 1024³ operations each. */
export const slowModel = (products) =>
  onnxFile({
    name: 'slow',
    opset: 17,
    nodes: [
      ...Array.from({ length: products }, (_, i) => [
        node('MatMul', [`x${i || ''}`, 'w'], `y${i}`),
        node('Tanh', `y${i}`, `x${i + 1}`),
      ]).flat(),
      node('MatMul', [`x${products}`, 'v'], 'logits'),
    ],
    weights: new Map([
      ['w', uniform(1, [WIDTH, WIDTH], 0.05)],
      ['v', uniform(2, [WIDTH, 3], 0.05)],
    ]),
    inputs: [{ name: 'x', type: 'float32', dims: ['N', WIDTH] }],
    outputs: [{ name: 'logits', type: 'float32', dims: ['N', 3] }],
  });

const tensorOf = ({ type, data, dims }) => new Tensor(type, data, dims);
export const labelsFor = (rows) =>
  new Tensor(
    'int64',
    BigInt64Array.from({ length: rows }, (_, i) => BigInt(i % 3)),
  );
export const slowInput = (rows = WIDTH) => ({ x: tensorOf(uniform(3, [rows, WIDTH])) });
export const slowFeeds = (rows = WIDTH) => ({ ...slowInput(rows), labels: labelsFor(rows) });

/** Conv, BatchNormalization, Dropout that drops, Gemm. */
export const RANDOM_MODEL = onnxFile({
  name: 'random',
  opset: 17,
  nodes: [
    node('Conv', ['x', 'k', 'kb'], 'c', { kernel_shape: [3, 3] }),
    node('BatchNormalization', ['c', 'scale', 'bias', 'mean', 'var'], 'n'),
    node('Relu', 'n', 'r'),
    node('Dropout', ['r', 'ratio'], 'd'),
    node('Flatten', 'd', 'f', { axis: 1 }),
    node('Gemm', ['f', 'v', 'vb'], 'logits'),
  ],
  weights: new Map([
    ['k', uniform(1, [8, 2, 3, 3], 0.3)],
    ['kb', uniform(2, [8])],
    ['scale', uniform(3, [8])],
    ['bias', uniform(4, [8])],
    ['mean', uniform(5, [8])],
    ['var', { type: 'float32', dims: [8], data: new Float32Array(8).fill(1) }],
    ['ratio', { type: 'float32', dims: [], data: Float32Array.of(0.4) }],
    ['v', uniform(6, [8 * 36, 3], 0.2)],
    ['vb', uniform(7, [3])],
  ]),
  inputs: [{ name: 'x', type: 'float32', dims: ['N', 2, 8, 8] }],
  outputs: [{ name: 'logits', type: 'float32', dims: ['N', 3] }],
});

/** Batch number `seed`. */
export const randomFeeds = (seed) => ({ x: tensorOf(uniform(100 + seed, [4, 2, 8, 8])), labels: labelsFor(4) });
