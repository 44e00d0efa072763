/** Times a training step or an inference on random inputs. */

import { InferenceSession, Tensor, TrainingSession } from '../index.js';
import { ARRAYS, sizeOf } from '../tensor.js';
import { artifactsIn, isDirectory } from './files.js';

/** @import { NumberType, EngineOptions, ValueInfo } from '../types.js' */

const WARM_UP = 3;

/** @param {string} place @param {number} batch @param {number} steps @param {EngineOptions} [options] of a model's session */
export async function bench(place, batch, steps, options) {
  const trains = await isDirectory(place);
  const session = trains ? await TrainingSession.create(artifactsIn(place)) : await InferenceSession.create(place, options);
  try {
    const feeds = randomFeeds(session instanceof TrainingSession ? session.trainingInputs : session.inputs, batch);
    const run = session instanceof TrainingSession ? () => session.step(feeds) : () => session.run(feeds);
    const times = await time(run, steps);
    const { peakBytes } = await session.getMemoryPlan();
    const median = times[Math.floor(times.length / 2)];
    return `${trains ? 'training step' : 'inference'} at batch ${batch}: median ${median.toFixed(2)} ms, best ${times[0].toFixed(2)} ms, `
      + `${Math.round((1000 * batch) / median).toLocaleString('en')} samples/s, planned memory ${peakBytes.toLocaleString('en')} bytes`;
  } finally {
    await session.release();
  }
}

/** The times of the steps in ms, the shortest first. @param {() => Promise<unknown>} run @param {number} steps */
async function time(run, steps) {
  const times = [];
  for (let i = -WARM_UP; i < steps; i++) {
    const since = performance.now();
    await run();
    if (i >= 0) times.push(performance.now() - since);
  }
  return times.sort((a, b) => a - b);
}

/** @param {readonly ValueInfo[]} inputs @param {number} batch */
export const randomFeeds = (inputs, batch) => Object.fromEntries(inputs.map((input) => [input.name, input.sequence ? [randomTensor(input, batch)] : randomTensor(input, batch)]));

/** Floats around 0; integers, which may be classes or indices, are 0. @param {ValueInfo} input @param {number} batch */
function randomTensor({ type, dims }, batch) {
  const shape = dims.map((d, i) => (typeof d === 'number' ? d : i === 0 ? batch : 1));
  if (type === 'string') return new Tensor('string', Array(sizeOf(shape)).fill(''), shape);
  const data = new ARRAYS[/** @type {NumberType} */ (type)](sizeOf(shape));
  if (type === 'float32' || type === 'float64') for (let i = 0; i < data.length; i++) data[i] = Math.random() - 0.5;
  return new Tensor(/** @type {NumberType} */ (type), data, shape);
}
