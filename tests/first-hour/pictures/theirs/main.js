// Three classes of pictures: learned and saved; after a reload gone on with. TensorFlow.js writes no ONNX.

import * as tf from '@tensorflow/tfjs';
import { pictures } from '../data.js';

const small = (image) => tf.image.resizeBilinear(tf.browser.fromPixels(image), [32, 32]).div(255);
const read = ({ images, labels }) => ({ xs: tf.stack(images.map(small)), ys: tf.tensor1d(labels) });
const [train, test] = [read(pictures(120, 1)), read(pictures(30, 2))];
if (!localStorage.learned) {
  const model = tf.sequential();
  model.add(tf.layers.conv2d({ inputShape: [32, 32, 3], filters: 8, kernelSize: 3, activation: 'relu' }));
  model.add(tf.layers.maxPooling2d({ poolSize: 2 }));
  model.add(tf.layers.conv2d({ filters: 16, kernelSize: 3, activation: 'relu' }));
  model.add(tf.layers.maxPooling2d({ poolSize: 2 }));
  model.add(tf.layers.flatten());
  model.add(tf.layers.dense({ units: 3, activation: 'softmax' }));
  model.compile({ loss: 'sparseCategoricalCrossentropy', optimizer: tf.train.adam(0.01), metrics: ['accuracy'] });
  await model.fit(train.xs, train.ys, { epochs: 10, verbose: 0 });
  await model.save('indexeddb://pictures', { includeOptimizer: true });
  localStorage.learned = 'yes';
  location.reload();
} else {
  const model = await tf.loadLayersModel('indexeddb://pictures');
  await model.fit(train.xs, train.ys, { epochs: 5, verbose: 0 });
  document.title = `accuracy ${model.evaluate(test.xs, test.ys)[1].dataSync()[0]}`;
}
