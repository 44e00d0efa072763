import { generateArtifacts, Tensor, TrainingSession } from 'trainlet';
import { conv2d, dense, flatten, input, maxPooling2d, sequential } from 'trainlet/layers';

// digits of MNIST that the demo brings: 1,000 to learn, 1,000 to test; of each part the labels come first
const bytes = new Uint8Array(await (await fetch(new URL('demo/replay.bin', base))).arrayBuffer());
function part(start) {
  const pixels = Float32Array.from(bytes.subarray(start + 1000, start + 785_000), (grey) => grey / 255);
  const labels = new Tensor('int64', [...bytes.subarray(start, start + 1000)]);
  return { inputs: new Tensor('float32', pixels, [1000, 1, 28, 28]), labels };
}
const [practice, test] = [part(0), part(785_000)];
for (let i = 0; i < 5; i++)
  show({ width: 28, height: 28, data: practice.inputs.data.subarray(784 * i, 784 * i + 784) });

const layers = [input([1, 28, 28]), conv2d(8, 5, { activation: 'relu' }), maxPooling2d(2), flatten(), dense(10)];
const options = { loss: 'cross-entropy', optimizer: { type: 'adam', lr: 0.003 } };
const session = await TrainingSession.create(await generateArtifacts(await sequential(layers, { seed: 1 }), options));
await session.fit(practice, { epochs: 6, onBatch: ({ loss }) => plot({ loss }) });
console.log('accuracy on digits that it has not seen:', (await session.evaluate(test)).accuracy);
