// A network as a plain list of ONNX nodes with deterministic weights, so that every contender trains the same one.
//
//   graph.nodes: { op, inputs, outputs, attributes } in order;  graph.weights: name → { type, dims, data };
//   graph.shapes: value → dims at this batch

import { batchUnit } from '../../support/recipe.js';
import { onnxFile } from '../../support/onnx-file.js';

const product = (dims) => dims.reduce((a, b) => a * b, 1);
const CLASSES = { float32: Float32Array, int64: BigInt64Array, bool: Uint8Array };

export class Graph {
  nodes = [];
  weights = new Map();
  shapes = {};
  #constants = new Map();

  constructor(name, batch, input) {
    Object.assign(this, { name, batch, input });
    this.shapes[input.name] = [batch, ...input.dims];
  }

  /** Adds a node and says its outputs' dims; gives the first output's name. */
  op(op, inputs, attributes, ...dims) {
    const outputs = dims.map((_, i) => `${op}_${this.nodes.length}${i ? `_${i}` : ''}`);
    this.nodes.push({ op, inputs, outputs, attributes });
    dims.forEach((d, i) => {
      this.shapes[outputs[i]] = d;
    });
    return outputs[0];
  }

  /** Uniform in ±bound. */
  weight(name, dims, bound) {
    const data = new Float32Array(product(dims));
    const seed = 1000 + this.weights.size;
    for (let i = 0; i < data.length; i++) data[i] = (2 * batchUnit(seed, i) - 1) * bound;
    return this.#add(name, dims, data);
  }

  filled(name, dims, value) {
    return this.#add(name, dims, new Float32Array(product(dims)).fill(value));
  }

  #add(name, dims, data) {
    this.weights.set(name, { type: 'float32', dims, data });
    this.shapes[name] = dims;
    return name;
  }

  /** A node Constant, one for equal values. */
  constant(type, dims, values) {
    const key = `${type} ${dims} ${values}`;
    if (!this.#constants.has(key)) {
      const data = CLASSES[type].from(type === 'int64' ? values.map(BigInt) : values);
      this.#constants.set(key, this.op('Constant', [], { value: { type, dims, data } }, dims));
    }
    return this.#constants.get(key);
  }

  // ── layers ──

  /** y = x · Wᵀ + b */
  dense(x, name, outputs, bound = 1) {
    const [batch, inputs] = this.shapes[x];
    const weights = [
      this.weight(`${name}.weight`, [outputs, inputs], bound / Math.sqrt(inputs)),
      this.weight(`${name}.bias`, [outputs], bound / Math.sqrt(inputs)),
    ];
    return this.op('Gemm', [x, ...weights], { transB: 1 }, [batch, outputs]);
  }

  /** A dense layer on the last of three dims, as PyTorch exports it: MatMul, then Add. */
  linear(x, name, outputs, { bias = true, rank = 0 } = {}) {
    const [batch, tokens, inputs] = this.shapes[x];
    const dims = [batch, tokens, outputs];
    const y = this.op('MatMul', [x, this.weight(`${name}.weight`, [inputs, outputs], 1 / Math.sqrt(inputs))], {}, dims);
    const base = bias
      ? this.op('Add', [this.weight(`${name}.bias`, [outputs], 1 / Math.sqrt(inputs)), y], {}, dims)
      : y;
    if (!rank) return base;
    const low = this.matmul(x, this.weight(`${name}.lora_A.weight`, [inputs, rank], 1 / Math.sqrt(inputs)));
    return this.add(base, this.matmul(low, this.weight(`${name}.lora_B.weight`, [rank, outputs], 0.01)));
  }

  /** Any number of spatial dims; the bias is a folded normalization's. */
  conv(x, name, channels, { kernel, stride = 1, group = 1, gain = 1, pad = (kernel - 1) / 2, bias = true }) {
    const [batch, inputs, ...size] = this.shapes[x];
    const fan = (inputs / group) * kernel ** size.length;
    const every = (value) => size.map(() => value);
    const weights = [
      this.weight(`${name}.weight`, [channels, inputs / group, ...every(kernel)], gain * Math.sqrt(3 / fan)),
      ...(bias ? [this.weight(`${name}.bias`, [channels], 0.1)] : []),
    ];
    const attributes = {
      dilations: every(1),
      group,
      kernel_shape: every(kernel),
      pads: [...every(pad), ...every(pad)],
      strides: every(stride),
    };
    return this.op('Conv', [x, ...weights], attributes, [
      batch,
      channels,
      ...size.map((s) => Math.floor((s + 2 * pad - kernel) / stride) + 1),
    ]);
  }

  /** MaxPool or AveragePool, of which the latter leaves padding out; `ceil`: the last window may reach past the end. */
  pool(op, x, { kernel, stride, pad = 0, ceil = false }) {
    const [batch, channels, ...size] = this.shapes[x];
    const every = (value) => size.map(() => value);
    const attributes = {
      kernel_shape: every(kernel),
      strides: every(stride),
      pads: [...every(pad), ...every(pad)],
      ...(ceil && { ceil_mode: 1 }),
    };
    const windows = (s) => Math[ceil ? 'ceil' : 'floor']((s + 2 * pad - kernel) / stride) + 1;
    return this.op(op, [x], attributes, [batch, channels, ...size.map(windows)]);
  }

  /** Uses its running statistics in eval mode. */
  batchNorm(x, name) {
    const channels = [this.shapes[x][1]];
    const weights = [
      this.filled(`${name}.weight`, channels, 1),
      this.weight(`${name}.bias`, channels, 0.1),
      this.weight(`${name}.running_mean`, channels, 0.1),
      this.filled(`${name}.running_var`, channels, 1.5),
    ];
    return this.op('BatchNormalization', [x, ...weights], { epsilon: { float: 1e-5 } }, this.shapes[x]);
  }

  /** Side by side along the channels. */
  concat(parts) {
    const [batch, , ...size] = this.shapes[parts[0]];
    const channels = parts.reduce((sum, part) => sum + this.shapes[part][1], 0);
    return this.op('Concat', parts, { axis: 1 }, [batch, channels, ...size]);
  }

  maxPool2(x) {
    const [batch, channels, ...size] = this.shapes[x];
    const two = size.map(() => 2);
    return this.op('MaxPool', [x], { kernel_shape: two, strides: two }, [batch, channels, ...size.map((s) => s / 2)]);
  }

  /**
   * Groups of channels, as PyTorch exports it before opset 21: InstanceNormalization over them, then a scale and a
   * shift of each channel.
   */
  groupNorm(x, name, groups) {
    const dims = this.shapes[x];
    const [batch, channels] = dims;
    const each = (channels / groups) * product(dims.slice(2));
    const units = [
      this.constant('float32', [groups], Array(groups).fill(1)),
      this.constant('float32', [groups], Array(groups).fill(0)),
    ];
    const split = this.op('Reshape', [x, this.constant('int64', [3], [0, groups, -1])], {}, [batch, groups, each]);
    const normal = this.op('InstanceNormalization', [split, ...units], { epsilon: { float: 1e-5 } }, [
      batch,
      groups,
      each,
    ]);
    const joined = this.op('Reshape', [normal, this.op('Shape', [x], {}, [dims.length])], {}, dims);
    const perChannel = [channels, ...dims.slice(2).map(() => 1)];
    const scaled = this.op('Mul', [joined, this.filled(`${name}.weight`, perChannel, 1)], {}, dims);
    return this.op('Add', [scaled, this.filled(`${name}.bias`, perChannel, 0)], {}, dims);
  }

  /** In pieces, as PyTorch exports it before opset 20. */
  gelu(x) {
    const dims = this.shapes[x];
    const number = (value) => this.constant('float32', [], [value]);
    const erf = this.op('Erf', [this.op('Div', [x, number(Math.SQRT2)], {}, dims)], {}, dims);
    return this.op(
      'Mul',
      [this.op('Mul', [x, this.op('Add', [erf, number(1)], {}, dims)], {}, dims), number(0.5)],
      {},
      dims,
    );
  }

  /** Twice as large, each pixel to 2 × 2 of its own. */
  up2(x, name, channels) {
    const [batch, inputs, ...size] = this.shapes[x];
    const weights = [
      this.weight(`${name}.weight`, [inputs, channels, ...size.map(() => 2)], 1 / Math.sqrt(inputs)),
      this.weight(`${name}.bias`, [channels], 0.1),
    ];
    const two = size.map(() => 2);
    return this.op('ConvTranspose', [x, ...weights], { kernel_shape: two, strides: two }, [
      batch,
      channels,
      ...size.map((s) => 2 * s),
    ]);
  }

  /** The state after the last step of (batch, steps, inputs). */
  lstm(x, name, hidden) {
    const [batch, steps, inputs] = this.shapes[x];
    const bound = 1 / Math.sqrt(hidden);
    const weight = (part, ...dims) => this.weight(`${name}.${part}`, [1, ...dims], bound);
    const weights = [
      weight('weight_ih', 4 * hidden, inputs),
      weight('weight_hh', 4 * hidden, hidden),
      weight('bias', 8 * hidden),
    ];
    this.op(
      'LSTM',
      [this.transpose(x, [1, 0, 2]), ...weights],
      { hidden_size: hidden },
      [steps, 1, batch, hidden],
      [1, batch, hidden],
    );
    return this.op('Squeeze', [this.nodes.at(-1).outputs[1], this.constant('int64', [1], [0])], {}, [batch, hidden]);
  }

  globalAveragePool(x) {
    const [batch, channels, ...size] = this.shapes[x];
    return this.op('GlobalAveragePool', [x], {}, [batch, channels, ...size.map(() => 1)]);
  }

  flatten(x) {
    const [batch, ...rest] = this.shapes[x];
    return this.op('Flatten', [x], { axis: 1 }, [batch, product(rest)]);
  }

  relu(x) {
    return this.op('Relu', [x], {}, this.shapes[x]);
  }

  relu6(x) {
    return this.op(
      'Clip',
      [x, this.constant('float32', [], [0]), this.constant('float32', [], [6])],
      {},
      this.shapes[x],
    );
  }

  add(a, b) {
    return this.op('Add', [a, b], {}, this.shapes[a]);
  }

  matmul(a, b) {
    return this.op('MatMul', [a, b], {}, [...this.shapes[a].slice(0, -1), this.shapes[b].at(-1)]);
  }

  /** dims may begin with -1, the batch. */
  reshape(x, dims) {
    const rest = product(dims.filter((d) => d !== -1));
    const known = dims.map((d) => (d === -1 ? product(this.shapes[x]) / rest : d));
    return this.op('Reshape', [x, this.constant('int64', [dims.length], dims)], {}, known);
  }

  transpose(x, perm) {
    return this.op(
      'Transpose',
      [x],
      { perm },
      perm.map((p) => this.shapes[x][p]),
    );
  }

  layerNorm(x, name) {
    const width = this.shapes[x].at(-1);
    const weights = [this.filled(`${name}.weight`, [width], 1), this.filled(`${name}.bias`, [width], 0)];
    return this.op('LayerNormalization', [x, ...weights], { axis: -1, epsilon: { float: 1e-5 } }, this.shapes[x]);
  }

  // ── the finished network ──

  /** Names the scores; the model's output. */
  end(x) {
    for (const node of this.nodes) node.outputs = node.outputs.map((name) => (name === x ? 'logits' : name));
    this.shapes.logits = this.shapes[x];
    delete this.shapes[x];
    return this;
  }

  /** Its bytes, for any batch. */
  onnx() {
    const { name, nodes, weights, input, shapes, batch } = this;
    const ofAnyBatch = ([first, ...rest]) => [first === batch ? 'N' : 'M', ...rest];
    return onnxFile({
      name,
      nodes,
      weights,
      inputs: [{ name: input.name, type: input.type, dims: ['N', ...input.dims] }],
      outputs: [{ name: 'logits', type: 'float32', dims: ofAnyBatch(shapes.logits) }],
    });
  }
}
