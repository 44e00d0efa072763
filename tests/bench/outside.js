// Cost of an external loss: forward, cross-entropy in JavaScript, backward, optimizer and reset, over a step with the
// same loss inside, the two taking turns. Time is the processor's, of all threads; the median of the rounds.
//   node tests/bench/outside.js [rows, W1,W2] [seconds a row, 20] [worker | here, worker]

import { generateArtifacts, Tensor, TrainingSession } from '../../js/index.js';
import { median, roundRatio } from './statistics.js';
import { task } from './tasks.js';

const [rows = 'W1,W2', seconds = '20', where = 'worker'] = process.argv.slice(2);
const SHARED = { threads: 1 };
const OPTIONS = where === 'here' ? { ...SHARED, worker: false } : SHARED;
for (const name of rows.split(',')) console.log(await measure(task(name), Number(seconds)));

/** @param {string} loss */
async function open({ graph, optimizer, trainable }, loss) {
  const artifacts = await generateArtifacts(graph.onnx(), {
    loss,
    optimizer,
    ...(trainable && { requiresGrad: trainable }),
    ...SHARED,
  });
  return await TrainingSession.create(artifacts, OPTIONS);
}

/** The gradient of the mean cross-entropy, and the loss. @param {Tensor} logits @param {BigInt64Array} labels */
function crossEntropy({ data, dims }, labels) {
  const [n, classes] = [labels.length, data.length / labels.length];
  const gradient = new Float32Array(data.length);
  let loss = 0;
  for (let i = 0; i < n; i++) {
    const [from, label] = [i * classes, Number(labels[i])];
    let sum = 0;
    for (let c = 0; c < classes; c++) sum += gradient[from + c] = Math.exp(data[from + c]);
    loss += (Math.log(sum) - data[from + label]) / n;
    for (let c = 0; c < classes; c++) gradient[from + c] = (gradient[from + c] / sum - Number(c === label)) / n;
  }
  return { loss, gradient: new Tensor('float32', gradient, dims) };
}

/** The three ways to make a step, each ready to be timed; they give the loss. */
async function stepsOf(row) {
  const [inside, parts, outside] = await Promise.all(
    ['cross-entropy', 'cross-entropy', 'outside'].map((loss) => open(row, loss)),
  );
  const { labels, ...feeds } = row.feeds;
  const finish = async (session) => {
    await session.runOptimizerStep();
    await session.lazyResetGrad();
  };
  return {
    step: async () => (await inside.step(row.feeds)).loss,
    runTrainStep: async () => {
      const { [parts.trainingOutputNames[0]]: loss } = await parts.runTrainStep(row.feeds);
      await finish(parts);
      return loss.data[0];
    },
    outside: async () => {
      const { outputs, backward } = await outside.forward(feeds);
      const { loss, gradient } = crossEntropy(outputs.logits, labels.data);
      await backward({ logits: gradient });
      await finish(outside);
      return loss;
    },
    sessions: [inside, parts, outside],
  };
}

async function measure(row, limit) {
  const { sessions, ...steps } = await stepsOf(row);
  const times = Object.fromEntries(Object.keys(steps).map((way) => [way, []]));
  const losses = {};
  const start = performance.now();
  for (let round = 0; round < 10 || performance.now() - start < limit * 1000; round++) {
    for (const way of Object.keys(steps).sort((a, b) => ((round % 2 ? a < b : a > b) ? 1 : -1))) {
      const from = process.cpuUsage();
      losses[way] = await steps[way]();
      const { user, system } = process.cpuUsage(from);
      if (round >= 2) times[way].push((user + system) / 1000);
    }
  }
  await Promise.all(sessions.map((session) => session.release()));
  const figures = Object.entries(times).map(
    ([way, ms]) => `${way} ${median(ms).toFixed(2)} ms, loss ${losses[way].toFixed(6)}`,
  );
  const over = (way) => roundRatio(times[way], times.outside).toFixed(3);
  const outside = `outside ×${over('step')} step, ×${over('runTrainStep')} runTrainStep`;
  return `${row.name}, ${times.step.length} rounds: ${figures.join('; ')}; ${outside}`;
}
