import { CheckpointStore, generateArtifacts, Tensor, TrainingSession } from 'trainlet';
import { dense, input, sequential } from 'trainlet/layers';

const x = Array.from({ length: 64 }, (_, i) => i / 32 - 1);
const data = {
  inputs: new Tensor('float32', x, [64, 1]),
  labels: new Tensor(
    'float32',
    x.map((v) => v * v),
    [64, 1],
  ),
};
const isKept = (await (await CheckpointStore.open()).list()).some(({ name }) => name === 'playground');

async function newSession() {
  const network = await sequential([input([1]), dense(16, { activation: 'tanh' }), dense(1)], { seed: 1 });
  return TrainingSession.create(
    await generateArtifacts(network, { loss: 'mse', optimizer: { type: 'adam', lr: 0.03 } }),
  );
}
const session = isKept ? await TrainingSession.load('playground') : await newSession();
console.log(isKept ? 'goes on from the last run' : 'begins anew', (await session.evaluate(data)).loss);
await session.fit(data, { epochs: 40, onEpoch: ({ loss }) => plot({ loss }) });
await session.save('playground'); // in this browser; run it again, or tomorrow, and it goes on
console.log('saved with a loss of', (await session.evaluate(data)).loss);
