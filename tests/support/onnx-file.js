// Writes ONNX models byte by byte: protobuf messages by the names of onnx.proto, and a graph of the benchmark's
// graph.js as the file that PyTorch would export at opset 17.

import { batchUnit } from './recipe.js';

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

/**
 * A message by the names of its fields, in camel case; a list is a field that comes again. What is not in the file is
 * left out. @param {Record<string, number>} numbers the fields' numbers in onnx.proto
 */
const proto = (numbers) => (fields) =>
  message(
    ...Object.entries(fields).flatMap(([name, value]) => {
      if (!numbers[name]) throw new Error(`no field ${name}, but ${Object.keys(numbers)}`);
      return [value].flat().map((one) => [numbers[name], one]);
    }),
  );
const model = proto({ irVersion: 1, graph: 7, opsetImport: 8, metadataProps: 14, trainingInfo: 20, functions: 25 });
export const modelProto = (fields) => model({ irVersion: 8, ...fields });
export const graphProto = proto({
  ...{ node: 1, name: 2, initializer: 5, docString: 10, input: 11, output: 12, valueInfo: 13, sparseInitializer: 15 },
  metadataProps: 16,
});
export const nodeProto = proto({
  ...{ input: 1, output: 2, name: 3, opType: 4, attribute: 5, domain: 7, metadataProps: 9 },
});
export const attributeProto = proto({
  ...{ name: 1, i: 3, s: 4, t: 5, g: 6, floats: 7, ints: 8, strings: 9, type: 20, refAttrName: 21 },
});
export const tensorProto = proto({
  ...{ dims: 1, dataType: 2, int32Data: 5, stringData: 6, name: 8, rawData: 9, externalData: 13, dataLocation: 14 },
});
export const sparseTensorProto = proto({ values: 1, indices: 2, dims: 3 });
export const valueInfoProto = proto({ name: 1, type: 2, metadataProps: 4 });
export const typeProto = proto({ tensorType: 1, sequenceType: 4, mapType: 5, sparseTensorType: 8, optionalType: 9 });
export const tensorTypeProto = proto({ elemType: 1, shape: 2 });
export const elementTypeProto = proto({ elemType: 1 });
export const mapTypeProto = proto({ keyType: 1, valueType: 2 });
export const shapeProto = proto({ dim: 1 });
export const dimProto = proto({ dimValue: 1, dimParam: 2 });
export const functionProto = proto({
  ...{ name: 1, input: 4, output: 5, attribute: 6, node: 7, opsetImport: 9, domain: 10, attributeProto: 11 },
});
/** An opset that a model or function imports. */
export const opsetId = (version, domain = '') => message([1, domain], [2, version]);
/** An entry of metadata. */
export const stringEntry = (key, value) => message([1, key], [2, value]);

const bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
export const tensor = (name, { type, dims, data }) =>
  tensorProto({ dims, dataType: TYPES[type], name, rawData: bytesOf(data) });

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
  if (Array.isArray(value)) return attributeProto({ name, ints: value, type: INTS });
  if (typeof value === 'number') return attributeProto({ name, i: value, type: INT });
  if (typeof value === 'string') return attributeProto({ name, s: value, type: STRING });
  if (value.data) return attributeProto({ name, t: tensor('', value), type: TENSOR });
  if (value.floats) return attributeProto({ name, floats: bytesOf(Float32Array.from(value.floats)), type: FLOATS });
  if (value.strings) return attributeProto({ name, strings: value.strings, type: STRINGS });
  return join([attributeProto({ name }), float(value.float), attributeProto({ type: FLOAT })]);
}

export const node = (op, inputs, outputs, ...attributes) =>
  nodeProto({ input: inputs, output: outputs, name: op + [outputs].flat()[0], opType: op, attribute: attributes });
const dim = (d) => dimProto(typeof d === 'string' ? { dimParam: d } : { dimValue: d });
export const info = (name, type, dims) =>
  valueInfoProto({
    name,
    type: typeProto({ tensorType: tensorTypeProto({ elemType: type, shape: shapeProto({ dim: dims.map(dim) }) }) }),
  });

/** Uniform in ±1/√inputs, as PyTorch's Linear. */
export function weight(name, dims, inputs, seed) {
  const data = new Float32Array(dims.reduce((a, b) => a * b, 1));
  for (let i = 0; i < data.length; i++) data[i] = (2 * batchUnit(seed, i) - 1) / Math.sqrt(inputs);
  return tensor(name, { type: 'float32', dims, data });
}

/** PyTorch's dynamo exporter notes an initializer's kind: PARAMETER, BUFFER … */
const kindNote = (name, kind) =>
  valueInfoProto({ name, metadataProps: stringEntry('pkg.torch.export.graph_signature.InputSpec.kind', kind) });

/**
 * A whole file: nodes as in graph.js, weights and values by name; inputs and outputs as { name, type, dims }; kinds of
 * weights by name.
 */
export function onnxFile({ name, nodes, weights, inputs, outputs, kinds = {}, opset = 17 }) {
  const graph = graphProto({
    node: nodes.map((n) =>
      node(n.op, n.inputs, n.outputs, ...Object.entries(n.attributes).map(([key, value]) => attribute(key, value))),
    ),
    name,
    initializer: [...weights].map(([key, value]) => tensor(key, value)),
    input: inputs.map((input) => info(input.name, TYPES[input.type], input.dims)),
    output: outputs.map((output) => info(output.name, TYPES[output.type], output.dims)),
    valueInfo: Object.entries(kinds).map(([key, kind]) => kindNote(key, kind)),
  });
  return modelProto({ graph, opsetImport: opsetId(opset) });
}
