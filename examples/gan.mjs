/**
 * A GAN: a generator of points and a discriminator that tells them from points on a circle, a session each. The
 * generator's gradient comes through the discriminator: its backward gives the one towards its input.
 *
 *     node examples/gan.mjs
 */

import { readFile } from 'node:fs/promises';
import { generateArtifacts, Tensor, TrainingSession } from 'trainlet';
import { isMain } from './main.mjs';
import { noise, noises } from './noise.mjs';

const [POINTS, NOISE] = [32, 4];

/** @param {string} name */
async function create(name) {
  const model = await readFile(new URL(`${name}.onnx`, import.meta.url));
  const optimizer = /** @type {const} */ ({ type: 'adam', lr: 0.005, betas: [0.5, 0.999] });
  return await TrainingSession.create(await generateArtifacts(model, { loss: 'outside', optimizer }));
}

/** @param {number} steps @param {(step: number, told: number, fooled: number) => void} [tell] */
export async function train(steps, tell = () => {}) {
  const [generator, discriminator] = await Promise.all([create('generator'), create('discriminator')]);
  const losses = [];
  for (let step = 0; step < steps; step++) {
    const fake = await generator.forward({
      noise: new Tensor('float32', noises(10_000 * step + 5000, POINTS * NOISE), [POINTS, NOISE]),
    });
    const told = await tellApart(discriminator, circle(step), fake.outputs.point);
    const fooled = await fool(discriminator, fake.outputs.point);
    await fake.backward({ point: fooled.gradient });
    await generator.runOptimizerStep();
    await generator.lazyResetGrad();
    losses.push([told, fooled.loss]);
    tell(step, told, fooled.loss);
  }
  await Promise.all([generator.release(), discriminator.release()]);
  return losses;
}

/** @param {number} step */
function circle(step) {
  const angles = Array.from({ length: POINTS }, (_, i) => 2 * Math.PI * noise(10_000 * step + i));
  return new Tensor(
    'float32',
    angles.flatMap((angle) => [Math.cos(angle), Math.sin(angle)]),
    [POINTS, 2],
  );
}

/** A step of the discriminator. @param {TrainingSession} discriminator @param {Tensor} real @param {Tensor} fake */
async function tellApart(discriminator, real, fake) {
  let sum = 0;
  for (const [point, isReal] of /** @type {const} */ ([
    [real, true],
    [fake, false],
  ])) {
    const { outputs, backward } = await discriminator.forward({ point });
    const { loss, gradient } = judged(outputs.logit, isReal);
    await backward({ logit: gradient });
    sum += loss;
  }
  await discriminator.runOptimizerStep();
  await discriminator.lazyResetGrad();
  return sum;
}

/**
 * Gradients that make the discriminator take the points for real ones.
 * @param {TrainingSession} discriminator @param {Tensor} fake
 */
async function fool(discriminator, fake) {
  const { outputs, backward } = await discriminator.forward({ point: fake });
  const { loss, gradient } = judged(outputs.logit, true);
  const { point } = await backward({ logit: gradient }, { inputs: ['point'] });
  await discriminator.lazyResetGrad(); // it has added up gradients of its own, which are of no use
  return { loss, gradient: point };
}

/** The mean of log(1 + e^∓logit), and its gradient. @param {Tensor} logits @param {boolean} isReal */
function judged({ data, dims }, isReal) {
  const sign = isReal ? -1 : 1;
  const logits = Array.from(data, Number);
  const n = logits.length;
  const loss = logits.reduce((sum, x) => sum + Math.log1p(Math.exp(sign * x)) / n, 0);
  const gradient = Float32Array.from(logits, (x) => sign / (1 + Math.exp(-sign * x)) / n);
  return { loss, gradient: new Tensor('float32', gradient, dims) };
}

if (isMain(import.meta.url))
  await train(500, (step, told, fooled) => console.log(`step ${step}: ${told.toFixed(3)} ${fooled.toFixed(3)}`));
