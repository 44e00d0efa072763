// Good and bad reviews.

import * as tf from '@tensorflow/tfjs';
import { reviews } from './data.js';

const read = ({ words, labels }) => ({ xs: tf.tensor2d(words), ys: tf.tensor1d(labels) });
const [train, test] = [read(reviews(400, 1)), read(reviews(200, 2))];
const model = tf.sequential();
model.add(tf.layers.embedding({ inputDim: 50, outputDim: 8, inputLength: 8 }));
model.add(tf.layers.gru({ units: 16, recurrentActivation: 'sigmoid' }));
model.add(tf.layers.dense({ units: 2, activation: 'softmax' }));
model.compile({ loss: 'sparseCategoricalCrossentropy', optimizer: tf.train.adam(0.01), metrics: ['accuracy'] });
await model.fit(train.xs, train.ys, { epochs: 6, verbose: 0 });
model.evaluate(test.xs, test.ys)[1].print();
