// Writes ONNX models byte by byte: protobuf messages, and a graph of graph.js as the file that PyTorch would export at
// opset 17.

import { batchUnit } from '../../support/recipe.js';

const encoder = new TextEncoder();
export const TYPES = { float32: 1, uint8: 2, int8: 3, int32: 6, int64: 7, bool: 9, float16: 10, float64: 11 };

function varint(n) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(n));
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) + 128);
  return Uint8Array.from([...bytes, Number(rest)]);
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
  return join(
    fields.flatMap(([field, value]) => {
      if (typeof value === 'number') return [varint(field * 8), varint(value)];
      const bytes = typeof value === 'string' ? encoder.encode(value) : value;
      return [varint(field * 8 + 2), varint(bytes.length), bytes];
    }),
  );
}

const bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
export const tensor = (name, { type, dims, data }) =>
  message(...dims.map((d) => [1, d]), [2, TYPES[type]], [8, name], [9, bytesOf(data)]);

const FLOAT = 1,
  INT = 2,
  STRING = 3,
  TENSOR = 4,
  FLOATS = 6,
  INTS = 7,
  STRINGS = 8;
const float = (value) => join([Uint8Array.of(2 * 8 + 5), bytesOf(Float32Array.of(value))]);

/**
 * An attribute by what it is: { float }, a whole number, a text, a list of whole numbers, { floats }, { strings }, a
 * tensor.
 */
export function attribute(name, value) {
  if (Array.isArray(value)) return message([1, name], ...value.map((v) => [8, v]), [20, INTS]);
  if (typeof value === 'number') return message([1, name], [3, value], [20, INT]);
  if (typeof value === 'string') return message([1, name], [4, value], [20, STRING]);
  if (value.data) return message([1, name], [5, tensor('', value)], [20, TENSOR]);
  if (value.floats) return message([1, name], [7, bytesOf(Float32Array.from(value.floats))], [20, FLOATS]);
  if (value.strings) return message([1, name], ...value.strings.map((text) => [9, text]), [20, STRINGS]);
  return join([message([1, name]), float(value.float), message([20, FLOAT])]);
}

export const node = (op, inputs, outputs, ...attributes) =>
  message(
    ...inputs.map((name) => [1, name]),
    ...[outputs].flat().map((name) => [2, name]),
    [3, op + [outputs].flat()[0]],
    [4, op],
    ...attributes.map((a) => [5, a]),
  );
const dim = (d) => (typeof d === 'string' ? message([2, d]) : message([1, d]));
export const info = (name, type, dims) =>
  message([1, name], [2, message([1, message([1, type], [2, message(...dims.map((d) => [1, dim(d)]))])])]);

/** Uniform in ±1/√inputs, as PyTorch's Linear. */
export function weight(name, dims, inputs, seed) {
  const data = new Float32Array(dims.reduce((a, b) => a * b, 1));
  for (let i = 0; i < data.length; i++) data[i] = (2 * batchUnit(seed, i) - 1) / Math.sqrt(inputs);
  return tensor(name, { type: 'float32', dims, data });
}

/** What PyTorch's exporter by dynamo notes of an initializer: it was a PARAMETER, a BUFFER … */
const kindNote = (name, kind) =>
  message([1, name], [4, message([1, 'pkg.torch.export.graph_signature.InputSpec.kind'], [2, kind])]);

/**
 * A whole file: nodes as in graph.js, weights and values by name; inputs and outputs as { name, type, dims }; kinds of
 * weights by name.
 */
export function onnxFile({ name, nodes, weights, inputs, outputs, kinds = {}, opset = 17 }) {
  const graph = message(
    ...nodes.map((n) => [
      1,
      node(n.op, n.inputs, n.outputs, ...Object.entries(n.attributes).map(([key, value]) => attribute(key, value))),
    ]),
    [2, name],
    ...[...weights].map(([key, value]) => [5, tensor(key, value)]),
    ...inputs.map((input) => [11, info(input.name, TYPES[input.type], input.dims)]),
    ...outputs.map((output) => [12, info(output.name, TYPES[output.type], output.dims)]),
    ...Object.entries(kinds).map(([key, kind]) => [13, kindNote(key, kind)]),
  );
  return message([1, 8], [7, graph], [8, message([1, ''], [2, opset])]);
}
