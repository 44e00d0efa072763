/** A training step on made-up feeds, wherever the loss is. */

import { sizeOf } from '../base/tensor.js';
import { Tensor } from '../index.js';

/** @import { Feeds, TrainingSession } from '../types.js' */

/**
 * A training step; with an external loss all gradients are 0.
 * @param {TrainingSession} session
 * @param {Feeds} feeds
 */
export async function trainingStep(session, feeds) {
  if (!session.outside) return void (await session.step(feeds));
  const { outputs, backward } = await session.forward(feeds);
  const gradients = session.outside.outputs.map((name) => [name, zeros(outputs[name].dims)]);
  await backward(Object.fromEntries(gradients));
  await session.runOptimizerStep();
  await session.lazyResetGrad();
}

/** @param {readonly number[]} dims */
const zeros = (dims) => new Tensor('float32', new Float32Array(sizeOf(dims)), dims);
