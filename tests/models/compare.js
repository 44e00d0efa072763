// Compares what Trainlet computes and learns with the framework's notes in case.json.

import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../js/index.js';
import { HERE } from '../support/engines.js';

const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  int64: BigInt64Array,
  int32: Int32Array,
  bool: Uint8Array,
  uint8: Uint8Array,
};

/** Reads a note: base64 bytes, or words. */
export function tensorOf({ type, dims, data }) {
  if (type === 'string') return new Tensor(type, data, dims);
  const bytes = Uint8Array.from(Buffer.from(data, 'base64'));
  return new Tensor(type, new ARRAYS[type](bytes.buffer), dims);
}

export const tensorsOf = (notes) =>
  Object.fromEntries(Object.entries(notes).map(([name, one]) => [name, tensorOf(one)]));

/** Elements of a tensor, or of a map for each example by rising keys. */
function elementsOf(output) {
  if (!Array.isArray(output)) return output.data;
  return output.flatMap((map) => [...map.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value));
}

function difference(got, wanted) {
  if (typeof wanted === 'string') return got === wanted ? 0 : Number.POSITIVE_INFINITY;
  const size = Math.abs(Number(got) - Number(wanted));
  return Number.isNaN(size) ? Number.POSITIVE_INFINITY : size;
}

/** The largest difference, relative to the largest number that is wanted. */
export function apart(output, wanted) {
  const got = elementsOf(output);
  if (got.length !== wanted.data.length) return Number.POSITIVE_INFINITY;
  let [most, scale] = [0, 1e-6];
  for (let i = 0; i < got.length; i++) {
    most = Math.max(most, difference(got[i], wanted.data[i]));
    if (typeof got[i] !== 'string') scale = Math.max(scale, Math.abs(Number(wanted.data[i])));
  }
  return most / scale;
}

/** The answers that a framework noted: `outputs` of several, in the order of the file, or the first `output` alone. */
function answersOf(note, names) {
  const wanted = note.outputs ?? { [names[0]]: note.output };
  return Object.fromEntries(Object.entries(wanted).map(([name, one]) => [name, tensorOf(one)]));
}

/** The largest difference of the outputs that both have. */
export function farthest(outputs, wanted) {
  const names = Object.keys(wanted).filter((name) => name in outputs);
  return names.length ? Math.max(...names.map((name) => apart(outputs[name], wanted[name]))) : Number.POSITIVE_INFINITY;
}

/** Outputs of an inference session, and their distance from the note. */
export async function forward(model, note, timed) {
  const session = await InferenceSession.create(model, HERE);
  const inputs = tensorsOf(note.inputs);
  const outputs = await session.run(inputs);
  const wanted = answersOf(note, session.outputNames);
  const ms = timed ? await timed(() => session.run(inputs)) : undefined;
  await session.release();
  return { found: { forward: farthest(outputs, wanted), forwardMs: ms }, outputs, wanted };
}

async function artifactsOf(files, { loss, axis, optimizer, lossInputs, requiresGrad, frozen }) {
  if (files.artifacts) return { ...files.artifacts, warnings: [] };
  const type = loss === 'cross-entropy' ? { type: loss, axis } : loss;
  return await generateArtifacts(files.model, { ...HERE, loss: type, optimizer, lossInputs, requiresGrad, frozen });
}

/** Distances of the losses from those noted, the first three and all; where none can be noted, whether they fall. */
function judge(losses, note) {
  if (!note.losses) return { falls: losses.at(-1) < losses[0] };
  const differences = note.losses.map((wanted, i) => Math.abs(losses[i] - wanted) / Math.abs(wanted));
  return { early: Math.max(...differences.slice(0, 3)), loss: Math.max(...differences) };
}

const firstOf = (outputs) => Object.values(outputs)[0];

/** In training mode BatchNormalization takes the statistics of the batch; `predict` answers as in evaluation. */
async function evaluation(session, inputs, note) {
  const outputs = await session.predict(inputs);
  return { found: { forward: apart(firstOf(outputs), tensorOf(note.output)) }, outputs };
}

/** Five steps; `files` are a model, or artifacts. */
export async function train(files, note, timed) {
  const { warnings, ...artifacts } = await artifactsOf(files, note);
  const session = await TrainingSession.create(artifacts, HERE);
  const inputs = tensorsOf(note.inputs);
  const label = session.trainingInputNames.find((name) => !(name in inputs));
  const feeds = { ...inputs, [label]: tensorOf(note.target) };
  const losses = [];
  const before = note.training ? await evaluation(session, inputs, note) : undefined;
  await session.setLearningRate(note.optimizer.lr);
  for (let i = 0; i < 5; i++) losses.push((await session.step(feeds)).loss);
  const predicted = await session.predict(inputs, note.predicts);
  const exported = await session.exportModel({ outputs: note.predicts });
  await session.setLearningRate(0); // more steps of a rate that is right for five may lead to NaN
  const stepMs = timed ? await timed(() => session.step(feeds)) : undefined;
  await session.release();
  const after = note.after ? apart(firstOf(predicted), tensorOf(note.after)) : undefined;
  return {
    found: { ...before?.found, warnings, losses, ...judge(losses, note), after, stepMs },
    exported,
    predicted,
    before,
  };
}
