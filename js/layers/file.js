/** Turns what layers noted into an ONNX file. */

import { invalid } from '../base/errors.js';
import { sizeOf } from '../base/tensor.js';
import { drawn } from './initializers.js';
import { automaticNames, INPUT, LAYERS_KEY, namesOf } from './names.js';
import { onnxOf } from './onnx.js';
import { randomOf } from './random.js';

/** @import { Call, Dims, LayerState, NodeValue, SymbolicTensor, Value, Weight } from './layer.js' */
/**
 * @typedef {object} Network
 * @property {boolean} isSequential
 * @property {readonly SymbolicTensor[]} inputs
 * @property {readonly SymbolicTensor[]} outputs
 * @property {readonly SymbolicTensor[]} tensors all, in the order of the calls
 */
/** @typedef {Map<LayerState, string>} Names */
/**
 * A call of a layer, from which summary.js makes a row: parameters that train and others, which calls gave its inputs.
 * @typedef {[name: string, type: string, shape: Dims, trainable: number, frozen: number, inputs: number[]]} NotedCall
 */

const BATCH = 'batch';

/** @param {Network} network @param {{ name?: string, seed?: number }} options */
export function fileOf(network, { name, seed = Math.floor(Math.random() * 2 ** 32) }) {
  const { isSequential, inputs, outputs, tensors } = network;
  const names = namesOf(tensors.map(({ call }) => call.layer));
  checkEnds(network, names);
  const { nodes, weights } = valuesOf(tensors);
  const named = namesOfValues(tensors, names, nodes, weights);
  const nameOfValue = (/** @type {Value | undefined} */ value) => (value && named.values.get(value)) ?? '';
  const random = randomOf(seed);
  const title = name ?? (isSequential ? 'sequential' : 'functional');
  return onnxOf({
    name: title,
    nodes: nodes.map((node) => ({
      name: named.nodes.get(node) ?? '',
      op: node.op,
      inputs: node.inputs.map(nameOfValue),
      outputs: [...Array(node.at).fill(''), nameOfValue(node)],
      attributes: node.attributes,
    })),
    initializers: weights.map((weight) => ({
      name: nameOfValue(weight),
      dims: weight.dims,
      data: drawn(weight, random),
    })),
    inputs: inputs.map((x) => infoOf(x, nameOfValue(x.value))),
    outputs: outputs.map((x) => infoOf(x, nameOfValue(x.value))),
    metadata: { [LAYERS_KEY]: JSON.stringify({ name: title, isSequential, calls: callsOf(tensors, names, weights) }) },
  });
}

/** @param {Network} network @param {Names} names */
function checkEnds({ inputs, outputs, tensors }, names) {
  const nameOf = (/** @type {SymbolicTensor} */ { call }) => names.get(call.layer) ?? call.layer.title;
  for (const x of inputs)
    if (x.call.layer.type !== INPUT || !tensors.includes(x))
      throw invalid(`model: its outputs must depend on each of its inputs, an input(…); not so on '${nameOf(x)}'`);
  for (const x of tensors)
    if (x.call.layer.type === INPUT && !inputs.includes(x))
      throw invalid(`model: its outputs depend on '${nameOf(x)}', which is not among its inputs`);
  outputs.forEach((x, i) => {
    if (x.call.layer.type === INPUT || outputs.indexOf(x) !== i)
      throw invalid(`model: each output must come from a layer, and once; '${nameOf(x)}' does not`);
  });
}

/** All nodes and weights, in the order in which they were noted. @param {readonly SymbolicTensor[]} tensors */
function valuesOf(tensors) {
  /** @type {Set<Value>} */
  const values = new Set(tensors.map(({ value }) => value));
  for (const value of values) if ('op' in value) for (const one of value.inputs) if (one) values.add(one);
  const ordered = [...values].sort((a, b) => a.order - b.order);
  return {
    nodes: ordered.filter((value) => 'op' in value),
    weights: ordered.filter((value) => 'parts' in value),
  };
}

/**
 * Nodes are called dense/Gemm, dense/Relu; weights dense/kernel; what a layer gives is called as its call, and what is
 * between as the node that gives it.
 * @param {readonly SymbolicTensor[]} tensors @param {Names} names
 * @param {readonly NodeValue[]} nodes @param {readonly Weight[]} weights
 */
function namesOfValues(tensors, names, nodes, weights) {
  const calls = callNames(tensors, names);
  const next = automaticNames();
  const titles = new Map(nodes.map((node) => [node, next(`${calls.get(node.call)}/${node.op}`)]));
  /** @type {Map<Value, string>} */
  const values = new Map(titles);
  for (const weight of weights) values.set(weight, `${names.get(weight.layer)}/${weight.key}`);
  for (const { value, call } of tensors) values.set(value, calls.get(call) ?? '');
  return { nodes: titles, values };
}

/**
 * Calls are named as the layer, from the second of one on with a number, as exporters name modules called again.
 * @param {readonly SymbolicTensor[]} tensors @param {Names} names @returns {Map<Call, string>}
 */
function callNames(tensors, names) {
  const again = automaticNames([...names.values()]);
  const called = new Set();
  return new Map(
    tensors.map(({ call }) => {
      const name = names.get(call.layer) ?? '';
      const isFirst = !called.has(name);
      called.add(name);
      return [call, isFirst ? name : again(name)];
    }),
  );
}

/** A free dim of an input has a name, that of an output has none. @param {SymbolicTensor} x @param {string} name */
const infoOf = (x, name) => ({
  name,
  dtype: x.dtype,
  dims: x.shape.map((d, i) => d ?? (i ? (x.call.layer.type === INPUT ? `${name}_${i}` : null) : BATCH)),
});

/**
 * @param {readonly SymbolicTensor[]} tensors @param {Names} names @param {readonly Weight[]} weights
 * @returns {NotedCall[]}
 */
const callsOf = (tensors, names, weights) =>
  tensors.map(({ call: { layer, inputs }, shape }) => {
    const [trainable, frozen] = [true, false].map((trains) =>
      weights
        .filter((weight) => weight.layer === layer && weight.trainable === trains)
        .reduce((sum, { dims }) => sum + sizeOf(dims), 0),
    );
    const all = frozen + (layer.constants ?? 0);
    return [names.get(layer) ?? '', layer.type, shape, trainable, all, inputs.map((x) => tensors.indexOf(x))];
  });
