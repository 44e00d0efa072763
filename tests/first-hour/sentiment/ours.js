// Good and bad reviews.

import { generateArtifacts, TrainingSession, tensor } from 'trainlet';
import { dense, embedding, gru, input, sequential } from 'trainlet/layers';
import { reviews } from './data.js';

const read = ({ words, labels }) => ({ inputs: tensor(words), labels: tensor(labels, 'int64') });
const [train, test] = [read(reviews(400, 1)), read(reviews(200, 2))];
const network = await sequential([input([8]), embedding(50, 8), gru(16, { resetAfter: false }), dense(2)]);
const artifacts = await generateArtifacts(network, { loss: 'cross-entropy', optimizer: { type: 'adam', lr: 0.01 } });
const session = await TrainingSession.create(artifacts);
await session.fit(train, { epochs: 6 });
console.log(await session.evaluate(test));
await session.release();
