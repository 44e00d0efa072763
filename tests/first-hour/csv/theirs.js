// The price of a house from a CSV file.

import * as tf from '@tensorflow/tfjs';

const csv = tf.data.csv('file://houses.csv', { columnConfigs: { price: { isLabel: true } } });
const rows = await csv.map(({ xs, ys }) => [...Object.values(xs), ys.price]).toArray();
tf.util.shuffle(rows);
const count = Math.floor(0.8 * rows.length);
const all = tf.tensor2d(rows);
const [trained, held] = [all.slice(0, count), all.slice(count)];
const split = (table) => tf.split(table, [table.shape[1] - 1, 1], 1);
const [xs, ys] = split(trained);
const { mean, variance } = tf.moments(xs, 0);
const scaled = (x) => x.sub(mean).div(variance.sqrt());
const model = tf.sequential();
model.add(tf.layers.dense({ inputShape: [xs.shape[1]], units: 64, activation: 'relu' }));
model.add(tf.layers.dense({ units: 64, activation: 'relu' }));
model.add(tf.layers.dense({ units: 1 }));
model.compile({ loss: 'meanSquaredError', optimizer: tf.train.adam(0.01) });
await model.fit(scaled(xs), ys, { epochs: 50, verbose: 0 });
const [testXs, testYs] = split(held);
const errors = tf.losses.meanSquaredError(testYs, model.predict(scaled(testXs)));
const r2 = 1 - errors.div(tf.moments(testYs).variance).dataSync()[0];
console.log('r2', r2);
