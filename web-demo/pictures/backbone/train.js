// Trains the backbone with Trainlet on views of the glyphs that are not kept aside. It goes on where it was stopped:
// what a step sees depends on its number alone.
//
//   node web-demo/pictures/backbone/train.js --steps 4200     checkpoints in build/pictures/training

import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { numbersOf, randomFrom, SIDE, viewOf } from '../views.js';
import { FOLDER, readGlyphs } from './glyphs.js';
import { toTrain } from './network.js';

/** @typedef {ReturnType<typeof readGlyphs>} Glyphs */

const TRAINING = join(FOLDER, 'training');
const [BATCH, WARMUP, SAVE_EVERY, LOOK_EVERY, LOOKS] = [64, 200, 100, 500, 512];
const [RATE, LAST_RATE] = [4e-3, 2e-5];
/** Small pictures cost less than half and teach nearly as much: so large is the share of the steps that take them. */
const [SMALL_SIDE, SMALL_SHARE] = [64, 0.86];
const engine = { threads: 1 };
const file = (/** @type {string} */ name) => join(TRAINING, name);

/** A class and a view of it for each row. @param {Glyphs} glyphs @param {number} side @param {number} seed */
function batchOf(glyphs, side, seed) {
  const image = 3 * side * side;
  const random = randomFrom(Math.imul(seed + 1, 0x9e3779b1));
  const pixels = new Float32Array(BATCH * image);
  const labels = new BigInt64Array(BATCH);
  for (let i = 0; i < BATCH; i++) {
    const chosen = Math.floor(random() * glyphs.length);
    labels[i] = BigInt(chosen);
    numbersOf(viewOf(glyphs[chosen], random, glyphs, side), pixels.subarray(i * image, (i + 1) * image));
  }
  return { image: new Tensor('float32', pixels, [BATCH, 3, side, side]), labels: new Tensor('int64', labels, [BATCH]) };
}

/** Up in a straight line, down along half a wave. @param {number} step @param {number} steps */
function rateAt(step, steps) {
  if (step < WARMUP) return (RATE * (step + 1)) / WARMUP;
  const share = (step - WARMUP) / (steps - WARMUP);
  return LAST_RATE + (RATE - LAST_RATE) * 0.5 * (1 + Math.cos(Math.PI * share));
}

/** A new session, or the one that was stopped. */
export async function open() {
  const glyphs = readGlyphs().filter(({ aside }) => !aside);
  mkdirSync(TRAINING, { recursive: true });
  const artifacts = await generateArtifacts(toTrain(glyphs.length, BATCH).onnx(), {
    ...engine,
    loss: { type: 'cross-entropy', labelSmoothing: 0.1 },
    optimizer: { type: 'adamw', weightDecay: 0.03 },
  });
  const begun = existsSync(file('step.json'));
  const checkpointState = begun ? readFileSync(file('checkpoint')) : artifacts.checkpointState;
  const session = await TrainingSession.create({ ...artifacts, checkpointState }, engine);
  const { step = 0, seconds = 0 } = begun ? JSON.parse(readFileSync(file('step.json'), 'utf8')) : {};
  return { session, step, seconds, glyphs };
}

/** @param {TrainingSession} session @param {{ step: number, seconds: number }} state */
async function save(session, state) {
  const write = (/** @type {string} */ name, /** @type {Uint8Array | string} */ data) => {
    writeFileSync(file(`${name}.new`), data);
    renameSync(file(`${name}.new`), file(name));
  };
  write('checkpoint', await session.saveCheckpoint());
  write('step.json', JSON.stringify(state));
}

/** The share of views read right that no step saw. @param {TrainingSession} session @param {Glyphs} glyphs */
async function accuracyOf(session, glyphs) {
  let right = 0;
  for (let i = 0; i < LOOKS / BATCH; i++) {
    const { image, labels } = batchOf(glyphs, SIDE, -2 - i);
    const { logits } = await session.predict({ image });
    const scores = /** @type {Float32Array} */ (logits.data);
    for (let n = 0; n < BATCH; n++) {
      const row = scores.subarray(n * glyphs.length, (n + 1) * glyphs.length);
      if (row.indexOf(Math.max(...row)) === Number(labels.data[n])) right++;
    }
  }
  return right / LOOKS;
}

/** @param {string} line */
function say(line) {
  console.log(line);
  appendFileSync(file('log.txt'), `${line}\n`);
}

async function main() {
  const { values } = parseArgs({ options: { steps: { type: 'string', default: '4200' } } });
  const steps = Number(values.steps);
  let { session, step, seconds, glyphs } = await open();
  say(`${glyphs.length} classes, from step ${step} to ${steps}`);
  let [mean, since] = [0, performance.now()];
  const batchAt = (/** @type {number} */ at) => batchOf(glyphs, at < SMALL_SHARE * steps ? SMALL_SIDE : SIDE, at);
  for (let batch = batchAt(step); step < steps; ) {
    await session.setLearningRate(rateAt(step, steps));
    const stepping = session.step(batch);
    step++;
    batch = batchAt(step);
    const { loss } = await stepping;
    mean = mean ? 0.99 * mean + 0.01 * loss : loss;
    if (step % SAVE_EVERY && step < steps) continue;
    [seconds, since] = [seconds + (performance.now() - since) / 1000, performance.now()];
    await save(session, { step, seconds });
    const seen =
      step % LOOK_EVERY && step < steps ? '' : `, accuracy ${(await accuracyOf(session, glyphs)).toFixed(3)}`;
    say(`step ${step}, ${Math.round(seconds)} s, loss ${mean.toFixed(3)}${seen}`);
  }
  await session.release();
}

if (process.argv[1] === import.meta.filename) await main();
