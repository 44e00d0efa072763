// One model of the zoo: what Trainlet computes, learns and exports, beside what its framework noted; prints JSON.
//
//   node tests/models/check.js FOLDER

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../js/index.js';
import { runtime } from './peer.js';

const HERE = { worker: false, threads: 1 };
const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  int64: BigInt64Array,
  int32: Int32Array,
  bool: Uint8Array,
  uint8: Uint8Array,
};

function tensorOf({ type, dims, data }) {
  const bytes = Uint8Array.from(Buffer.from(data, 'base64'));
  return new Tensor(type, new ARRAYS[type](bytes.buffer), dims);
}

/** The largest difference, relative to the largest number that is wanted. */
function apart(got, wanted) {
  if (got.length !== wanted.length) return Number.POSITIVE_INFINITY;
  let [most, scale] = [0, 1e-6];
  for (let i = 0; i < wanted.length; i++) {
    const difference = Math.abs(got[i] - wanted[i]);
    most = Number.isNaN(difference) ? Number.POSITIVE_INFINITY : Math.max(most, difference);
    scale = Math.max(scale, Math.abs(wanted[i]));
  }
  return most / scale;
}

/** The shortest of some calls, in ms: the machine may be doing something else too. */
async function fastest(call, least = 5, mostMs = 1500) {
  let best = Number.POSITIVE_INFINITY;
  const end = performance.now() + mostMs;
  for (let i = 0; i < 50 && (i < least || performance.now() < end); i++) {
    const start = performance.now();
    await call();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

const folder = process.argv[2];
const note = JSON.parse(readFileSync(join(folder, 'case.json'), 'utf8'));
const model = new Uint8Array(readFileSync(join(folder, 'model.onnx')));
const inputs = Object.fromEntries(Object.entries(note.inputs).map(([name, value]) => [name, tensorOf(value)]));
const [output, target, after] = [note.output, note.target, note.after].map(tensorOf);
const found = { name: note.name, opset: note.opset, exporter: note.exporter };

async function forward() {
  const session = await InferenceSession.create(model, HERE);
  const [name] = session.outputNames;
  const { [name]: got } = await session.run(inputs);
  found.forward = apart(got.data, output.data);
  found.forwardMs = await fastest(() => session.run(inputs));
  await session.release();
}

async function train() {
  const loss = note.loss === 'cross-entropy' ? { type: note.loss, axis: note.axis } : note.loss;
  const artifacts = await generateArtifacts(model, { ...HERE, loss, optimizer: note.optimizer });
  found.warnings = artifacts.warnings;
  const session = await TrainingSession.create(artifacts, HERE);
  const label = session.trainingInputs.map(({ name }) => name).find((name) => !(name in inputs));
  const feeds = { ...inputs, [label]: target };
  found.losses = [];
  for (const _ of note.losses) found.losses.push((await session.step(feeds)).loss);
  found.loss = Math.max(...note.losses.map((wanted, i) => Math.abs(found.losses[i] - wanted) / Math.abs(wanted)));
  const predicted = Object.values(await session.predict(inputs))[0];
  found.after = apart(predicted.data, after.data);
  const exported = await session.exportModel();
  found.stepMs = await fastest(() => session.step(feeds));
  await session.release();
  return { exported, predicted };
}

async function attempt(what, work) {
  try {
    return await work();
  } catch (error) {
    found[`${what}Error`] = `${error.code ?? error.name}: ${error.message}`;
  }
}

await attempt('forward', forward);
const learned = await attempt('train', train);
if (learned)
  await attempt('export', async () => {
    found.export = apart((await runtime(learned.exported, inputs)).output, learned.predicted.data);
  });
await attempt('peer', async () => {
  const { output: theirs, ms } = await runtime(model, inputs, fastest);
  [found.peer, found.peerMs] = [apart(theirs, output.data), ms];
});
process.stdout.write(`${JSON.stringify(found)}\n`);
process.exit(0);
