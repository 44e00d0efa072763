import { generateArtifacts, TrainingSession, tensor } from 'trainlet';
import { dense, input, sequential } from 'trainlet/layers';

const points = [0, 1, 2, 3].map((i) => [i >> 1, i % 2]);
const inputs = tensor(points);
const labels = tensor([0, 1, 1, 0], 'int64'); // 1 where exactly one of the two is 1

const network = await sequential([input([2]), dense(8, { activation: 'relu' }), dense(2)], { seed: 1 });
const artifacts = await generateArtifacts(network, { loss: 'cross-entropy', optimizer: { type: 'adam', lr: 0.05 } });
const session = await TrainingSession.create(artifacts);
await session.fit({ inputs, labels }, { epochs: 200, onEpoch: ({ loss }) => plot({ loss }) });

const { dense_1: scores } = await session.predict(inputs);
points.forEach(([a, b], i) => {
  console.log(a, 'xor', b, '=', Number(scores.data[2 * i + 1] > scores.data[2 * i]));
});
