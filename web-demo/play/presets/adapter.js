import { generateArtifacts, TrainingSession, tensor } from 'trainlet';
import { dense, input, sequential } from 'trainlet/layers';

const x = Array.from({ length: 200 }, (_, i) => [i / 100 - 1]);
const task = (f) => ({ inputs: tensor(x), labels: tensor(x.map(([v]) => [f(v)])) });
const [first, second] = [task((v) => Math.sin(4 * v)), task((v) => Math.sin(4 * v) + 0.5 * v)];
const options = { loss: 'mse', optimizer: { type: 'adam', lr: 0.01 } };

const layers = [input([1]), dense(64, { activation: 'tanh' }), dense(64, { activation: 'tanh' }), dense(1)];
const whole = await TrainingSession.create(await generateArtifacts(await sequential(layers, { seed: 1 }), options));
await whole.fit(first, { epochs: 150, onEpoch: ({ loss }) => plot({ 'the network': loss }) });

const model = await whole.exportModel(); // from here on its weights are frozen
const adapted = await TrainingSession.create(await generateArtifacts(model, { ...options, lora: { r: 2 } }));
await adapted.fit(second, { epochs: 150, onEpoch: ({ loss }) => plot({ 'the adapter': loss }) });
console.log('weights:', await whole.getParametersSize(), 'of the adapter:', await adapted.getParametersSize());
console.log('first task, without the adapter:', (await adapted.evaluate(first, { adapter: null })).loss);
console.log('second task, with it:', (await adapted.evaluate(second)).loss);
for (const [name, bytes] of Object.entries(await adapted.exportAdapter())) download(name, bytes);
