// What Trainlet computes and learns of a model, beside what its framework noted in case.json.

import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../js/index.js';

const HERE = { worker: false, threads: 1 };
const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  int64: BigInt64Array,
  int32: Int32Array,
  bool: Uint8Array,
  uint8: Uint8Array,
};

/** Of a note: bytes in base64, or words. */
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

/** `outputs` of several, in the order of the file, or the first `output` alone. */
export async function forward(model, note, timed) {
  const session = await InferenceSession.create(model, HERE);
  const inputs = tensorsOf(note.inputs);
  const got = await session.run(inputs);
  const wanted = note.outputs ?? { [session.outputNames[0]]: note.output };
  const all = Object.entries(wanted).map(([name, one]) => apart(got[name], tensorOf(one)));
  const ms = timed ? await timed(() => session.run(inputs)) : undefined;
  await session.release();
  return { forward: Math.max(...all), forwardMs: ms };
}

async function artifactsOf(files, { loss, axis, optimizer, lossInputs, requiresGrad, frozen }) {
  if (files.artifacts) return { ...files.artifacts, warnings: [] };
  const type = loss === 'cross-entropy' ? { type: loss, axis } : loss;
  return await generateArtifacts(files.model, { ...HERE, loss: type, optimizer, lossInputs, requiresGrad, frozen });
}

/** How far the losses are from those noted, or, where none can be, whether they fall. */
function judge(losses, note) {
  if (!note.losses) return { falls: losses.at(-1) < losses[0] };
  return { loss: Math.max(...note.losses.map((wanted, i) => Math.abs(losses[i] - wanted) / Math.abs(wanted))) };
}

/** Five steps; `files` are a model, or artifacts. */
export async function train(files, note, timed) {
  const { warnings, ...artifacts } = await artifactsOf(files, note);
  const session = await TrainingSession.create(artifacts, HERE);
  const inputs = tensorsOf(note.inputs);
  const label = session.trainingInputNames.find((name) => !(name in inputs));
  const feeds = { ...inputs, [label]: tensorOf(note.target) };
  const losses = [];
  await session.setLearningRate(note.optimizer.lr);
  for (let i = 0; i < 5; i++) losses.push((await session.step(feeds)).loss);
  const predicted = await session.predict(inputs, note.predicts);
  const exported = await session.exportModel({ outputs: note.predicts });
  const stepMs = timed ? await timed(() => session.step(feeds)) : undefined;
  await session.release();
  const first = Object.values(predicted)[0];
  const after = note.after ? apart(first, tensorOf(note.after)) : undefined;
  return { found: { warnings, losses, ...judge(losses, note), after, stepMs }, exported, predicted };
}
