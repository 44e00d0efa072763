import { generateArtifacts, Tensor, TrainingSession } from 'trainlet';
import { dense, input, sequential } from 'trainlet/layers';

const x = Array.from({ length: 100 }, (_, i) => i / 50 - 1);
const y = x.map((value) => 3 * value + 2 + 0.3 * Math.sin(40 * value)); // slope 3, offset 2, some noise
const data = { inputs: new Tensor('float32', x, [100, 1]), labels: new Tensor('float32', y, [100, 1]) };

const network = await sequential([input([1]), dense(1)], { seed: 1 });
const artifacts = await generateArtifacts(network, { loss: 'mse', optimizer: { type: 'sgd', lr: 0.2 } });
const session = await TrainingSession.create(artifacts);
await session.fit(data, { epochs: 20, onBatch: ({ loss }) => plot({ loss }) });

for (const { name } of session.parameters) console.log(name, (await session.getParameter(name)).data);
