/** A page that trains, saves, resumes where it was saved, and exports, with an engine shrunk for its one model. */

import { CheckpointStore, Tensor, TrainingSession } from 'trainlet';
import { engine } from './engine/index.js'; // build.mjs has `trainlet shrink` make it

const NAME = 'minimal';
const BATCH = 32;
const $ = (id) => document.getElementById(id);

/** Points of four numbers; the class is which of the first two is larger. */
function batch(seed) {
  const x = Float32Array.from({ length: 4 * BATCH }, (_, i) => Math.sin((seed * BATCH * 4 + i + 1) * 12.9898));
  const labels = BigInt64Array.from({ length: BATCH }, (_, i) => BigInt(Number(x[4 * i] > x[4 * i + 1])));
  return { x: new Tensor('float32', x, [BATCH, 4]), labels: new Tensor('int64', labels, [BATCH]) };
}

const store = await CheckpointStore.open();
const saved = await store.load(NAME);
const session = await TrainingSession.create(
  { compact: 'model.trainlet', ...(saved && { checkpointState: saved.bytes }) },
  engine,
);
const [input, labels] = session.trainingInputNames;
let steps = saved?.meta?.steps ?? 0;

function show(text) {
  $('state').textContent = text;
}

$('train').onclick = async () => {
  let loss;
  for (let i = 0; i < 100; i++, steps++) {
    const data = batch(steps);
    ({ loss } = await session.step({ [input]: data.x, [labels]: data.labels }));
  }
  show(`step ${steps}, loss ${loss}`);
};
$('save').onclick = async () => {
  await store.save(NAME, await session.saveCheckpoint(), { steps });
  show(`saved at step ${steps}`);
};
$('export').onclick = async () => {
  const url = URL.createObjectURL(new Blob([await session.exportModel()]));
  Object.assign(document.createElement('a'), { href: url, download: 'model.onnx' }).click();
};
for (const id of ['train', 'save', 'export']) $(id).disabled = false;
show(saved ? `resumed at step ${steps}` : 'ready');
