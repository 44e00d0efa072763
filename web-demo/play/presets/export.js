import { generateArtifacts, InferenceSession, TrainingSession, tensor } from 'trainlet';
import { dense, input, sequential } from 'trainlet/layers';

const x = Array.from({ length: 100 }, (_, i) => [i / 50 - 1]);
const data = { inputs: tensor(x), labels: tensor(x.map(([v]) => [Math.abs(v)])) };
const layers = [input([1], { name: 'x' }), dense(16, { activation: 'relu' }), dense(1, { name: 'y' })];
const options = { loss: 'mse', optimizer: { type: 'adam', lr: 0.01 } };
const session = await TrainingSession.create(await generateArtifacts(await sequential(layers, { seed: 1 }), options));
await session.fit(data, { epochs: 60, onEpoch: ({ loss }) => plot({ loss }) });
const model = await session.exportModel();
download('absolute.onnx', model); // for onnxruntime, Netron, Python …

const runner = await InferenceSession.create(model);
const { y } = await runner.run({ x: tensor([[-0.5], [0], [0.8]]) });
console.log('|-0.5|, |0|, |0.8| are about', y.data);
