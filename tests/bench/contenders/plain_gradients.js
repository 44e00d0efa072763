// The gradient of a network in plain ONNX operators, one rule an operator, written to be fast in an inference runtime.
//
// A rule gets the node and the gradient dy of its first output (of all outputs, for Split) and gives each input its
// gradient.

const product = (dims) => dims.reduce((a, b) => a * b, 1);
const range = (n) => Array.from({ length: n }, (_, i) => i);

/** The tools of a rule: emits nodes into `graph` and adds up what several users give to one value. */
export class Tape {
  gradients = new Map();

  constructor(graph, trains) {
    this.graph = graph;
    this.needs = new Set([...graph.weights.keys()].filter(trains));
    for (const node of graph.nodes)
      if (node.inputs.some((name) => this.needs.has(name))) for (const name of node.outputs) this.needs.add(name);
  }

  shape = (name) => this.graph.shapes[name];
  op = (op, inputs, dims, attributes = {}) => this.graph.op(op, inputs, attributes, dims);
  ints = (values) => this.graph.constant('int64', [values.length], values);
  float = (value) => this.graph.constant('float32', [], [value]);
  reshape = (x, dims) => (`${this.shape(x)}` === `${dims}` ? x : this.op('Reshape', [x, this.ints(dims)], dims));
  transpose = (x, perm) =>
    this.op(
      'Transpose',
      [x],
      perm.map((p) => this.shape(x)[p]),
      { perm },
    );
  same = (op, ...inputs) => this.op(op, inputs, this.shape(inputs[0]));

  /** Σ over `axes`. */
  sum(x, axes, keepdims = 0, op = 'ReduceSum') {
    const dims = this.shape(x).flatMap((d, i) => (axes.includes(i) ? (keepdims ? [1] : []) : [d]));
    return op === 'ReduceSum'
      ? this.op(op, [x, this.ints(axes)], dims, { keepdims })
      : this.op(op, [x], dims, { axes, keepdims });
  }

  /** The gradient of what was broadcast to dy's dims. */
  unbroadcast(dy, dims) {
    const extra = this.shape(dy).length - dims.length;
    const axes = range(this.shape(dy).length).filter(
      (i) => i < extra || (dims[i - extra] === 1 && this.shape(dy)[i] !== 1),
    );
    return axes.length ? this.reshape(this.sum(dy, axes), dims) : dy;
  }

  /** `make` emits the gradient towards `name`, if anybody wants it. */
  give(name, make) {
    if (!this.needs.has(name)) return;
    const before = this.gradients.get(name);
    const gradient = make();
    this.gradients.set(name, before ? this.same('Add', before, gradient) : gradient);
  }

  /** From the gradient of the output, every trainable weight's. */
  run(output, dy) {
    this.gradients.set(output, dy);
    for (const node of [...this.graph.nodes].slice(0, this.graph.forwardCount).reverse()) {
      const dys = node.outputs.map((name) => this.gradients.get(name));
      if (!dys.some(Boolean) || !node.outputs.some((name) => this.needs.has(name))) continue;
      if (!RULES[node.op]) throw new Error(`no plain gradient of ${node.op}`);
      RULES[node.op](this, node, node.op === 'Split' ? dys : dys[0]);
    }
    return this.gradients;
  }
}

const swapLast = (rank) => [...range(rank - 2), rank - 1, rank - 2];

const RULES = {
  Add(t, { inputs }, dy) {
    for (const name of inputs) t.give(name, () => t.unbroadcast(dy, t.shape(name)));
  },
  Mul(t, { inputs: [x, constant] }, dy) {
    t.give(x, () => t.same('Mul', dy, constant));
  },
  /** Softmax's gradient is already 0 for masked x. */
  Where(t, { inputs: [, , x] }, dy) {
    t.give(x, () => dy);
  },
  Gemm(t, { inputs: [x, w, b] }, dy) {
    t.give(w, () => t.op('Gemm', [dy, x], t.shape(w), { transA: 1 }));
    t.give(b, () => t.sum(dy, [0]));
    t.give(x, () => t.op('MatMul', [dy, w], t.shape(x)));
  },
  MatMul(t, { inputs: [a, b] }, dy) {
    if (t.shape(b).length === 2) return matMulByWeight(t, a, b, dy);
    const rank = t.shape(a).length;
    t.give(a, () => t.op('MatMul', [dy, t.transpose(b, swapLast(rank))], t.shape(a)));
    t.give(b, () => t.op('MatMul', [t.transpose(a, swapLast(rank)), dy], t.shape(b)));
  },
  Relu(t, { inputs: [x], outputs: [y] }, dy) {
    t.give(x, () => t.same('Mul', dy, t.same('Sign', y)));
  },
  /** ReLU6: sign(y · (6 − y)) is 1 inside, 0 at both ends. */
  Clip(t, { inputs: [x, , high], outputs: [y] }, dy) {
    t.give(x, () => t.same('Mul', dy, t.same('Sign', t.same('Mul', y, t.op('Sub', [high, y], t.shape(y))))));
  },
  Reshape(t, { inputs: [x] }, dy) {
    t.give(x, () => t.reshape(dy, t.shape(x)));
  },
  Flatten(t, { inputs: [x] }, dy) {
    t.give(x, () => t.reshape(dy, t.shape(x)));
  },
  Transpose(t, { inputs: [x], attributes: { perm } }, dy) {
    t.give(x, () =>
      t.transpose(
        dy,
        range(perm.length).map((i) => perm.indexOf(i)),
      ),
    );
  },
  Split(t, { inputs: [x], attributes: { axis } }, dys) {
    t.give(x, () => t.op('Concat', dys, t.shape(x), { axis }));
  },
  /** dx = y · (dy − Σ dy · y) */
  Softmax(t, { inputs: [x], outputs: [y] }, dy) {
    t.give(x, () => t.same('Mul', y, t.same('Sub', dy, t.sum(t.same('Mul', dy, y), [t.shape(y).length - 1], 1))));
  },
  LayerNormalization: layerNormalization,
  /** dW: rows of dy added up at their token's row. */
  Gather(t, { inputs: [w, tokens] }, dy) {
    const [rows, width] = t.shape(w);
    const count = product(t.shape(tokens));
    t.give(w, () => {
      const zeros = t.op('Expand', [t.float(0), t.ints([rows, width])], [rows, width]);
      return t.op('ScatterND', [zeros, t.reshape(tokens, [count, 1]), t.reshape(dy, [count, width])], [rows, width], {
        reduction: 'add',
      });
    });
  },
  MaxPool(t, { inputs: [x], outputs: [, indices], attributes }, dy) {
    t.give(x, () => t.op('MaxUnpool', [dy, indices, t.ints(t.shape(x))], t.shape(x), attributes));
  },
  GlobalAveragePool(t, { inputs: [x] }, dy) {
    const [, , ...size] = t.shape(x);
    t.give(x, () => t.op('Expand', [t.same('Mul', dy, t.float(1 / product(size))), t.ints(t.shape(x))], t.shape(x)));
  },
  Conv: conv,
};

/** One large product over all rows, where a batched one would be many small. */
function matMulByWeight(t, a, w, dy) {
  const [inputs, outputs] = t.shape(w);
  const rows = product(t.shape(a)) / inputs;
  const flat = t.reshape(dy, [rows, outputs]);
  t.give(w, () => t.op('Gemm', [t.reshape(a, [rows, inputs]), flat], [inputs, outputs], { transA: 1 }));
  t.give(a, () => t.reshape(t.op('Gemm', [flat, w], [rows, inputs], { transB: 1 }), t.shape(a)));
}

/** x̂ = (x − mean) / σ, g = dy · scale: dx = (g − mean(g) − x̂ · mean(g · x̂)) / σ */
function layerNormalization(t, { inputs: [x, scale, bias], outputs: [, mean, inverse] }, dy) {
  const axis = t.shape(x).length - 1;
  const normal = t.same('Mul', t.same('Sub', x, mean), inverse);
  t.give(scale, () => t.unbroadcast(t.same('Mul', dy, normal), t.shape(scale)));
  t.give(bias, () => t.unbroadcast(dy, t.shape(bias)));
  t.give(x, () => {
    const g = t.same('Mul', dy, scale);
    const meanOf = (value) => t.sum(value, [axis], 1, 'ReduceMean');
    return t.same(
      'Mul',
      t.same('Sub', t.same('Sub', g, meanOf(g)), t.same('Mul', normal, meanOf(t.same('Mul', g, normal)))),
      inverse,
    );
  });
}

function conv(t, { inputs: [x, w, b], attributes }, dy) {
  const size = t.shape(dy).slice(2);
  t.give(b, () => t.sum(dy, [0, ...size.map((_, i) => i + 2)]));
  t.give(w, () => (attributes.group === 1 ? denseWeightGradient : depthwiseWeightGradient)(t, x, w, dy, attributes));
  t.give(x, () => {
    const { strides, pads, kernel_shape, group } = attributes;
    const rest = size.map((s, i) => t.shape(x)[i + 2] - ((s - 1) * strides[i] + kernel_shape[i] - 2 * pads[i]));
    return t.op('ConvTranspose', [dy, w], t.shape(x), { strides, pads, kernel_shape, group, output_padding: rest });
  });
}

/** Every place of the kernel, as [0 0], [0 1] … */
const places = (kernel) => kernel.reduce((all, k) => all.flatMap((place) => range(k).map((i) => [...place, i])), [[]]);

/** Slice of the padded input at the kernel's `place`, with dy's spatial dims; `first` is the first spatial axis. */
function seen(t, padded, place, size, strides, first) {
  const dims = t.shape(padded).map((d, i) => (i >= first ? size[i - first] : d));
  if (`${dims}` === `${t.shape(padded)}`) return padded;
  const ends = place.map((p, i) => p + (size[i] - 1) * strides[i] + 1);
  return t.op(
    'Slice',
    [padded, t.ints(place), t.ints(ends), t.ints(size.map((_, i) => i + first)), t.ints(strides)],
    dims,
  );
}

function padded(t, x, pads, first) {
  if (pads.every((p) => p === 0)) return x;
  const all = [...range(first).map(() => 0), ...pads.slice(0, pads.length / 2)];
  const dims = t.shape(x).map((d, i) => d + 2 * all[i]);
  return t.op('Pad', [x, t.ints([...all, ...all])], dims);
}

/** One product for each place: dW(k, c, place) = Σ over images and pixels of dy(k) · what the place sees of x(c). */
function denseWeightGradient(t, x, w, dy, { pads, strides, kernel_shape }) {
  const [outputs, inputs] = t.shape(w);
  const [batch, , ...size] = t.shape(dy);
  const pixels = batch * product(size);
  const channelsFirst = (value) => t.transpose(value, [1, 0, ...size.map((_, i) => i + 2)]);
  const errors = t.reshape(channelsFirst(dy), [outputs, pixels]);
  const image = padded(t, channelsFirst(x), pads, 2);
  const products = places(kernel_shape).map((place) => {
    const part = t.reshape(seen(t, image, place, size, strides, 2), [inputs, pixels]);
    return t.reshape(t.op('Gemm', [errors, part], [outputs, inputs], { transB: 1 }), [outputs, inputs, 1]);
  });
  const joined =
    products.length === 1 ? products[0] : t.op('Concat', products, [outputs, inputs, products.length], { axis: 2 });
  return t.reshape(joined, t.shape(w));
}

/** dW(c, place) = Σ over images and pixels of dy(c) · what the place sees of x(c). */
function depthwiseWeightGradient(t, x, w, dy, { pads, strides, kernel_shape }) {
  const channels = t.shape(w)[0];
  const size = t.shape(dy).slice(2);
  const image = padded(t, x, pads, 2);
  const sums = places(kernel_shape).map((place) => {
    const both = t.same('Mul', dy, seen(t, image, place, size, strides, 2));
    return t.reshape(t.sum(both, [0, ...size.map((_, i) => i + 2)]), [channels, 1]);
  });
  return t.reshape(t.op('Concat', sums, [channels, sums.length], { axis: 1 }), t.shape(w));
}
