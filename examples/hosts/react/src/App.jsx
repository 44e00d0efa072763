import { generateArtifacts, TrainingSession, tensor } from 'trainlet';
import { dense, input, sequential } from 'trainlet/layers';
import { useTrainlet } from './useTrainlet.js';

const inputs = tensor([
  [0, 0],
  [0, 1],
  [1, 0],
  [1, 1],
]);
const labels = tensor([0, 1, 1, 0], 'int64'); // exclusive or

async function createSession() {
  const network = await sequential([input([2]), dense(8, { activation: 'tanh' }), dense(2)]);
  const options = { loss: 'cross-entropy', optimizer: { type: 'adam', lr: 0.05 } };
  return await TrainingSession.create(await generateArtifacts(network, options));
}

export function App() {
  const { fit, losses, error } = useTrainlet(createSession);
  const told = losses.length > 0 ? `loss ${losses[0].toFixed(4)} → ${losses.at(-1).toFixed(4)}` : '';
  return (
    <main>
      <button type="button" onClick={() => fit({ inputs, labels }, { epochs: 200 })}>
        Train
      </button>
      <output>{error?.message ?? told}</output>
    </main>
  );
}
