// The runs of train.test.js, in a process whose environment names a GPU: prints as JSON what both backends computed.

import { generateArtifacts, TrainingSession } from '../../../js/index.js';
import { cnn, gpt, mlp } from '../../bench/models/networks.js';
import { openGpu } from '../../gpu/node-gpu.js';
import { batchTensor } from '../../support/recipe.js';

const STEPS = 10;
const text = gpt(2, { width: 32, blocks: 2, heads: 2, tokens: 16, vocabulary: 64 });
const tall = mlp(8, [700, 70, 10]); // its first product is cut into slices

function feedsOf(graph, batch = 0) {
  const [examples, classes] = graph.shapes.logits;
  const label = { name: 'labels', type: 'int64', dims: [], low: 0, high: classes, seed: 2 };
  return {
    [graph.input.name]: batchTensor(graph.input, graph.batch, batch),
    labels: batchTensor(label, examples, batch),
  };
}

const make = (graph, recipe) => generateArtifacts(graph.onnx(), { loss: 'cross-entropy', ...recipe, worker: false });
const open = (artifacts, backend) => TrainingSession.create(artifacts, { backend, worker: false, threads: 1 });

/** Losses, a loss in eval mode and the parameters in the end, by both backends. */
async function both(graph, recipe, work = plain) {
  const artifacts = await make(graph, recipe);
  const results = [];
  for (const backend of ['wasm', 'webgpu']) {
    const session = await open(artifacts, backend);
    results.push(await work(session, graph));
    await session.release();
  }
  return results;
}

async function plain(session, graph) {
  const losses = [];
  for (let i = 0; i < STEPS; i++) losses.push((await session.step(feedsOf(graph))).loss);
  const { loss } = await session.evaluate([feedsOf(graph)]);
  const parameters = [...(await session.getContiguousParameters(false)).data];
  return { losses, loss, parameters };
}

/** A fit that adds up gradients, with a last batch that is smaller, and metrics; then another learning rate. */
async function various(session, graph) {
  const losses = [];
  const { input, labels } = feedsOf(graph, 4);
  const some = (tensor, n) => ({
    ...tensor,
    data: tensor.data.slice(0, (n * tensor.data.length) / tensor.dims[0]),
    dims: [n, ...tensor.dims.slice(1)],
  });
  const batches = [0, 1, 2].map((batch) => feedsOf(graph, batch));
  const history = await session.fit([...batches, { input: some(input, 4), labels: some(labels, 4) }], {
    epochs: 2,
    accumulate: 2,
    shuffle: false,
    onBatch: ({ loss }) => losses.push(loss),
  });
  await session.setLearningRate(0.02);
  losses.push((await session.step(feedsOf(graph, 4))).loss);
  losses.push((await session.step(feedsOf(graph, 4))).loss);
  const parameters = [...(await session.getContiguousParameters(false)).data];
  return { losses, parameters, accuracy: history.epochs.map(({ metrics }) => metrics.accuracy) };
}

/** A checkpoint of either backend goes on with the other. */
async function resumed(graph, recipe) {
  const artifacts = await make(graph, recipe);
  const losses = {};
  for (const [first, second] of [
    ['wasm', 'wasm'],
    ['webgpu', 'wasm'],
    ['wasm', 'webgpu'],
  ]) {
    const session = await open(artifacts, first);
    for (let i = 0; i < 3; i++) await session.step(feedsOf(graph));
    const checkpointState = await session.saveCheckpoint({ optimizerState: true });
    await session.release();
    const next = await open({ ...artifacts, checkpointState }, second);
    losses[`${first}, ${second}`] = [];
    for (let i = 0; i < 3; i++) losses[`${first}, ${second}`].push((await next.step(feedsOf(graph))).loss);
    await next.release();
  }
  return losses;
}

const said = async (promise) => {
  try {
    await promise;
  } catch ({ code, message }) {
    return { code, message };
  }
  return undefined;
};

async function refusals() {
  const artifacts = await make(tall, { optimizer: { type: 'sgd', lr: 0.1 } });
  const session = await open(artifacts, 'webgpu');
  const stray = { ...feedsOf(tall), labels: { type: 'int64', data: new BigInt64Array(8).fill(10n), dims: [8] } };
  await session.setLearningRate(0);
  const before = (await session.step(feedsOf(tall))).loss;
  const label = await said(session.step(stray));
  const nothing = {
    ...feedsOf(tall),
    input: { type: 'float32', data: new Float32Array(5600).fill(NaN), dims: [8, 700] },
  };
  const notFinite = await said(session.step(nothing));
  const after = (await session.step(feedsOf(tall))).loss;
  await session.release();
  const images = await open(await make(cnn(2), { optimizer: { type: 'sgd', lr: 0.1 } }), 'webgpu');
  const operator = await said(images.step(feedsOf(cnn(2))));
  await images.release();
  return {
    operator,
    label,
    notFinite,
    losses: [before, after],
    reproducible: await said(TrainingSession.create(artifacts, { backend: 'webgpu', reproducible: true })),
    unknown: await said(TrainingSession.create(artifacts, { backend: 'cuda' })),
  };
}

/** Every optimizer that has a kernel of its own and is not used above. */
async function optimizers(graph) {
  const momentum = 0.9;
  const recipes = [
    { type: 'adam', lr: 0.01, weightDecay: 0.01 },
    { type: 'adagrad', lr: 0.05 },
    { type: 'rmsprop', lr: 0.01 },
    { type: 'rmsprop', lr: 0.01, momentum },
    { type: 'sgd', lr: 0.05 },
    { type: 'sgd', lr: 0.05, momentum, nesterov: true },
  ];
  const rows = [];
  for (const optimizer of recipes) rows.push([JSON.stringify(optimizer), ...(await both(graph, { optimizer }))]);
  return rows;
}

const name = await openGpu();
const adamw = { type: 'adamw', lr: 1e-3 };
const results = {
  name,
  mlp: await both(tall, { optimizer: { type: 'sgd', lr: 0.1, momentum: 0.9, weightDecay: 0.01 } }),
  various: await both(tall, { optimizer: { ...adamw, clipGradNorm: 0.5 }, additionalOutputs: ['logits'] }, various),
  optimizers: await optimizers(mlp(4, [8, 6, 3])),
  gpt: await both(text, { optimizer: adamw }),
  lora: await both(text, { optimizer: adamw, lora: { r: 4 } }),
  resumed: await resumed(tall, { optimizer: adamw }),
  refusals: await refusals(),
};
process.stdout.write(`${JSON.stringify(results)}\n`, () => process.exit(0)); // Dawn's threads would go on
