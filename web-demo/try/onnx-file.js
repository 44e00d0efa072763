// Contents of an ONNX file, read without the engine, so that a model that cannot train is described too.

import { Message, textOf } from '../js/formats/protobuf.js';

/**
 * @typedef {{ name: string, type: string, dims: (number | string)[] }} Value a string: a free dim
 * @typedef {{ op: string, inputs: string[], outputs: string[] }} Node
 * @typedef {object} OnnxFile
 * @property {Value[]} inputs
 * @property {Value[]} outputs
 * @property {[op: string, count: number][]} operators the most frequent first, those of subgraphs and functions too
 * @property {number} opset of ai.onnx; 0: none is named
 * @property {string} exporter
 * @property {number} irVersion
 * @property {string[]} locations names of the files that hold its weights
 * @property {string} lastActivation `Softmax`, `Sigmoid` and the like at the first output; '' where there is none
 * @property {boolean} hasTrainingInfo
 */

/** Names of TensorProto.DataType. */
const TYPES = [
  ...['?', 'float32', 'uint8', 'int8', 'uint16', 'int16', 'int32', 'int64', 'string', 'bool', 'float16', 'float64'],
  ...['uint32', 'uint64', 'complex64', 'complex128', 'bfloat16'],
];
/** Fields of TypeProto for what is no tensor. @type {[number, string][]} */
const OTHERS = [
  [4, 'sequence'],
  [5, 'map'],
  [9, 'optional'],
];
/** Operators that keep or move the elements of their first input. */
const MOVES = new Set('Identity Cast Reshape Flatten Squeeze Unsqueeze Transpose Clip'.split(' '));
const ACTIVATIONS = new Set('Softmax LogSoftmax Sigmoid HardSigmoid Tanh Relu'.split(' '));
const EXTERNAL = 1n;

/** A RangeError where the file is damaged. @param {Uint8Array} bytes @returns {OnnxFile} */
export function readOnnx(bytes) {
  const model = new Message(bytes);
  const graph = model.message(7);
  if (!graph) throw new RangeError('no graph');
  const initializers = graph.messages(5);
  const names = new Set(initializers.map((tensor) => tensor.text(8)));
  const nodes = graph.messages(1).map(nodeOf);
  const outputs = graph.messages(12).map(valueInfoOf);
  const opset = model.messages(8).find((entry) => ['', 'ai.onnx'].includes(entry.text(1)));
  return {
    inputs: graph
      .messages(11)
      .map(valueInfoOf)
      .filter(({ name }) => !names.has(name)),
    outputs,
    operators: countsOf([...operatorsIn(graph), ...model.messages(25).flatMap((f) => f.messages(7).map(nameOfNode))]),
    opset: Number(opset?.number(2) ?? 0),
    exporter: [model.text(2), model.text(3)].filter(Boolean).join(' '),
    irVersion: Number(model.number(1)),
    locations: [...new Set(initializers.flatMap(locationOf))],
    lastActivation: activationOf(nodes, outputs[0]?.name),
    hasTrainingInfo: model.all(20).length > 0,
  };
}

/** @param {Message} message @returns {Value} */
function valueInfoOf(message) {
  const type = message.message(2);
  const tensor = type?.message(1);
  const dims = tensor?.message(2)?.messages(1) ?? [];
  return {
    name: message.text(1),
    type: tensor ? (TYPES[Number(tensor.number(1))] ?? '?') : (OTHERS.find(([n]) => type?.bytes(n))?.[1] ?? '?'),
    dims: dims.map((dim, i) => (dim.bytes(1) === undefined ? dim.text(2) || `dim ${i}` : Number(dim.number(1)))),
  };
}

/** @param {Message} node @returns {Node} */
const nodeOf = (node) => ({ op: node.text(4), inputs: node.all(1).map(textOf), outputs: node.all(2).map(textOf) });

/** @param {Message} node */
const nameOfNode = (node) => [node.text(7), node.text(4)].filter((part) => part && part !== 'ai.onnx').join('.');

/** @param {Message} graph @returns {string[]} */
function operatorsIn(graph) {
  return graph.messages(1).flatMap((node) => {
    const inside = node.messages(5).flatMap((attribute) => [...attribute.messages(6), ...attribute.messages(11)]);
    return [nameOfNode(node), ...inside.flatMap(operatorsIn)];
  });
}

/** @param {string[]} names @returns {[string, number][]} */
function countsOf(names) {
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/** @param {Message} tensor */
function locationOf(tensor) {
  if (tensor.number(14) !== EXTERNAL) return [];
  return tensor
    .messages(13)
    .filter((entry) => entry.text(1) === 'location')
    .map((entry) => entry.text(2).replace(/^\.\//, ''));
}

/** @param {Node[]} nodes @param {string} [output] */
function activationOf(nodes, output) {
  const makers = new Map(nodes.flatMap((node) => node.outputs.map((name) => [name, node])));
  let node = makers.get(output);
  while (node && MOVES.has(node.op)) node = makers.get(node.inputs[0]);
  return node && ACTIVATIONS.has(node.op) ? node.op : '';
}
