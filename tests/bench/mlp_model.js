// Writes the MLP 784-500-10 of ONNX Runtime's web demo as an ONNX model with fresh weights, so that both train the same network.

import { batchUnit } from '../golden/recipe.js';

const encoder = new TextEncoder();

function varint(n) {
  const bytes = [];
  for (; n >= 128; n = Math.floor(n / 128)) bytes.push((n % 128) + 128);
  return Uint8Array.from([...bytes, n]);
}

function join(parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** A protobuf message: [field number, value]; numbers are varints, text and bytes are length-delimited. */
export function message(...fields) {
  return join(fields.flatMap(([field, value]) => {
    if (typeof value === 'number') return [varint(field * 8), varint(value)];
    const bytes = typeof value === 'string' ? encoder.encode(value) : value;
    return [varint(field * 8 + 2), varint(bytes.length), bytes];
  }));
}

const INT = 2;
export const attribute = (name, value) => message([1, name], [3, value], [20, INT]);
export const node = (op, inputs, output, ...attributes) =>
  message(...inputs.map((name) => [1, name]), [2, output], [3, op + output], [4, op], ...attributes.map((a) => [5, a]));
const dim = (d) => (typeof d === 'string' ? message([2, d]) : message([1, d]));
export const info = (name, type, dims) => message([1, name], [2, message([1, message([1, type], [2, message(...dims.map((d) => [1, dim(d)]))])])]);

/** Uniform in ±1/√inputs, as PyTorch's Linear. */
export function weight(name, dims, inputs, seed) {
  const data = new Float32Array(dims.reduce((a, b) => a * b, 1));
  for (let i = 0; i < data.length; i++) data[i] = (2 * batchUnit(seed, i) - 1) / Math.sqrt(inputs);
  return message(...dims.map((d) => [1, d]), [2, 1], [8, name], [9, new Uint8Array(data.buffer)]);
}

/** The bytes of the model: input (N, 784) → logits (N, 10). */
export function mlpModel(inputs = 784, hidden = 500, classes = 10) {
  const graph = message(
    [1, node('Gemm', ['input', 'fc1.weight', 'fc1.bias'], 'hidden', attribute('transB', 1))],
    [1, node('Relu', ['hidden'], 'activated')],
    [1, node('Gemm', ['activated', 'fc2.weight', 'fc2.bias'], 'logits', attribute('transB', 1))],
    [2, 'mlp'],
    [5, weight('fc1.weight', [hidden, inputs], inputs, 11)], [5, weight('fc1.bias', [hidden], inputs, 12)],
    [5, weight('fc2.weight', [classes, hidden], hidden, 13)], [5, weight('fc2.bias', [classes], hidden, 14)],
    [11, info('input', 1, ['N', inputs])], [12, info('logits', 1, ['N', classes])],
  );
  return message([1, 8], [7, graph], [8, message([1, ''], [2, 17])]);
}
