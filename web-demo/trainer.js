// The training: batches of the person's drawings, bent a little, among digits of MNIST, and scores between the rounds.
import { feeds } from './model.js';
import { bendInto, PIXELS, randomBend } from './preprocess.js';

const BATCH = 64;
const OWN = 12; // of a batch, the rest is MNIST
const RATE = 1e-3,
  WARMUP = 20;
const ROUND = 25; // steps between two scores
const LOSS_EVERY = 5; // steps a point in the chart of the loss, their mean

/** @typedef {import('./replay.js').Sample} Sample */

/** Endless in kind, but a round in length, as `fit` takes them for one epoch.
 * @param {Sample[]} own @param {Sample[]} replay */
function* round(own, replay) {
  const any = (list) => list[Math.floor(Math.random() * list.length)];
  for (let step = 0; step < ROUND; step++) {
    const input = new Float32Array(BATCH * PIXELS);
    const chosen = Array.from({ length: BATCH }, (_, i) => any(i < OWN && own.length ? own : replay));
    chosen.forEach(({ pixels }, i) => bendInto(pixels, input.subarray(i * PIXELS, (i + 1) * PIXELS), randomBend()));
    const { inputs, labels } = feeds(
      input,
      chosen.map((s) => s.label),
    );
    yield { ...inputs, ...labels };
  }
}

/** Trains from the network's step to the notebook's target; stops early, and cleanly, on `signal`.
 * @param {{ network: import('./model.js').Network, notebook: import('./notebook.js').Notebook,
 *   digits: Awaited<ReturnType<typeof import('./replay.js').loadReplay>>, store?:
 * import('../js/index.js').CheckpointStore, signal: AbortSignal,
 *   onStep: (event: import('../js/types.js').BatchEvent) => void, onScore: () => void }} run */
export async function train({ network, notebook, digits, store, signal, onStep, onScore }) {
  const { course } = notebook,
    left = course.target - course.step,
    recent = [];
  let scoring = Promise.resolve();
  const onBatch = (event) => {
    network.steps = course.step += 1;
    recent.push(event.loss);
    if (recent.length === LOSS_EVERY) course.loss.push([course.step, mean(recent.splice(0))]);
    onStep(event);
  };
  const scoreNow = async () => {
    await score(network, notebook, digits.test);
    await notebook.save();
    onScore();
  };
  const onEpoch = () => {
    scoring = scoring.then(scoreNow);
  };
  try {
    await network.session.fit(() => round(notebook.drawings, digits.practice), {
      epochs: Math.ceil(left / ROUND),
      maxSteps: left,
      schedule: { type: 'cosine', lr: RATE, warmup: WARMUP, steps: left },
      checkpoint: network.checkpoint(store),
      onBatch,
      onEpoch,
      signal,
    });
  } catch (error) {
    if (error.code !== 'aborted') throw error;
  } finally {
    await scoring;
  }
  await scoreNow();
}

/** Reads the drawings and the test digits, and writes the figures into the notebook. */
export async function score(network, notebook, test) {
  const { course } = notebook,
    { step } = course;
  course.now = { own: await readDrawings(network, notebook), heldOut: await network.score(test) };
  if (course.now.own !== null) mark(course.own, step, course.now.own);
  mark(course.heldOut, step, course.now.heldOut);
}

/** Notes with each drawing what the network reads in it. @returns {Promise<number | null>} the share read correctly */
export async function readDrawings(network, { drawings: [...drawings], classes }) {
  const read = await network.readAll(drawings, classes);
  drawings.forEach((drawing, i) => {
    drawing.reads = read[i];
  });
  return drawings.length ? mean(drawings.map((d) => Number(d.reads === d.label))) : null;
}

/** One point a step: a second score of the same step replaces the first. */
function mark(points, step, value) {
  if (points.at(-1)?.[0] === step) points.pop();
  points.push([step, value]);
}

const mean = (list) => list.reduce((a, b) => a + b) / list.length;
