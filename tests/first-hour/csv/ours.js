// The price of a house from a CSV file.

import { generateArtifacts, readTable, TrainingSession } from 'trainlet';
import { dense, input, normalization, sequential } from 'trainlet/layers';

const { inputs, labels, mean, variance, validation } = await readTable('houses.csv', {
  target: 'price',
  validation: 0.2,
});
const network = await sequential([
  input([mean.length]),
  normalization({ mean, variance }),
  dense(64, { activation: 'relu' }),
  dense(64, { activation: 'relu' }),
  dense(1),
]);
const artifacts = await generateArtifacts(network, { loss: 'mse', optimizer: { type: 'adam', lr: 0.01 } });
const session = await TrainingSession.create(artifacts);
await session.fit({ inputs, labels }, { epochs: 50 });
console.log(await session.evaluate(validation, { metrics: ['r2'] }));
await session.release();
