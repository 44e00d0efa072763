// Three classes of pictures: learned and saved; after a reload gone on with, and run by onnxruntime-web.

import * as ort from 'onnxruntime-web';
import { generateArtifacts, Tensor, TrainingSession, tensor } from 'trainlet';
import { conv2d, dense, flatten, input, maxPooling2d, sequential } from 'trainlet/layers';
import { pictures } from '../data.js';

const read = ({ images }) => Tensor.fromImage(images, { size: 32 });
const [train, test] = [pictures(120, 1), pictures(30, 2)];
const data = { inputs: await read(train), labels: tensor(train.labels, 'int64') };
if (!localStorage.learned) {
  const network = await sequential([
    input([3, 32, 32], { name: 'image' }),
    conv2d(8, 3, { activation: 'relu' }),
    maxPooling2d(2),
    conv2d(16, 3, { activation: 'relu' }),
    maxPooling2d(2),
    flatten(),
    dense(3),
  ]);
  const artifacts = await generateArtifacts(network, { loss: 'cross-entropy', optimizer: { type: 'adam', lr: 0.01 } });
  const session = await TrainingSession.create(artifacts);
  await session.fit(data, { epochs: 10 });
  await session.save('pictures');
  localStorage.learned = 'yes';
  location.reload();
} else {
  const session = await TrainingSession.load('pictures');
  await session.fit(data, { epochs: 5 });
  const exported = await ort.InferenceSession.create(await session.exportModel());
  const { data: pixels, dims } = await read(test);
  const [scores] = Object.values(await exported.run({ image: new ort.Tensor('float32', pixels, dims) }));
  const classes = test.labels.map((_, i) => scores.data.slice(3 * i, 3 * i + 3)).map((s) => s.indexOf(Math.max(...s)));
  document.title = `accuracy ${classes.filter((label, i) => label === test.labels[i]).length / classes.length}`;
}
