// In one file, because a service worker has no import().
import { generateArtifacts, TrainingSession, tensor } from './node_modules/trainlet/dist/trainlet.min.js';

const inputs = tensor([
  [0, 0],
  [0, 1],
  [1, 0],
  [1, 1],
]);
const labels = tensor([0, 1, 1, 0], 'int64'); // exclusive or

async function train(network) {
  const options = { loss: 'cross-entropy', optimizer: { type: 'adam', lr: 0.05 } };
  const session = await TrainingSession.create(await generateArtifacts(network, options));
  const before = await session.evaluate({ inputs, labels });
  await session.fit({ inputs, labels }, { epochs: 200 });
  const after = await session.evaluate({ inputs, labels });
  await session.release();
  return `loss ${before.loss.toFixed(4)} → ${after.loss.toFixed(4)}`;
}

addEventListener('message', (event) => {
  const answer = (text) => event.source.postMessage(text);
  event.waitUntil(train(event.data).then(answer, ({ message }) => answer(message)));
});
