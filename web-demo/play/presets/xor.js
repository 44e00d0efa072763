import { generateArtifacts, Tensor, TrainingSession } from 'trainlet';
import { dense, input, sequential } from 'trainlet/layers';

const inputs = new Tensor('float32', [0, 0, 0, 1, 1, 0, 1, 1], [4, 2]);
const labels = new Tensor('int64', [0, 1, 1, 0]); // 1 where exactly one of the two is 1

const network = await sequential([input([2]), dense(8, { activation: 'relu' }), dense(2)], { seed: 1 });
const artifacts = await generateArtifacts(network, { loss: 'cross-entropy', optimizer: { type: 'adam', lr: 0.05 } });
const session = await TrainingSession.create(artifacts);
await session.fit({ inputs, labels }, { epochs: 200, onEpoch: ({ loss }) => plot({ loss }) });

const { dense_1: scores } = await session.predict(inputs);
for (let i = 0; i < 4; i++)
  console.log(
    inputs.data[2 * i],
    'xor',
    inputs.data[2 * i + 1],
    '=',
    Number(scores.data[2 * i + 1] > scores.data[2 * i]),
  );
