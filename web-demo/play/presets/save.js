import { generateArtifacts, TrainingSession, tensor } from 'trainlet';
import { dense, input, sequential } from 'trainlet/layers';

const x = Array.from({ length: 64 }, (_, i) => i / 32 - 1);
const data = { inputs: tensor(x.map((v) => [v])), labels: tensor(x.map((v) => [v * v])) };
async function begin() {
  const network = await sequential([input([1]), dense(16, { activation: 'tanh' }), dense(1)], { seed: 1 });
  const options = { loss: 'mse', optimizer: { type: 'adam', lr: 0.03 } };
  return TrainingSession.create(await generateArtifacts(network, options));
}

const session = await TrainingSession.load('playground').catch(begin); // run it again, or tomorrow, and it goes on
console.log('begins with a loss of', (await session.evaluate(data)).loss);
await session.fit(data, { epochs: 40, onEpoch: ({ loss }) => plot({ loss }) });
console.log('saved with a loss of', (await session.evaluate(data)).loss);
await session.save('playground'); // in this browser
