// Three classes of pictures: learned and saved, which ml5 does by downloads that the user keeps.
// It goes on with no network that was loaded, and writes no ONNX.

import ml5 from 'ml5';
import { pictures } from '../data.js';

const small = async (image) => {
  const context = new OffscreenCanvas(32, 32).getContext('2d');
  context.drawImage(await createImageBitmap(image), 0, 0, 32, 32);
  return { image: [...context.getImageData(0, 0, 32, 32).data] };
};
const [train, test] = [pictures(120, 1), pictures(30, 2)];
await ml5.setBackend('webgl');
const network = ml5.neuralNetwork({
  task: 'imageClassification',
  inputs: [32, 32, 4],
  learningRate: 0.05,
  layers: [
    { type: 'conv2d', filters: 8, kernelSize: 3, activation: 'relu' },
    { type: 'maxPooling2d', poolSize: 2 },
    { type: 'conv2d', filters: 16, kernelSize: 3, activation: 'relu' },
    { type: 'maxPooling2d', poolSize: 2 },
    { type: 'flatten' },
    { type: 'dense', activation: 'softmax' },
  ],
});
for (const [i, image] of train.images.entries()) network.addData(await small(image), { label: `${train.labels[i]}` });
network.normalizeData();
await network.train({ epochs: 20, validationSplit: 0 }, () => {});
await network.save('pictures');
let right = 0;
for (const [i, image] of test.images.entries())
  right += (await network.classify(await small(image)))[0].label === `${test.labels[i]}`;
document.title = `accuracy ${right / test.labels.length}`;
