/**
 * A contrastive loss: an encoder learns that two views of a thing are neighbours and those of others are not (InfoNCE).
 * Both forward runs are open until the loss knows what each of them is to be told.
 *
 *     node examples/contrastive.mjs
 */

import { readFile } from 'node:fs/promises';
import { generateArtifacts, Tensor, TrainingSession } from 'trainlet';
import { isMain } from './main.mjs';
import { noises } from './noise.mjs';

const [THINGS, FEATURES, TEMPERATURE] = [16, 16, 0.5];

/** @param {number} steps @param {(step: number, loss: number) => void} [tell] */
export async function train(steps, tell = () => {}) {
  const model = await readFile(new URL('encoder.onnx', import.meta.url));
  const artifacts = await generateArtifacts(model, { loss: 'outside', optimizer: { type: 'adam', lr: 0.01 } });
  const session = await TrainingSession.create(artifacts);
  const losses = [];
  for (let step = 0; step < steps; step++) {
    const [first, second] = [1, 2].map((k) => ({ x: view(step, k) }));
    const [one, two] = await Promise.all([session.forward(first), session.forward(second)]);
    const { loss, toOne, toTwo } = infoNce(one.outputs.z, two.outputs.z);
    await Promise.all([one.backward({ z: toOne }), two.backward({ z: toTwo })]);
    await session.runOptimizerStep();
    await session.lazyResetGrad();
    losses.push(loss);
    tell(step, loss);
  }
  await session.release();
  return losses;
}

/** The step's things, each with a disturbance of its own. @param {number} step @param {number} k */
function view(step, k) {
  const things = noises(10_000 * step, THINGS * FEATURES);
  const disturbance = noises(10_000 * step + 1000 * k, THINGS * FEATURES);
  const data = things.map((x, i) => x + Math.fround(0.3) * disturbance[i]);
  return new Tensor('float32', data, [THINGS, FEATURES]);
}

/**
 * The mean cross-entropy of a·bᵀ / temperature, where row i belongs to column i, and what it says to a and b.
 * @param {Tensor} a @param {Tensor} b unit vectors, a row each
 */
function infoNce(a, b) {
  const [n, width] = a.dims;
  const at = (/** @type {Tensor} */ t, /** @type {number} */ row, /** @type {number} */ k) =>
    Number(t.data[row * width + k]);
  const [toOne, toTwo] = [new Float32Array(n * width), new Float32Array(n * width)];
  let loss = 0;
  for (let i = 0; i < n; i++) {
    const scores = Array.from({ length: n }, (_, j) => {
      let product = 0;
      for (let k = 0; k < width; k++) product += at(a, i, k) * at(b, j, k);
      return product / TEMPERATURE;
    });
    const sum = scores.reduce((total, score) => total + Math.exp(score), 0);
    loss += (Math.log(sum) - scores[i]) / n;
    for (let j = 0; j < n; j++) {
      const slope = (Math.exp(scores[j]) / sum - Number(i === j)) / n / TEMPERATURE;
      for (let k = 0; k < width; k++) {
        toOne[i * width + k] += slope * at(b, j, k);
        toTwo[j * width + k] += slope * at(a, i, k);
      }
    }
  }
  return { loss, toOne: new Tensor('float32', toOne, a.dims), toTwo: new Tensor('float32', toTwo, b.dims) };
}

if (isMain(import.meta.url)) await train(100, (step, loss) => console.log(`step ${step}: loss ${loss.toFixed(4)}`));
