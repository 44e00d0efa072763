// TensorFlow.js, its wasm and its cpu backend: the network from its core's operators, the gradient by variableGrads,
// its own optimizers.
//
// Convolutions are channels-last there, the only order its processor backends know; the input is turned once, features
// before Flatten.

const library = new URL('../../../build/bench/tfjs.js', import.meta.url);
const wasm = new URL('../node_modules/@tensorflow/tfjs-backend-wasm/dist/', import.meta.url);

export const toLast = (rank) => [0, ...Array.from({ length: rank - 2 }, (_, i) => i + 2), 1];
const toFirst = (rank) => [0, rank - 1, ...Array.from({ length: rank - 2 }, (_, i) => i + 1)];

/**
 * Weights as its own layers hold them: dense (inputs, outputs), a convolution's (…, C, K), a depthwise one's (…, C, 1).
 */
export function layouts({ nodes }) {
  const perms = {};
  for (const {
    op,
    inputs: [, w],
    attributes,
  } of nodes) {
    if (op === 'Gemm') perms[w] = [1, 0];
    if (op !== 'Conv') continue;
    const places = attributes.strides.map((_, i) => i + 2);
    perms[w] = attributes.group === 1 ? [...places, 1, 0] : [...places, 0, 1];
  }
  return perms;
}

/** A rule an operator: (tf, inputs, attributes, dims of the first output) → output or outputs. */
const RULES = {
  Constant: (tf, _, { value: { type, dims, data } }) =>
    tf.tensor(type === 'int64' ? Int32Array.from(data, Number) : data, dims, type === 'int64' ? 'int32' : type),
  Gemm: (tf, [x, w, b]) => tf.add(tf.matMul(x, w), b),
  MatMul: (tf, [a, b]) =>
    b.rank === 2 && a.rank > 2
      ? tf.reshape(tf.matMul(tf.reshape(a, [-1, a.shape.at(-1)]), b), [...a.shape.slice(0, -1), b.shape[1]])
      : tf.matMul(a, b),
  Add: (tf, [a, b]) => tf.add(a, b),
  Mul: (tf, [a, b]) => tf.mul(a, b),
  Relu: (tf, [x]) => tf.relu(x),
  Clip: (tf, [x]) => tf.relu6(x),
  /** A signal is an image of height 1. */
  Conv: (tf, [x, w, b], { strides, pads, group }) => {
    const flat = strides.length === 1;
    const image = flat ? tf.expandDims(x, 1) : x;
    const padded = pads.some(Boolean)
      ? [
          [0, 0],
          ...(flat
            ? [
                [0, 0],
                [pads[0], pads[1]],
              ]
            : [
                [pads[0], pads[2]],
                [pads[1], pads[3]],
              ]),
          [0, 0],
        ]
      : 'valid';
    const filter = flat ? tf.expandDims(w, 0) : w;
    const steps = flat ? [1, strides[0]] : strides;
    const y = group === 1 ? tf.conv2d(image, filter, steps, padded) : tf.depthwiseConv2d(image, filter, steps, padded);
    return tf.add(flat ? tf.squeeze(y, [1]) : y, b);
  },
  MaxPool: (tf, [x], { kernel_shape }) =>
    kernel_shape.length === 1
      ? tf.squeeze(tf.maxPool(tf.expandDims(x, 1), [1, kernel_shape[0]], [1, kernel_shape[0]], 'valid'), [1])
      : tf.maxPool(x, kernel_shape, kernel_shape, 'valid'),
  GlobalAveragePool: (tf, [x]) =>
    tf.mean(
      x,
      x.shape.slice(1, -1).map((_, i) => i + 1),
      true,
    ),
  Flatten: (tf, [x]) => tf.reshape(tf.transpose(x, toFirst(x.rank)), [x.shape[0], -1]),
  Reshape: (tf, [x], _, dims) => tf.reshape(x, dims),
  Transpose: (tf, [x], { perm }) => tf.transpose(x, perm),
  Split: (tf, [x], { axis }) => tf.split(x, 3, axis),
  Softmax: (tf, [x]) => tf.softmax(x),
  Where: (tf, [condition, a, b]) => tf.where(tf.broadcastTo(condition, b.shape), tf.broadcastTo(a, b.shape), b),
  LayerNormalization: (tf, [x, scale, bias]) => {
    const { mean, variance } = tf.moments(x, -1, true);
    return tf.add(tf.mul(tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, 1e-5))), scale), bias);
  },
  Gather: (tf, [w, ids]) => tf.gather(w, ids),
};

export function forward(tf, graph, arrays) {
  const values = new Map(Object.entries(arrays));
  for (const node of graph.nodes) {
    const outputs = [
      RULES[node.op](
        tf,
        node.inputs.map((name) => values.get(name)),
        node.attributes,
        graph.shapes[node.outputs[0]],
      ),
    ].flat();
    node.outputs.forEach((name, i) => {
      values.set(name, outputs[i]);
    });
  }
  return values.get('logits');
}

function makeOptimizer(tf, { type, lr, betas, eps }) {
  return type === 'sgd' ? tf.train.sgd(lr) : tf.train.adam(lr, betas[0], betas[1], eps);
}

/** Its wasm backend looks for CommonJS's globals in Node. */
async function pretendCommonJs() {
  const { createRequire } = await import('node:module');
  Object.assign(globalThis, {
    require: createRequire(import.meta.url),
    __dirname: wasm.pathname,
    __filename: library.pathname,
  });
}

export async function load(backend, threads) {
  if (globalThis.process) await pretendCommonJs();
  const tf = await import(library);
  if (backend === 'wasm') {
    tf.setWasmPaths(globalThis.process ? wasm.pathname : wasm.href);
    tf.setThreadsCount(threads);
  }
  if (!(await tf.setBackend(backend))) throw new Error(`TensorFlow.js has no backend ${backend}`);
  await tf.ready();
  return tf;
}

export async function open(task, { contender, threads }) {
  return await openWith(await load(contender === 'tfjs-wasm' ? 'wasm' : 'cpu', threads), task);
}

/** The same on a library whose backend is ready. */
export async function openWith(tf, { graph, trains, optimizer, feeds, forward: onlyForward }) {
  const tensorOf = ({ type, data, dims }) =>
    type === 'float32' ? tf.tensor(data, dims) : tf.tensor(Int32Array.from(data, Number), dims, 'int32');
  const fed = tensorOf(feeds[graph.input.name]);
  const input = fed.rank > 2 ? tf.transpose(fed, toLast(fed.rank)) : fed;
  const arrays = { [graph.input.name]: input };
  const perms = layouts(graph);
  for (const [name, weight] of graph.weights) {
    const value = perms[name] ? tf.transpose(tensorOf(weight), perms[name]) : tensorOf(weight);
    arrays[name] = trains(name) ? tf.variable(value) : value;
  }
  if (onlyForward)
    return {
      step: async () => {
        const y = tf.tidy(() => forward(tf, graph, arrays));
        const data = await y.data();
        y.dispose();
        return data[0];
      },
    };
  const variables = [...graph.weights.keys()].filter(trains).map((name) => arrays[name]);
  const classes = graph.shapes.logits[1];
  const targets = tf.oneHot(tensorOf(feeds.labels), classes);
  const rule = makeOptimizer(tf, optimizer);
  const loss = () => tf.losses.softmaxCrossEntropy(targets, forward(tf, graph, arrays));
  const decay = 1 - optimizer.lr * (optimizer.weightDecay ?? 0);
  return {
    async step() {
      const { value, grads } = tf.variableGrads(loss, variables);
      if (decay !== 1)
        tf.tidy(() => {
          for (const v of variables) v.assign(tf.mul(v, decay));
        }); // its Adam has none
      rule.applyGradients(grads);
      tf.dispose(grads);
      const [result] = await value.data();
      value.dispose();
      return result;
    },
  };
}
