import { generateArtifacts, TrainingSession, tensor } from 'trainlet';
import { dense, input, lstm, sequential } from 'trainlet/layers';

const wave = Float32Array.from({ length: 420 }, (_, t) => Math.sin(t / 5) + 0.5 * Math.sin(t / 2.3));
const [steps, count] = [20, 300]; // 300 windows of 20 steps, each with the value that comes next
const windows = Array.from({ length: count }, (_, i) => [...wave.subarray(i, i + steps)].map((x) => [x]));
const inputs = tensor(windows);
const labels = tensor(Array.from({ length: count }, (_, i) => [wave[i + steps]]));

const network = await sequential([input([steps, 1]), lstm(16), dense(1, { name: 'next' })], { seed: 1 });
const artifacts = await generateArtifacts(network, { loss: 'mse', optimizer: { type: 'adam', lr: 0.01 } });
const session = await TrainingSession.create(artifacts);
await session.fit({ inputs, labels }, { epochs: 40, onEpoch: ({ loss }) => plot({ loss }) });

const seen = [...wave.subarray(count, count + steps)]; // from here on it hears only itself
for (let t = count + steps; t < wave.length; t++) {
  const { next } = await session.predict(tensor([seen.slice(-steps).map((x) => [x])]));
  seen.push(next.data[0]);
  plot({ wave: wave[t], network: next.data[0] });
}
