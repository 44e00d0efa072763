/** Times a training step or an inference on random inputs, and each node of it. */

import { arrayOf, sizeOf } from '../base/tensor.js';
import { InferenceSession, Tensor, TrainingSession } from '../index.js';
import { trainingAt } from './files.js';
import { warn } from './terminal.js';
import { trainingStep } from './training-step.js';

/** @import { NodeTimes, NumberType, EngineOptions, ValueInfo } from '../types.js' */

const WARM_UP = 3;

/**
 * @param {string} place
 * @param {{ batch: number, steps: number, nodes: boolean }} wanted `nodes`: each node is timed too
 * @param {EngineOptions} [options] of the session
 * @returns {Promise<string[]>} lines
 */
export async function bench(place, { batch, steps, nodes }, options) {
  const training = await trainingAt(place);
  const session = training
    ? await TrainingSession.create(training.artifacts, options)
    : await InferenceSession.create(place, options);
  try {
    warn(session.warnings);
    const feeds = randomFeeds(session instanceof TrainingSession ? session.trainingInputs : session.inputs, batch);
    const run = session instanceof TrainingSession ? () => trainingStep(session, feeds) : () => session.run(feeds);
    await time(run, WARM_UP);
    if (nodes) await session.startProfiling();
    const times = await time(run, steps);
    const table = nodes ? describeNodes(await session.endProfiling(), sum(times) / steps) : [];
    const { peakBytes } = await session.getMemoryPlan();
    const median = times[Math.floor(times.length / 2)];
    const throughput = Math.round((1000 * batch) / median).toLocaleString('en');
    return [
      `${training ? 'training step' : 'inference'} at batch ${batch}: median ${median.toFixed(2)} ms, ` +
        `best ${times[0].toFixed(2)} ms, ${throughput} samples/s, ` +
        `planned memory ${peakBytes.toLocaleString('en')} bytes`,
      ...table,
    ];
  } finally {
    await session.release();
  }
}

/** The times of the steps in ms, the shortest first. @param {() => Promise<unknown>} run @param {number} steps */
async function time(run, steps) {
  const times = [];
  for (let i = 0; i < steps; i++) {
    const since = performance.now();
    await run();
    times.push(performance.now() - since);
  }
  return times.sort((a, b) => a - b);
}

const sum = (/** @type {readonly number[]} */ numbers) => numbers.reduce((a, b) => a + b, 0);

/**
 * The operators, those that take longest first, each with its nodes.
 * @param {NodeTimes} times
 * @param {number} stepMs of all that a step is
 */
function describeNodes({ nodes, peak }, stepMs) {
  const row = (/** @type {string} */ name, /** @type {typeof nodes} */ of) => {
    const [ms, work] = [sum(of.map((node) => node.ms)), sum(of.map((node) => node.work))];
    const known = work > 0 && ms > 0 && peak > 0;
    const speed = known ? [((2 * work) / ms / 1e6).toFixed(2), `${((100 * work) / ms / peak).toFixed(1)} %`] : [];
    return { name, ms, cells: [ms.toFixed(3), `${((100 * ms) / stepMs).toFixed(1)} %`, ...speed] };
  };
  const longestFirst = (/** @type {{ ms: number }} */ a, /** @type {{ ms: number }} */ b) => b.ms - a.ms;
  const groups = [...new Set(nodes.map(({ op }) => op))]
    .map((op) => {
      const same = nodes.filter((node) => node.op === op);
      return {
        ...row(`${op} (${same.length})`, same),
        rows: same.map((node) => row(`  ${node.name}`, [node])).sort(longestFirst),
      };
    })
    .sort(longestFirst);
  const inNodes = sum(nodes.map(({ ms }) => ms));
  const rows = [
    { name: 'operator (nodes), node', cells: ['ms', 'of step', 'GFLOP/s', 'of peak'] },
    ...groups.flatMap((group) => [group, ...group.rows]),
    row('outside of nodes', [{ name: '', op: '', ms: stepMs - inNodes, work: 0 }]),
  ];
  const width = Math.max(...rows.map(({ name }) => name.length));
  return [
    ...rows.map(({ name, cells }) =>
      `${name.padEnd(width)}${cells.map((cell) => cell.padStart(10)).join('')}`.trimEnd(),
    ),
    `peak: ${((2 * peak) / 1e6).toFixed(1)} GFLOP/s, multiply-adds in registers alone`,
  ];
}

/** @param {readonly ValueInfo[]} inputs @param {number} batch */
export const randomFeeds = (inputs, batch) =>
  Object.fromEntries(
    inputs.map((input) => [input.name, input.sequence ? [randomTensor(input, batch)] : randomTensor(input, batch)]),
  );

/**
 * Floats around 0; integers, which may be classes or indices, are 0; weights of examples are 1.
 * @param {ValueInfo} input @param {number} batch
 */
function randomTensor({ type, dims, sampleWeight }, batch) {
  const shape = dims.map((d, i) => (typeof d === 'number' ? d : i === 0 ? batch : 1));
  if (type === 'string') return new Tensor('string', Array(sizeOf(shape)).fill(''), shape);
  const data = new (arrayOf(type))(sizeOf(shape));
  if (sampleWeight) data.fill(/** @type {never} */ (1));
  else if (type === 'float32' || type === 'float64')
    for (let i = 0; i < data.length; i++) data[i] = Math.random() - 0.5;
  return new Tensor(/** @type {NumberType} */ (type), data, shape);
}
