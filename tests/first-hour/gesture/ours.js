// Four gestures of 6 sensor channels.

import { generateArtifacts, TrainingSession, tensor } from 'trainlet';
import { conv1d, dense, globalAveragePooling1d, input, maxPooling1d, permute, sequential } from 'trainlet/layers';
import { gestures } from './data.js';

const read = ({ signals, labels }) => ({ inputs: tensor(signals), labels: tensor(labels, 'int64') });
const [train, test] = [read(gestures(200, 1)), read(gestures(100, 2))];
const network = await sequential([
  input([32, 6]),
  permute([2, 1]), // channels first
  conv1d(16, 5, { activation: 'relu' }),
  maxPooling1d(2),
  conv1d(32, 5, { activation: 'relu' }),
  globalAveragePooling1d(),
  dense(4),
]);
const artifacts = await generateArtifacts(network, { loss: 'cross-entropy', optimizer: { type: 'adam', lr: 0.005 } });
const session = await TrainingSession.create(artifacts);
await session.fit(train, { epochs: 5 });
console.log(await session.evaluate(test));
await session.release();
