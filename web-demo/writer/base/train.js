// Trains the base with Trainlet on the text that is not kept aside. It goes on where it was stopped: what a step sees
// depends on its number alone.
//
//   node web-demo/writer/base/train.js --steps 6000     checkpoints in build/writer/training
//     --before FOLDER    begins with the weights of the base.onnx and tokenizer.json in there

import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Tokenizer } from '@huggingface/tokenizers';
import { generate, generateArtifacts, packText, Tensor, TrainingSession } from '../../../js/index.js';
import { randomFrom } from '../../pictures/views.js';
import { weightsBefore } from './before.js';
import { FOLDER, readCorpus } from './corpus.js';
import { network, POSITIONS } from './network.js';

const TRAINING = join(FOLDER, 'training');
const [BATCH, WARMUP, SAVE_EVERY, LOOK_EVERY] = [16, 100, 50, 250];
const [RATE, LAST_RATE] = [1.5e-3, 3e-5];
const engine = { threads: 1 };
const file = (/** @type {string} */ name) => join(TRAINING, name);
const TOKENS = JSON.parse(readFileSync(new URL('../tokenizer.json', import.meta.url), 'utf8'));
const tokenizer = new Tokenizer(TOKENS, {});
const END = 0;

/** Pieces one after the other in a random order, an end after each. @param {string[]} pieces @param {number} seed */
function tokensOf(pieces, seed) {
  const random = randomFrom(seed);
  const order = pieces.map((text) => ({ text, at: random() })).sort((a, b) => a.at - b.at);
  return Int32Array.from(order.flatMap(({ text }) => [...tokenizer.encode(text).ids, END]));
}

/** Windows from anywhere, and for each token the next one. @param {Int32Array} tokens @param {number} seed */
function batchOf(tokens, seed) {
  const random = randomFrom(Math.imul(seed + 1, 0x9e3779b1));
  const [inputs, labels] = [new BigInt64Array(BATCH * POSITIONS), new BigInt64Array(BATCH * POSITIONS)];
  for (let row = 0; row < BATCH; row++) {
    const from = Math.floor(random() * (tokens.length - POSITIONS));
    for (let i = 0; i < POSITIONS; i++) {
      inputs[row * POSITIONS + i] = BigInt(tokens[from + i]);
      labels[row * POSITIONS + i] = BigInt(tokens[from + i + 1]);
    }
  }
  const dims = [BATCH, POSITIONS];
  return { input_ids: new Tensor('int64', inputs, dims), labels: new Tensor('int64', labels, dims) };
}

/** Up in a straight line, level, and down for the last half; so a run may end elsewhere than it was meant to. */
const rateAt = (/** @type {number} */ step, /** @type {number} */ steps) =>
  Math.min((RATE * (step + 1)) / WARMUP, RATE, LAST_RATE + (RATE - LAST_RATE) * 2 * (1 - step / steps));

/** The weights of a base and its tokens in a folder. @param {string} folder */
function readBefore(folder) {
  const tokens = JSON.parse(readFileSync(join(folder, 'tokenizer.json'), 'utf8'));
  return weightsBefore(readFileSync(join(folder, 'base.onnx')), tokens, TOKENS);
}

/** A new session, or the one that was stopped. @param {string} [before] */
export async function open(before) {
  mkdirSync(TRAINING, { recursive: true });
  const artifacts = await generateArtifacts(network(before ? readBefore(before) : undefined), {
    ...engine,
    loss: { type: 'cross-entropy', axis: -1 },
    optimizer: { type: 'adamw', weightDecay: 0.1, betas: [0.9, 0.98] },
    additionalOutputs: ['logits'],
  });
  const begun = existsSync(file('step.json'));
  const checkpointState = begun ? readFileSync(file('checkpoint')) : artifacts.checkpointState;
  const session = await TrainingSession.create({ ...artifacts, checkpointState }, engine);
  const { step = 0, seconds = 0 } = begun ? JSON.parse(readFileSync(file('step.json'), 'utf8')) : {};
  return { session, step, seconds };
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

/**
 * Prints the loss on text that is kept aside, and a sentence that the model continues.
 * @param {TrainingSession} session @param {string[]} aside
 */
async function lookAt(session, aside) {
  const texts = aside.slice(0, 100).map((text) => tokenizer.encode(text).ids);
  const data = await packText(
    texts.flatMap((ids) => [...ids, END]),
    { length: POSITIONS, inputs: session.trainingInputs },
  );
  const bytes = Buffer.byteLength(aside.slice(0, 100).join(''));
  const found = await session.evaluate(data, { batchSize: BATCH, metrics: ['bits-per-byte'], bytes });
  const { ids } = await generate(session, tokenizer.encode('The best way to').ids, {
    maxTokens: 40,
    temperature: 0.7,
    seed: 1,
  });
  return { bits: found['bits-per-byte'], text: tokenizer.decode(ids) };
}

/** @param {string} line */
function say(line) {
  console.log(line);
  appendFileSync(file('log.txt'), `${line}\n`);
}

async function main() {
  const { values } = parseArgs({ options: { steps: { type: 'string', default: '6000' }, before: { type: 'string' } } });
  const steps = Number(values.steps);
  const { learned, aside } = readCorpus();
  const tokens = tokensOf(learned, 1);
  let { session, step, seconds } = await open(values.before);
  say(`${tokens.length} tokens, from step ${step} to ${steps}`);
  let [mean, since] = [0, performance.now()];
  for (let batch = batchOf(tokens, step); step < steps; ) {
    await session.setLearningRate(rateAt(step, steps));
    const stepping = session.step(batch);
    step++;
    batch = batchOf(tokens, step);
    const { loss } = await stepping;
    mean = mean ? 0.99 * mean + 0.01 * loss : loss;
    if (step % SAVE_EVERY && step < steps) continue;
    [seconds, since] = [seconds + (performance.now() - since) / 1000, performance.now()];
    await save(session, { step, seconds });
    say(`step ${step}, ${Math.round(seconds)} s, loss ${mean.toFixed(3)}`);
    if (step % LOOK_EVERY && step < steps) continue;
    const { bits, text } = await lookAt(session, aside);
    say(`bits a byte ${bits.toFixed(3)}: The best way to${text}`);
  }
  await session.release();
}

if (process.argv[1] === import.meta.filename) await main();
