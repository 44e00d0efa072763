// The demo's backbone and a new head for three unseen classes, twenty pictures of each: fineTune beside TensorFlow.js,
// whose wasm backend computes the same features, and whose Adam trains a head on them until it reads as much right.
//
//   node tests/bench/pictures-tfjs.js
//
// Older Nodes are told to have relaxed SIMD, as browsers do. Garbage is collected before each watch starts.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { permutation } from '../../js/data/dataset.js';
import { fineTune, generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../js/index.js';
import { asGraph } from '../../web-demo/pictures/backbone/network.js';
import { randomFrom } from '../../web-demo/pictures/views.js';
import { forward, layouts, load, toLast } from './contenders/tfjs.js';
import { installPeers } from './install.js';
import { accuracyOf, drawClasses, EXAMPLES, picturesOf, TESTS } from './pictures-data.js';

if (!globalThis.gc) {
  const relaxed = Number(process.versions.node.split('.')[0]) < 22 ? ['--experimental-wasm-relaxed-simd'] : [];
  const args = [...relaxed, '--expose-gc', fileURLToPath(import.meta.url)];
  process.exit(spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1);
}

/** After a first one, which is told apart: all code is new then. */
const [DRAWS, BATCH, EPOCHS, RATE, SMOOTHING] = [8, 16, 60, 1e-3, 0.1];
const engine = { worker: false, threads: 1 };
const HEAD = { at: 'features' };
const model = new Uint8Array(readFileSync(new URL('../../models/pictures.onnx', import.meta.url)));

/** The network with its weights, which the file has as float16, each cast by a node of its own. */
async function graphOf() {
  const artifacts = await generateArtifacts(model, {
    ...engine,
    loss: 'cross-entropy',
    head: { ...HEAD, classes: ['a', 'b'] },
  });
  const session = await TrainingSession.create(artifacts, engine);
  const inference = await InferenceSession.create(model, engine);
  const casts = [...new Set((await inference.getGraphText()).match(/\bCast_\d+\b/g))];
  const image = new Tensor('float32', new Float32Array(3 * 96 * 96), [1, 3, 96, 96]);
  const weights = await inference.run({ image }, casts);
  const biases = session.parameters.filter(({ name }) => name.endsWith('.bias') && !name.startsWith('head.'));
  const values = new Map();
  for (const [i, { name }] of biases.entries())
    values.set(name, { weight: weights[casts[i]].data, bias: (await session.getParameter(name)).data });
  return asGraph((layer) => values.get(`${layer}.bias`));
}

await installPeers();
const tf = await load('wasm', 1);
const graph = await graphOf();
const perms = layouts(graph);
const arrays = Object.fromEntries(
  [...graph.weights].map(([name, { data, dims }]) => {
    const tensor = tf.tensor(data, dims);
    return [name, perms[name] ? tf.transpose(tensor, perms[name]) : tensor];
  }),
);

const featuresOf = ({ data: { data, dims } }) =>
  tf.tidy(() => forward(tf, graph, { ...arrays, image: tf.transpose(tf.tensor(data, dims), toLast(4)) }));

/**
 * A linear layer of zeros, label smoothing, Adam: until it reads as much right as is wanted; the test takes no time.
 * The batches are the same as those of `fit`.
 */
async function theirs(train, test, classes, wanted, seed) {
  const watch = stopwatch();
  const features = featuresOf(train);
  const targets = tf.oneHot(tf.tensor1d(train.labels, 'int32'), classes);
  const [w, b] = [tf.variable(tf.zeros([features.shape[1], classes])), tf.variable(tf.zeros([classes]))];
  const scores = (x) => tf.add(tf.matMul(x, w), b);
  const adam = tf.train.adam(RATE);
  let [accuracy, epochs, tested] = [0, 0, undefined];
  while (accuracy < wanted && epochs < EPOCHS) {
    const order = permutation(train.labels.length, seed, epochs);
    for (let i = 0; i < order.length; i += BATCH) {
      const rows = tf.tensor1d(Int32Array.from(order.slice(i, i + BATCH)), 'int32');
      const loss = () =>
        tf.losses.softmaxCrossEntropy(
          tf.gather(targets, rows),
          scores(tf.gather(features, rows)),
          undefined,
          SMOOTHING,
        );
      (await adam.minimize(loss, true, [w, b]).data()).at(0);
    }
    epochs++;
    watch.stop();
    tested ??= featuresOf(test);
    const read = await tf.tidy(() => tf.argMax(scores(tested), 1)).data();
    accuracy = read.filter((c, i) => c === test.labels[i]).length / read.length;
    watch.go();
  }
  return { accuracy, epochs, ...watch.stop() };
}

/** Wall time and processor time, in ms. */
function stopwatch() {
  globalThis.gc();
  let [ms, processorMs, since, used] = [0, 0, performance.now(), process.cpuUsage()];
  return {
    go() {
      globalThis.gc();
      [since, used] = [performance.now(), process.cpuUsage()];
    },
    stop() {
      const { user, system } = process.cpuUsage(used);
      [ms, processorMs] = [ms + performance.now() - since, processorMs + (user + system) / 1000];
      return { ms, processorMs };
    },
  };
}

async function ours(train, test, classes, seed) {
  const watch = stopwatch();
  const data = { inputs: { image: train.data }, labels: train.labels };
  const { session, report } = await fineTune(model, data, { classes, head: HEAD, engine, seed });
  const times = watch.stop();
  const accuracy = await accuracyOf(session, 'image', test, classes);
  await session.release();
  return { accuracy, epochs: report.phases[0].history.epochs.length, ...times };
}

/** A head's scores of features, for the test takes no time: it does not go through the session that trains. */
async function readRight(session, tested, { labels }) {
  const [w, b] = await Promise.all(['head.weight', 'head.bias'].map((name) => session.getParameter(name)));
  const [rows, width] = tested.dims;
  let right = 0;
  for (let i = 0; i < rows; i++) {
    const scores = Array.from(b.data, (bias, c) => {
      let sum = bias;
      for (let k = 0; k < width; k++) sum += w.data[c * width + k] * tested.data[i * width + k];
      return sum;
    });
    right += Number(scores.indexOf(Math.max(...scores)) === labels[i]);
  }
  return right / rows;
}

/** The recipe of `theirs`, by `fit`, from the file on, and from its artifacts on. */
async function alike(train, test, classes, wanted, seed) {
  const { features: tested } = await inference.run({ image: test.data }, ['features']);
  const watch = stopwatch();
  const artifacts = await generateArtifacts(model, {
    ...engine,
    loss: { type: 'cross-entropy', labelSmoothing: SMOOTHING },
    optimizer: { type: 'adam', lr: RATE },
    head: { ...HEAD, classes },
  });
  const before = watch.stop();
  watch.go();
  const session = await TrainingSession.create(artifacts, engine);
  for (const { name, dims } of session.parameters.filter(({ trainable }) => trainable))
    await session.setParameter(name, new Tensor('float32', new Float32Array(dims.reduce((a, b) => a * b)), dims));
  const labels = new Tensor('int64', BigInt64Array.from(train.labels, BigInt), [train.labels.length]);
  const enough = new AbortController();
  let [accuracy, epochs, times] = [0, 0, {}];
  const onEpoch = async () => {
    times = watch.stop();
    epochs++;
    accuracy = await readRight(session, tested, test);
    if (accuracy >= wanted) enough.abort();
    watch.go();
  };
  const options = { epochs: EPOCHS, batchSize: BATCH, seed, onEpoch, signal: enough.signal };
  await session.fit({ inputs: { image: train.data }, labels: { labels } }, options).catch((error) => {
    if (error.code !== 'aborted') throw error;
  });
  await session.release();
  const [ms, processorMs] = [times.ms - before.ms, times.processorMs - before.processorMs];
  return [
    { accuracy, epochs, ...times },
    { accuracy, epochs, ms, processorMs },
  ];
}

const inference = await InferenceSession.create(model, engine);
const sums = { fineTune: [], 'fit, the same recipe': [], '– of artifacts made before': [], 'TensorFlow.js wasm': [] };
for (let seed = 0; seed <= DRAWS; seed++) {
  const classes = drawClasses(randomFrom(1000 + seed));
  const [train, test] = [picturesOf(classes, EXAMPLES, 96, 2 * seed), picturesOf(classes, TESTS, 96, 2 * seed + 1)];
  const names = classes.map(({ name }) => name);
  const one = await ours(train, test, names, seed);
  sums.fineTune.push(one);
  const [whole, rest] = await alike(train, test, names, one.accuracy, seed);
  sums['fit, the same recipe'].push(whole);
  sums['– of artifacts made before'].push(rest);
  sums['TensorFlow.js wasm'].push(await theirs(train, test, names.length, one.accuracy, seed));
}
const seconds = (ms) => `${(ms / 1000).toFixed(3)} s`;
console.log('| | accuracy | epochs | time | of the processor | the first time |\n|---|---:|---:|---:|---:|---:|');
for (const [name, [first, ...all]] of Object.entries(sums)) {
  const mean = (key) => all.reduce((sum, one) => sum + one[key], 0) / all.length;
  const accuracy = `${(100 * mean('accuracy')).toFixed(1)} %`;
  const times = [mean('ms'), mean('processorMs'), first.processorMs].map(seconds);
  console.log(`| ${[name, accuracy, mean('epochs').toFixed(0), ...times].join(' | ')} |`);
}
process.exit(0);
