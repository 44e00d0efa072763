// jax-js on its wasm backend or WebGPU: the network as a traced function, its gradient and the optimizer in one jit.
//
// jax-js counts references: `.ref` before each use, and what is left is disposed of.

const library = new URL('../node_modules/@jax-js/jax/dist/index.js', import.meta.url);

/** A rule an operator: (jax, inputs, attributes, node) → outputs, arrays read by use(name) once each. */
const RULES = {
  Constant: ({ np, int }, _, { value: { type, dims, data } }) => [
    np
      .array(type === 'float32' ? data : Int32Array.from(data, Number), {
        dtype: type === 'float32' ? np.float32 : int,
      })
      .reshape(dims),
  ],
  Gemm: ({ np }, [x, w, b]) => [np.matmul(x, np.transpose(w)).add(b)],
  MatMul: ({ np }, [a, b]) => [np.matmul(a, b)],
  Add: (_, [a, b]) => [a.add(b)],
  Mul: (_, [a, b]) => [a.mul(b)],
  Relu: ({ nn }, [x]) => [nn.relu(x)],
  Clip: ({ nn }, [x]) => [nn.relu6(x)],
  Conv: ({ lax, np }, [x, w, b], { strides, pads, group }) => {
    const rank = strides.length;
    const padding = strides.map((_, i) => [pads[i], pads[i + rank]]);
    const y = lax.convGeneralDilated(x, w, strides, padding, { featureGroupCount: group });
    return [np.add(y, b.reshape([1, -1, ...strides.map(() => 1)]))];
  },
  MaxPool: ({ np }, [x], { kernel_shape }) => {
    const [n, c, ...size] = x.shape;
    const axes = kernel_shape.map((_, i) => 3 + 2 * i);
    return [np.max(x.reshape([n, c, ...size.flatMap((s, i) => [s / kernel_shape[i], kernel_shape[i]])]), axes)];
  },
  GlobalAveragePool: ({ np }, [x]) => [
    np.mean(
      x,
      x.shape.slice(2).map((_, i) => i + 2),
      { keepdims: true },
    ),
  ],
  Flatten: (_, [x]) => [x.reshape([x.shape[0], -1])],
  Reshape: (_, [x], __, dims) => [x.reshape(dims)],
  Transpose: ({ np }, [x], { perm }) => [np.transpose(x, perm)],
  Split: ({ np }, [x], { axis }) => np.split(x, 3, axis),
  Softmax: ({ nn }, [x]) => [nn.softmax(x, -1)],
  Where: ({ np }, [condition, a, b]) => [np.where(condition.astype(np.bool), a, b)],
  LayerNormalization: ({ nn }, [x, scale, bias]) => [nn.standardize(x, -1, { epsilon: 1e-5 }).mul(scale).add(bias)],
  Gather: ({ np }, [w, ids]) => [np.take(w, ids, 0)],
};

/** The scores of the network for arrays by name. */
function forward(jax, graph, arrays) {
  const values = new Map(Object.entries(arrays));
  const used = (name) => values.get(name).ref;
  for (const node of graph.nodes) {
    const inputs =
      node.op === 'Reshape' || node.op === 'Split' || node.op === 'Clip' ? node.inputs.slice(0, 1) : node.inputs;
    const outputs = RULES[node.op](jax, inputs.map(used), node.attributes, graph.shapes[node.outputs[0]]);
    node.outputs.forEach((name, i) => {
      values.set(name, outputs[i]);
    });
  }
  return used('logits');
}

/** −mean of the log-probability of each label. */
function crossEntropy({ nn, np }, logits, labels) {
  const [rows, classes] = logits.shape;
  return np.sum(nn.logSoftmax(logits, -1).mul(nn.oneHot(labels, classes))).mul(-1 / rows);
}

/** Weights and moments after a step; `rate` and `epsilon` hold the corrections of the step. */
function update({ np }, optimizer, weight, gradient, m, v, rate, epsilon) {
  if (optimizer.type === 'sgd') return [weight.sub(gradient.mul(optimizer.lr))];
  const [b1, b2] = optimizer.betas;
  const m1 = m.mul(b1).add(gradient.ref.mul(1 - b1));
  const v1 = v.mul(b2).add(np.square(gradient).mul(1 - b2));
  const change = m1.ref.mul(rate.ref).div(np.sqrt(v1.ref).add(epsilon.ref));
  return [weight.mul(1 - optimizer.lr * (optimizer.weightDecay ?? 0)).sub(change), m1, v1];
}

/** It takes every core that the page has where memory can be shared and workers are; here it gets `threads`. */
function limitThreads(threads) {
  if (threads === 1) globalThis.Worker = undefined;
  else Object.defineProperty(navigator, 'hardwareConcurrency', { value: threads });
}

export async function open({ graph, trains, optimizer, feeds, forward: onlyForward }, { threads, device = 'wasm' }) {
  if (device === 'wasm') limitThreads(threads);
  const jax = await import(library);
  await jax.init(device);
  jax.defaultDevice(device);
  const tools = { np: jax.numpy, nn: jax.nn, lax: jax.lax, int: jax.numpy.int32 };
  const { np } = tools;
  const arrayOf = ({ type, data, dims }) =>
    np
      .array(type === 'float32' ? data : Int32Array.from(data, Number), {
        dtype: type === 'float32' ? np.float32 : np.int32,
      })
      .reshape(dims);
  const inputs = Object.fromEntries(Object.entries(feeds).map(([name, tensor]) => [name, arrayOf(tensor)]));
  const names = [...graph.weights.keys()];
  const byName = (chosen, make) => Object.fromEntries(chosen.map((name) => [name, make(name)]));
  const frozen = byName(
    names.filter((name) => !trains(name)),
    (name) => arrayOf(graph.weights.get(name)),
  );
  const refs = (tree) => jax.tree.ref(tree);
  if (onlyForward) {
    const run = jax.jit((weights, data) => forward(tools, graph, { ...weights, ...data }));
    return { step: async () => (await run(refs(frozen), refs(inputs)).data())[0] };
  }
  const trained = names.filter(trains);
  let weights = byName(trained, (name) => arrayOf(graph.weights.get(name)));
  const zeros = () =>
    optimizer.type === 'sgd' ? {} : byName(trained, (name) => np.zeros(graph.weights.get(name).dims));
  let [m, v] = [zeros(), zeros()];
  const { [graph.input.name]: x, labels } = inputs;
  const loss = (w, rest, data, targets) =>
    crossEntropy(tools, forward(tools, graph, { ...w, ...rest, [graph.input.name]: data }), targets);
  const train = jax.jit((w, m0, v0, rest, data, targets, rate, epsilon) => {
    const [value, gradients] = jax.valueAndGrad(loss)(refs(w), rest, data, targets);
    const next = { w: {}, m: {}, v: {} };
    for (const name of trained)
      [next.w[name], next.m[name], next.v[name]] = update(
        tools,
        optimizer,
        w[name],
        gradients[name],
        m0[name],
        v0[name],
        rate,
        epsilon,
      );
    return optimizer.type === 'sgd' ? [value, next.w] : [value, next.w, next.m, next.v];
  });
  let count = 0;
  return {
    async step() {
      count++;
      const [b1, b2] = optimizer.betas ?? [0, 0];
      const root = Math.sqrt(1 - b2 ** count);
      const scalars = [np.array((optimizer.lr * root) / (1 - b1 ** count)), np.array((optimizer.eps ?? 0) * root)];
      const [value, ...next] = train(weights, m, v, refs(frozen), x.ref, labels.ref, ...scalars);
      [weights, m = m, v = v] = next;
      return (await value.data())[0];
    },
  };
}
