/**
 * Weights that an exporter has computed: its notes on them, and how they follow from a module's tensors.
 *
 *     'val_41' is folded_from ['rnn.weight_ih_l0', 'val_13', …], LSTM reads it as input 1 ─▶ gates in ONNX's order
 *     'exp' is folded_from ['k']                                                          ─▶ exp(k)
 *     'add_1' is folded_from ['norm.weight', 'val_6']                                     ─▶ refused
 */

import { concatFloats, rowsOf } from '../base/rows.js';
import { Message } from '../formats/protobuf.js';

/** @import { ModelParameter } from '../types.js' */
/** @typedef {Float32Array<ArrayBuffer>} Floats */
/**
 * Notes of a model's file: the values that dynamo's exporter computed an initializer from; which input of the nodes
 * that read it an initializer is.
 * @typedef {{ origins: Map<string, string[]>, inputs: Map<string, number> }} Notes
 */
/**
 * Values that follow from tensors: of these names, by `make`, which is given their numbers in that order.
 * @typedef {{ names: string[], make: (parts: Floats[]) => Floats, warning?: string }} Recipe
 */

const ORIGIN = 'pkg.onnxscript.optimizer.folded_from';
const RECURRENT = /^(LSTM|GRU|RNN)$/;

/** @param {Uint8Array} model @returns {Notes} nothing of a file that is damaged, which the engine refuses */
export function notesOf(model) {
  const notes = { origins: new Map(), inputs: new Map() };
  try {
    const graph = new Message(model).message(7);
    for (const info of graph?.messages(13) ?? []) {
      const list = info.messages(4).find((entry) => entry.text(1) === ORIGIN);
      if (list)
        notes.origins.set(
          info.text(1),
          [...list.text(2).matchAll(/'([^']+)'/g)].map(([, name]) => name),
        );
    }
    for (const node of graph?.messages(1) ?? [])
      if (RECURRENT.test(node.text(4))) node.all(1).forEach((name, i) => notes.inputs.set(decode(name), i));
  } catch {
    // the engine says what is wrong
  }
  return notes;
}

const decode = (/** @type {Uint8Array} */ bytes) => new TextDecoder().decode(bytes);

/** A name that an exporter made up. @param {string} name */
export const isNumbered = (name) => /^(onnx::.*|val_\d+|\d+)$/.test(name);

/** @param {string} name of a parameter */
export const moduleOf = (name) => name.slice(0, Math.max(0, name.lastIndexOf('.')));

/**
 * The module in a node's path, a part of which may repeat the one before: /layer1/layer1.0/conv1/Conv.
 * @param {string} node
 */
export function moduleOfNode(node) {
  const parts = node.split('/').slice(1, -1);
  return parts.filter((part, i) => !parts[i + 1]?.startsWith(`${part}.`)).join('.');
}

// ── what dynamo's exporter folds ──

/** Names of aten's operators that only change the layout; `val_4` are their numbers, or one within another operator. */
const LAYOUT_OPERATORS = [
  ...['val', 't', 'numpy_t', 'mt', 'transpose', 'permute', 'view', '_unsafe_view', 'reshape', 'expand', 'unsqueeze'],
  ...['squeeze', 'flatten', 'unflatten', 'clone', 'contiguous', 'alias', 'detach', 'detach_', '_to_copy', 'to'],
  ...['lift_fresh_copy', 'slice', 'select', 'movedim', 'swapaxes', 'broadcast_to'],
];
const LAYOUT = new RegExp(`^(${LAYOUT_OPERATORS.join('|')})(_\\d+)?$`);

/** Functions of one number, one node each. @type {Record<string, (x: number) => number>} */
const UNARY = {
  exp: Math.exp,
  neg: (x) => -x,
  abs: Math.abs,
  tanh: Math.tanh,
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  relu: (x) => Math.max(x, 0),
  sqrt: Math.sqrt,
  log: Math.log,
  sin: Math.sin,
  cos: Math.cos,
  reciprocal: (x) => 1 / x,
};
const stem = (/** @type {string} */ name) => name.replace(/_\d+$/, '');
const unaryOf = (/** @type {string} */ name) => (Object.hasOwn(UNARY, stem(name)) ? UNARY[stem(name)] : undefined);

/**
 * The steps from the one tensor that a value was folded from: functions of its elements beside changes of layout.
 * A value between that has another name may be anything: undefined.
 * @param {string} name @param {readonly string[]} between the names of what it was folded from, without the tensor's
 * @param {boolean} sameDims as the tensor's, so that an unnamed step among others is none of layout alone
 */
export function stepsOf(name, between, sameDims) {
  const others = [name, ...between].filter((value) => !LAYOUT.test(value));
  const steps = others.map(unaryOf);
  const unnamed = isNumbered(name) && between.some(isNumbered);
  if (steps.some((step) => !step) || steps.length > 2 || (sameDims && unnamed)) return undefined;
  if (steps.length === 2 && others[0] !== name) return undefined; // in which order?
  return /** @type {((x: number) => number)[]} */ (steps.reverse());
}

// ── recurrent layers: PyTorch's gates in ONNX's order, both directions, both biases ──

/** @type {Record<string, number[]>} */
const GATES = { LSTM: [0, 3, 1, 2], GRU: [1, 0, 2], RNN: [0] };
const PARTS = [[], ['weight_ih'], ['weight_hh'], ['bias_ih', 'bias_hh']];
const LAYER = /^(?:(.*)\.)?(?:weight|bias)_[ih]h_l(\d+)(?:_reverse)?$/;

/**
 * @param {ModelParameter} parameter @param {readonly ModelParameter[]} parameters @param {Notes} notes
 * @returns {Recipe | undefined} undefined: it is no parameter of such a layer
 */
export function recurrentRecipe(parameter, parameters, { origins, inputs }) {
  const reader = parameter.readers.find(({ op }) => RECURRENT.test(op));
  const parts = PARTS[inputs.get(parameter.name) ?? 0];
  if (!reader || !parts?.length) return undefined;
  const layerNote = (origins.get(parameter.name) ?? []).map((name) => LAYER.exec(name)).find(Boolean);
  if (!layerNote && !reader.node.includes('/')) return undefined;
  const module = layerNote ? (layerNote[1] ?? '') : moduleOfNode(reader.node);
  const layer = layerNote ? layerNote[2] : layerOf(reader.node, module, parameters);
  const names = Array.from({ length: parameter.dims[0] }, (_, direction) =>
    parts.map((part) => `${module && `${module}.`}${part}_l${layer}${direction ? '_reverse' : ''}`),
  ).flat();
  const gates = GATES[reader.op];
  return {
    names,
    make: (tensors) => concatFloats(tensors.map((tensor) => reordered(tensor, gates))),
  };
}

/**
 * The nodes of a module are its layers.
 * @param {string} node @param {string} module @param {readonly ModelParameter[]} parameters
 */
function layerOf(node, module, parameters) {
  const nodes = parameters.flatMap(({ readers }) => readers.filter(({ op }) => RECURRENT.test(op)));
  return [...new Set(nodes.map((reader) => reader.node))].filter((name) => moduleOfNode(name) === module).indexOf(node);
}

/** @param {Floats} tensor of as many rows for each gate @param {number[]} gates */
function reordered(tensor, gates) {
  const rows = rowsOf(tensor, gates.length);
  return concatFloats(gates.map((gate) => rows[gate]));
}

// ── BatchNormalization folded into the layer before it ──

/** The default of PyTorch: the file does not tell the module's own. */
const EPSILON = 1e-5;

/**
 * A convolution or linear layer that has the name of a BatchNormalization, too: dynamo's exporter has made them one.
 *
 *     w' = w · γ / √(σ² + ε)      b' = (b − μ) · γ / √(σ² + ε) + β
 *
 * @param {ModelParameter} parameter @param {(name: string) => boolean} has whether there is such a tensor
 * @returns {Recipe | undefined}
 */
export function foldedRecipe({ name, names, dims, readers, transposed }, has) {
  const norm = names.map(moduleOf).find((module) => has(`${module}.running_mean`));
  const op = readers.map((reader) => reader.op).find((type) => /^(Conv|ConvTranspose|Gemm)$/.test(type));
  const isBias = /bias$/.test(name);
  const layer = moduleOf(name);
  if (norm === undefined || norm === layer || !op || transposed || !has(`${layer}.weight`)) return undefined;
  const first = isBias ? `${layer}.bias` : `${layer}.weight`;
  const start = has(first) ? 1 : 0;
  if (!start && !isBias) return undefined;
  const axis = op === 'ConvTranspose' ? 1 : 0;
  return {
    names: [
      ...(start ? [first] : []),
      ...['weight', 'bias', 'running_mean', 'running_var'].map((tensor) => `${norm}.${tensor}`),
    ],
    warning: norm,
    make(parts) {
      const [gamma, beta, mean, variance] = parts.slice(start);
      const x = start ? parts[0] : new Float32Array(gamma.length);
      const scale = gamma.map((g, i) => g / Math.sqrt(variance[i] + EPSILON));
      if (isBias) return x.map((b, i) => (b - mean[i]) * scale[i] + beta[i]);
      const inner = dims.slice(axis + 1).reduce((a, b) => a * b, 1);
      return x.map((w, i) => w * scale[Math.floor(i / inner) % dims[axis]]);
    },
  };
}
