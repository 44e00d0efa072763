/** Finds quantized weights in a model: they do not train. */

import { Message } from '../formats/protobuf.js';

/** Fields of onnx.proto. */
const [GRAPH, NODE, INITIALIZER] = [7, 1, 5];
const OPERATOR = 4;
const [DIMS, TYPE, NAME] = [1, 2, 8];
/** Types of quantized weights by their numbers in onnx.proto. */
const QUANTIZED = new Map([
  [2n, 'uint8'],
  [3n, 'int8'],
  [21n, 'uint4'],
  [22n, 'int4'],
]);
const COMPUTES = /Dequantize|QLinear|Integer|NBits/;
const NAMED = 3;

/** Matrices of whole numbers of 8 or 4 bits. @param {Uint8Array} model */
export function quantizedIn(model) {
  const graph = new Message(model).message(GRAPH);
  const initializers = graph?.messages(INITIALIZER) ?? [];
  return initializers.flatMap((tensor) => {
    const type = QUANTIZED.get(tensor.number(TYPE));
    return type && tensor.numbers(DIMS).length > 1 ? `'${tensor.text(NAME)}' (${type})` : [];
  });
}

/**
 * Says that layers of a model do not train, '' where all do.
 * @param {Uint8Array} model as ONNX, or in another format
 */
export function warningOf(model) {
  try {
    const nodes = new Message(model).message(GRAPH)?.messages(NODE) ?? [];
    const quantized = nodes.some((node) => COMPUTES.test(node.text(OPERATOR))) ? quantizedIn(model) : [];
    return quantized.length ? `quantized weights do not train, only the others do: ${listed(quantized)}` : '';
  } catch {
    return ''; // the engine reads it
  }
}

/** @param {readonly string[]} names */
export const listed = (names) =>
  names.slice(0, NAMED).join(', ') + (names.length > NAMED ? ` and ${names.length - NAMED} more` : '');
