// onnxruntime-web as it is today, without training: one graph of forward, backward and optimizer, whose outputs are the
// next step's inputs.

import { Graph } from '../models/graph.js';
import { onnxFile } from '../../support/onnx-file.js';
import { Tape } from './plain_gradients.js';

const dist = new URL('../node_modules/onnxruntime-web/dist/', import.meta.url);

/** A copy to add to; LayerNormalization and MaxPool also give what their gradients need. */
function copyOf(graph) {
  const copy = Object.assign(new Graph(graph.name, graph.batch, graph.input), {
    weights: graph.weights,
    shapes: { ...graph.shapes },
  });
  const more = { LayerNormalization: ['mean', 'inverse'], MaxPool: ['indices'] };
  copy.nodes = graph.nodes.map((node) => ({
    ...node,
    outputs: [...node.outputs, ...(more[node.op] ?? []).map((what) => `${node.outputs[0]}.${what}`)],
  }));
  for (const { op, outputs, inputs } of copy.nodes)
    for (const name of op in more ? outputs.slice(1) : [])
      copy.shapes[name] = op === 'MaxPool' ? copy.shapes[outputs[0]] : [...copy.shapes[inputs[0]].slice(0, -1), 1];
  copy.forwardCount = copy.nodes.length;
  return copy;
}

/** Cross-entropy: its value, named `loss`, and the gradient towards the scores: (softmax − one-hot) / rows. */
function emitLoss(t) {
  const [rows, classes] = t.shape('logits');
  const chosen = t.op(
    'OneHot',
    ['labels', t.ints([classes]), t.graph.constant('float32', [2], [0, 1])],
    [rows, classes],
    { axis: -1 },
  );
  const logs = t.op('LogSoftmax', ['logits'], [rows, classes], { axis: -1 });
  const sum = t.op('ReduceSum', [t.same('Mul', logs, chosen)], [], { keepdims: 0 });
  const loss = t.op('Mul', [sum, t.float(-1 / rows)], []);
  t.graph.nodes.at(-1).outputs[0] = 'loss';
  return { loss, dy: t.same('Mul', t.same('Sub', t.same('Exp', logs), chosen), t.float(1 / rows)) };
}

const next = (name) => `${name}.next`;

/** Emits a weight's update; gives the names of the state it carries from step to step. */
function emitUpdate(t, name, gradient, { type, betas, weightDecay = 0, lr }) {
  const give = (value, as) => {
    t.graph.nodes.at(-1).outputs[0] = next(as);
    t.graph.shapes[next(as)] = t.shape(value);
    return next(as);
  };
  if (type === 'sgd') {
    give(t.same('Sub', name, t.same('Mul', gradient, t.float(lr))), name);
    return [name];
  }
  const [m, v] = [`${name}.m`, `${name}.v`];
  t.graph.shapes[m] = t.graph.shapes[v] = t.shape(name);
  const mix = (old, beta, now) =>
    t.same('Add', t.same('Mul', old, t.float(beta)), t.same('Mul', now, t.float(1 - beta)));
  const newM = give(mix(m, betas[0], gradient), m);
  const newV = give(mix(v, betas[1], t.same('Mul', gradient, gradient)), v);
  // rate, epsilon: with the corrections of the step
  const change = t.same('Div', t.same('Mul', newM, 'rate'), t.same('Add', t.same('Sqrt', newV), 'epsilon'));
  const kept = weightDecay ? t.same('Mul', name, t.float(1 - lr * weightDecay)) : name;
  give(t.same('Sub', kept, change), name);
  return [name, m, v];
}

/** The bytes of the whole step, and the names of the state. */
export function stepModel({ graph, optimizer, trains }) {
  const copy = copyOf(graph);
  const tape = new Tape(copy, trains);
  const { dy } = emitLoss(tape);
  const gradients = tape.run('logits', dy);
  Object.assign(copy.shapes, { rate: [], epsilon: [], loss: [] });
  const state = [...copy.weights.keys()]
    .filter(trains)
    .flatMap((name) => emitUpdate(tape, name, gradients.get(name), optimizer));
  const tensor = (name, type = 'float32') => ({ name, type, dims: copy.shapes[name] });
  const scalars = optimizer.type === 'sgd' ? [] : [tensor('rate'), tensor('epsilon')];
  const bytes = onnxFile({
    name: graph.name,
    nodes: copy.nodes,
    weights: new Map([...copy.weights].filter(([name]) => !trains(name))),
    inputs: [
      tensor(graph.input.name, graph.input.type),
      { name: 'labels', type: 'int64', dims: [copy.shapes.logits[0]] },
      ...scalars,
      ...state.map((name) => tensor(name)),
    ],
    outputs: [tensor('loss'), ...state.map((name) => tensor(next(name)))],
  });
  return { bytes, state, shapes: copy.shapes };
}

export async function open(task, { threads }) {
  const ort = await import(`${dist}ort.wasm.min.mjs`);
  ort.env.wasm.numThreads = threads;
  ort.env.wasm.wasmPaths = dist.href;
  return openIn(ort, task);
}

export async function openIn(ort, task) {
  const options = { executionProviders: ['wasm'], graphOptimizationLevel: 'all' };
  const feeds = Object.fromEntries(
    Object.entries(task.feeds).map(([name, { type, data, dims }]) => [name, new ort.Tensor(type, data, dims)]),
  );
  if (task.forward) {
    const session = await ort.InferenceSession.create(task.graph.onnx(), options);
    let outputs;
    const step = async () => {
      outputs = (await session.run(feeds)).logits.data;
      return outputs[0];
    };
    return { step, outputs: () => Array.from(outputs) };
  }
  const { bytes, state, shapes } = stepModel(task);
  const session = await ort.InferenceSession.create(bytes, options);
  const {
    optimizer: { lr, betas, eps },
    graph,
  } = task;
  for (const name of state) {
    const data = graph.weights.get(name)?.data ?? new Float32Array(shapes[name].reduce((a, b) => a * b, 1));
    feeds[name] = new ort.Tensor('float32', data, shapes[name]);
  }
  const scalar = (value) => new ort.Tensor('float32', Float32Array.of(value), []);
  let count = 0;
  return {
    async step() {
      count++;
      if (betas) {
        const root = Math.sqrt(1 - betas[1] ** count);
        Object.assign(feeds, { rate: scalar((lr * root) / (1 - betas[0] ** count)), epsilon: scalar(eps * root) });
      }
      const results = await session.run(feeds);
      for (const name of state) feeds[name] = results[next(name)];
      return results.loss.data[0];
    },
  };
}
