// A network as a plain list of ONNX nodes with deterministic weights, so that every contender trains the same one.
//
//   graph.nodes: { op, inputs, outputs, attributes } in order;  graph.weights: name → { type, dims, data };  graph.shapes: value → dims at this batch

import { batchUnit } from '../../golden/recipe.js';
import { onnxFile } from './onnx_file.js';

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
    dims.forEach((d, i) => { this.shapes[outputs[i]] = d; });
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
    const weights = [this.weight(`${name}.weight`, [outputs, inputs], bound / Math.sqrt(inputs)), this.weight(`${name}.bias`, [outputs], bound / Math.sqrt(inputs))];
    return this.op('Gemm', [x, ...weights], { transB: 1 }, [batch, outputs]);
  }

  /** A dense layer on the last of three dims, as PyTorch exports it: MatMul, then Add. */
  linear(x, name, outputs, { bias = true } = {}) {
    const [batch, tokens, inputs] = this.shapes[x];
    const dims = [batch, tokens, outputs];
    const y = this.op('MatMul', [x, this.weight(`${name}.weight`, [inputs, outputs], 1 / Math.sqrt(inputs))], {}, dims);
    return bias ? this.op('Add', [this.weight(`${name}.bias`, [outputs], 1 / Math.sqrt(inputs)), y], {}, dims) : y;
  }

  /** Any number of spatial dims; the bias is a folded normalization's. */
  conv(x, name, channels, { kernel, stride = 1, group = 1, gain = 1 }) {
    const [batch, inputs, ...size] = this.shapes[x];
    const pad = (kernel - 1) / 2;
    const fan = (inputs / group) * kernel ** size.length;
    const every = (value) => size.map(() => value);
    const weights = [this.weight(`${name}.weight`, [channels, inputs / group, ...every(kernel)], gain * Math.sqrt(3 / fan)), this.weight(`${name}.bias`, [channels], 0.1)];
    const attributes = { dilations: every(1), group, kernel_shape: every(kernel), pads: [...every(pad), ...every(pad)], strides: every(stride) };
    return this.op('Conv', [x, ...weights], attributes, [batch, channels, ...size.map((s) => Math.floor((s - 1) / stride) + 1)]);
  }

  maxPool2(x) {
    const [batch, channels, ...size] = this.shapes[x];
    const two = size.map(() => 2);
    return this.op('MaxPool', [x], { kernel_shape: two, strides: two }, [batch, channels, ...size.map((s) => s / 2)]);
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
    return this.op('Clip', [x, this.constant('float32', [], [0]), this.constant('float32', [], [6])], {}, this.shapes[x]);
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
    return this.op('Transpose', [x], { perm }, perm.map((p) => this.shapes[x][p]));
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
      name, nodes, weights,
      inputs: [{ name: input.name, type: input.type, dims: ['N', ...input.dims] }],
      outputs: [{ name: 'logits', type: 'float32', dims: ofAnyBatch(shapes.logits) }],
    });
  }
}
