// Trains digits-init.onnx on MNIST, slightly bent, and writes digits.onnx: the demo's network, made by trainlet itself.
// make-compact.js makes of it what the page loads.
import { writeFileSync } from 'node:fs';
import { generateArtifacts, Tensor, TrainingSession } from '../js/index.js';
import { bendInto, randomBend } from './bend.js';
import { readMnist } from './mnist.js';
import { PIXELS, SIZE } from './preprocess.js';

const EPOCHS = 5,
  BATCH = 64,
  SEED = 1;

/** Mulberry32, so that the same script makes the same network. */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One epoch in a new order, each image a little bent if `random` is given. */
function* batches(set, random) {
  const order = Array.from({ length: set.count }, (_, i) => i);
  for (let i = set.count - 1; random && i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  const straight = { angle: 0, scale: 1, dx: 0, dy: 0 };
  for (let start = 0; start < set.count; start += BATCH) {
    const chosen = order.slice(start, start + BATCH),
      input = new Float32Array(chosen.length * PIXELS);
    chosen.forEach((i, n) =>
      bendInto(set.image(i), input.subarray(n * PIXELS, (n + 1) * PIXELS), random ? randomBend(random) : straight),
    );
    yield {
      input: new Tensor('float32', input, [chosen.length, 1, SIZE, SIZE]),
      labels: new Tensor(
        'int64',
        BigInt64Array.from(chosen, (i) => BigInt(set.labels[i])),
      ),
    };
  }
}

const here = (name) => new URL(name, import.meta.url);
const training = readMnist('train'),
  test = readMnist('t10k'),
  random = randomFrom(SEED);
const artifacts = await generateArtifacts(here('digits-init.onnx'), { loss: 'cross-entropy', optimizer: 'adam' });
const session = await TrainingSession.create(artifacts);
const stepsPerEpoch = Math.ceil(training.count / BATCH);
await session.fit(() => batches(training, random), {
  epochs: EPOCHS,
  schedule: { type: 'cosine', lr: 2e-3, warmup: 100, steps: EPOCHS * stepsPerEpoch, end: 2e-5 },
  onBatch: ({ step, loss, samplesPerSecond }) => {
    if (step % 100 === 0)
      console.log(
        `step ${step} of ${EPOCHS * stepsPerEpoch}, loss ${loss.toFixed(3)}, ${Math.round(samplesPerSecond)} samples/s`,
      );
  },
});
const { accuracy } = await session.evaluate(() => batches(test), { metrics: ['accuracy'] });
const model = await session.exportModel();
writeFileSync(here('digits.onnx'), model);
console.log(`digits.onnx: ${model.length} bytes, reads ${(accuracy * 100).toFixed(2)} % of the 10,000 test images`);
await session.release();
