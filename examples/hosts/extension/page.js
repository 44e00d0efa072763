import { generateArtifacts, TrainingSession, tensor } from './trainlet/index.js';
import { dense, input, sequential } from './trainlet/layers.js';

const inputs = tensor([
  [0, 0],
  [0, 1],
  [1, 0],
  [1, 1],
]);
const labels = tensor([0, 1, 1, 0], 'int64'); // exclusive or

const network = await sequential([input([2]), dense(8, { activation: 'tanh' }), dense(2)]);
const options = { loss: 'cross-entropy', optimizer: { type: 'adam', lr: 0.05 } };
const session = await TrainingSession.create(await generateArtifacts(network, options));

const [button, output] = document.querySelectorAll('button, output');
button.onclick = async () => {
  button.disabled = true;
  const before = await session.evaluate({ inputs, labels });
  await session.fit({ inputs, labels }, { epochs: 200 });
  const after = await session.evaluate({ inputs, labels });
  output.textContent = `loss ${before.loss.toFixed(4)} → ${after.loss.toFixed(4)}`;
  button.disabled = false;
};
button.disabled = false;
