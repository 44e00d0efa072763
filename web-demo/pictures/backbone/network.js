// The backbone's network: inverted residuals as in MobileNetV2 on 96 × 96 pixels, with a BatchNormalization after each
// convolution while it is trained, and without in the file that a page loads.

import { Graph } from '../../../tests/bench/models/graph.js';
import { onnxFile, TYPES } from '../../../tests/support/onnx-file.js';
import { SIDE } from '../views.js';

/** Channels, expansion, stride of each block. */
const BLOCKS = [
  [16, 2, 2],
  [24, 3, 1],
  [32, 3, 2],
  [32, 3, 1],
  [64, 4, 2],
  [64, 3, 1],
  [64, 3, 1],
  [96, 4, 2],
  [96, 4, 1],
];
const STEM = 16;
const FEATURES = 320;
const EPSILON = 1e-5;

/** @typedef {{ kernel: number, stride?: number, group?: number }} Shape */
/** @typedef {(g: Graph, x: string, name: string, channels: number, shape: Shape) => string} Layer */

/** Adds a convolution with a normalization that learns. @type {Layer} */
function normalized(g, x, name, channels, { kernel, stride = 1, group = 1 }) {
  const [batch, inputs, height, width] = g.shapes[x];
  const dims = [batch, channels, Math.ceil(height / stride), Math.ceil(width / stride)];
  const fan = (inputs / group) * kernel * kernel;
  const weight = g.weight(`${name}.weight`, [channels, inputs / group, kernel, kernel], Math.sqrt(6 / fan));
  const y = g.op('Conv', [x, weight], convolution(kernel, stride, group), dims);
  const parts = [
    g.filled(`${name}.norm.weight`, [channels], 1),
    g.filled(`${name}.norm.bias`, [channels], 0),
    g.filled(`${name}.norm.running_mean`, [channels], 0),
    g.filled(`${name}.norm.running_var`, [channels], 1),
  ];
  return g.op('BatchNormalization', [y, ...parts], { epsilon: { float: EPSILON } }, dims);
}

/** @param {number} kernel @param {number} stride @param {number} group */
function convolution(kernel, stride, group) {
  const pad = (kernel - 1) / 2;
  return {
    dilations: [1, 1],
    group,
    kernel_shape: [kernel, kernel],
    pads: [pad, pad, pad, pad],
    strides: [stride, stride],
  };
}

/** @param {Graph} g @param {string} x @param {string} name @param {number[]} block @param {Layer} layer */
function inverted(g, x, name, [channels, expansion, stride], layer) {
  const inputs = g.shapes[x][1];
  const wide = inputs * expansion;
  let y = g.relu6(layer(g, x, `${name}.expand`, wide, { kernel: 1 }));
  y = g.relu6(layer(g, y, `${name}.depthwise`, wide, { kernel: 3, stride, group: wide }));
  y = layer(g, y, `${name}.project`, channels, { kernel: 1 });
  return stride === 1 && inputs === channels ? g.add(x, y) : y;
}

/** The network to the features, and its last value's name. @param {number} batch @param {Layer} layer */
function features(batch, layer) {
  const g = new Graph('pictures', batch, { name: 'image', type: 'float32', dims: [3, SIDE, SIDE] });
  let x = g.relu6(layer(g, 'image', 'stem', STEM, { kernel: 3, stride: 2 }));
  BLOCKS.forEach((block, i) => {
    x = inverted(g, x, `block${i + 1}`, block, layer);
  });
  x = g.relu6(layer(g, x, 'last', FEATURES, { kernel: 1 }));
  return { g, x: g.flatten(g.globalAveragePool(x)) };
}

/**
 * The network that trains: normalizations, pictures of any size, a score for each class.
 * @param {number} classes @param {number} batch
 */
export function toTrain(classes, batch) {
  const { g, x } = features(batch, normalized);
  g.input.dims = [3, 'height', 'width'];
  return g.end(g.dense(x, 'classifier', classes));
}

/**
 * The file that is shipped: each normalization is in its convolution, whose weights are float16, and the output is the
 * features.
 * @param {(name: string) => Float32Array} trained the trained parameters
 */
export function toShip(trained) {
  const batch = 2;
  const { g, x } = features(batch, (...layer) => folded(trained, ...layer));
  const last = g.nodes.at(-1);
  last.outputs = last.outputs.map((name) => (name === x ? 'features' : name));
  return onnxFile({
    name: g.name,
    nodes: g.nodes,
    weights: g.weights,
    inputs: [{ name: 'image', type: 'float32', dims: ['N', 3, SIDE, SIDE] }],
    outputs: [{ name: 'features', type: 'float32', dims: ['N', FEATURES] }],
  });
}

/**
 * The same as a graph for who cannot read the file, its last value named `logits`.
 * @param {(layer: string) => { weight: Float32Array, bias: Float32Array }} valuesOf as they are in the file
 */
export function asGraph(valuesOf) {
  const { g, x } = features(2, (graph, from, name, channels, { kernel, stride = 1, group = 1 }) => {
    const y = graph.conv(from, name, channels, { kernel, stride, group });
    for (const [part, data] of Object.entries(valuesOf(name))) graph.weights.get(`${name}.${part}`).data = data;
    return y;
  });
  return g.end(x);
}

/**
 * Adds such a convolution: w = scale · w / √(variance + ε), b = bias − scale · mean / √(variance + ε).
 * @param {(name: string) => Float32Array} trained @param {Parameters<Layer>} layer
 */
function folded(trained, ...[g, x, name, channels, { kernel, stride = 1, group = 1 }]) {
  const [batch, inputs, height, width] = g.shapes[x];
  const part = (/** @type {string} */ which) => trained(`${name}.norm.${which}`);
  const [scale, bias, mean, variance] = ['weight', 'bias', 'running_mean', 'running_var'].map(part);
  const factors = scale.map((s, c) => s / Math.sqrt(variance[c] + EPSILON));
  const weight = trained(`${name}.weight`);
  const each = weight.length / channels;
  const data = halves(weight.map((w, i) => w * factors[Math.floor(i / each)]));
  const dims = [channels, inputs / group, kernel, kernel];
  g.weights.set(`${name}.weight`, { type: 'float16', dims, data });
  g.weights.set(`${name}.bias`, {
    type: 'float32',
    dims: [channels],
    data: bias.map((b, c) => b - factors[c] * mean[c]),
  });
  const whole = g.op('Cast', [`${name}.weight`], { to: TYPES.float32 }, dims);
  const size = [height, width].map((pixels) => Math.ceil(pixels / stride));
  return g.op('Conv', [x, whole, `${name}.bias`], convolution(kernel, stride, group), [batch, channels, ...size]);
}

/** The nearest float16s, as bits; what is smaller than any becomes 0. @param {Float32Array} values */
function halves(values) {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  return Uint16Array.from(bits, (word) => {
    const sign = (word >>> 16) & 0x8000;
    const rounded = (word & 0x7fffffff) + 0xfff + ((word >>> 13) & 1);
    const exponent = (rounded >>> 23) - 127 + 15;
    if (exponent > 30) throw new Error('a weight is too large for float16');
    return exponent < 1 ? sign : sign | (exponent << 10) | ((rounded >>> 13) & 0x3ff);
  });
}
