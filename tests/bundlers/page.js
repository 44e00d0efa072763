// The page that every bundler builds: imports the package by its name, trains for a few steps, and shows its results in
// the document.
import { generateArtifacts, Tensor, TrainingSession } from 'trainlet';

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

train().then(tell, (error) => tell(`${error.code}: ${error.message}`));

/** @param {string} text */
function tell(text) {
  document.title = text;
}
