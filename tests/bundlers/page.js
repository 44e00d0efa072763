// The page that every bundler builds: imports the package by its name, trains for a few steps, learns pictures on the
// network that comes with it, and shows its results in the document.
import { fineTune, generateArtifacts, Tensor, TrainingSession } from 'trainlet';
import { pictures } from 'trainlet/models';

async function train() {
  const model = new Uint8Array(await (await fetch('model.onnx')).arrayBuffer());
  const artifacts = await generateArtifacts(model, { loss: 'cross-entropy', optimizer: { type: 'sgd', lr: 0.1 } });
  const session = await TrainingSession.create(artifacts);
  const input = new Tensor(
    'float32',
    Float32Array.from({ length: 160 }, (_, i) => Math.sin(i)),
    [8, 20],
  );
  const labels = new Tensor('int64', [0, 1, 2, 3, 4, 0, 1, 2]);
  const first = await session.evaluate({ inputs: { input }, labels: { labels } });
  await session.fit(
    { inputs: { input }, labels: { labels } },
    { batchSize: 8, epochs: 20, augment: [{ type: 'scale', by: 0.01 }] },
  );
  const last = await session.evaluate({ inputs: { input }, labels: { labels } });
  await session.release();
  return `loss ${first.loss.toFixed(4)} → ${last.loss.toFixed(4)}`;
}

/** Light and dark pictures; the share of them that is read right. */
async function learnPictures() {
  const labels = Array.from({ length: 8 }, (_, i) => (i % 2 ? 'light' : 'dark'));
  const photos = labels.map((label, i) => {
    const canvas = new OffscreenCanvas(100, 100);
    const context = canvas.getContext('2d');
    context.fillStyle = `hsl(${45 * i} 50% ${label === 'light' ? 80 : 20}%)`;
    context.fillRect(0, 0, 100, 100);
    return canvas;
  });
  const image = await Tensor.fromImage(photos, { size: 96, mean: 0.5, std: 0.5 });
  const { session } = await fineTune(pictures, { inputs: { image }, labels });
  const read = await session.predict({ image }, { labels: true });
  await session.release();
  return labels.filter((label, i) => read.labels.data[i] === label).length;
}

const all = async () => `${await train()}, ${await learnPictures()} of 8 pictures`;
all().then(tell, (error) => tell(`${error.code}: ${error.message}`));

/** @param {string} text */
function tell(text) {
  document.title = text;
}
