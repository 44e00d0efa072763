import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from 'trainlet';
import { dense, input, sequential } from 'trainlet/layers';

const x = Array.from({ length: 100 }, (_, i) => i / 50 - 1);
const data = { inputs: new Tensor('float32', x, [100, 1]), labels: new Tensor('float32', x.map(Math.abs), [100, 1]) };

const network = await sequential(
  [input([1], { name: 'x' }), dense(16, { activation: 'relu' }), dense(1, { name: 'y' })],
  { seed: 1 },
);
const session = await TrainingSession.create(
  await generateArtifacts(network, { loss: 'mse', optimizer: { type: 'adam', lr: 0.01 } }),
);
await session.fit(data, { epochs: 60, onEpoch: ({ loss }) => plot({ loss }) });
const model = await session.exportModel();
await session.release();
download('absolute.onnx', model); // for onnxruntime, Netron, Python …

const runner = await InferenceSession.create(model);
console.log('inputs:', runner.inputNames, 'outputs:', runner.outputNames);
const { y } = await runner.run({ x: new Tensor('float32', [-0.5, 0, 0.8], [3, 1]) });
console.log('|-0.5|, |0|, |0.8| are about', y.data);
