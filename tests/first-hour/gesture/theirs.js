// Four gestures of 6 sensor channels.

import * as tf from '@tensorflow/tfjs';
import { gestures } from './data.js';

const read = ({ signals, labels }) => ({ xs: tf.tensor3d(signals), ys: tf.tensor1d(labels) });
const [train, test] = [read(gestures(200, 1)), read(gestures(100, 2))];
const model = tf.sequential();
model.add(tf.layers.conv1d({ inputShape: [32, 6], filters: 16, kernelSize: 5, activation: 'relu' }));
model.add(tf.layers.maxPooling1d({ poolSize: 2 }));
model.add(tf.layers.conv1d({ filters: 32, kernelSize: 5, activation: 'relu' }));
model.add(tf.layers.globalAveragePooling1d());
model.add(tf.layers.dense({ units: 4, activation: 'softmax' }));
model.compile({ loss: 'sparseCategoricalCrossentropy', optimizer: tf.train.adam(0.005), metrics: ['accuracy'] });
await model.fit(train.xs, train.ys, { epochs: 5, verbose: 0 });
model.evaluate(test.xs, test.ys)[1].print();
