import { generateArtifacts, Tensor, TrainingSession } from 'trainlet';
import { dense, input, lstm, sequential } from 'trainlet/layers';

const wave = Float32Array.from({ length: 420 }, (_, t) => Math.sin(t / 5) + 0.5 * Math.sin(t / 2.3));
const [steps, count] = [20, 300]; // 300 windows of 20 steps, each with the value that comes next
const windows = Array.from({ length: count }, (_, i) => [...wave.subarray(i, i + steps)]);
const inputs = new Tensor('float32', windows.flat(), [count, steps, 1]);
const labels = new Tensor('float32', wave.slice(steps, steps + count), [count, 1]);

const network = await sequential([input([steps, 1]), lstm(16), dense(1, { name: 'next' })], { seed: 1 });
const artifacts = await generateArtifacts(network, { loss: 'mse', optimizer: { type: 'adam', lr: 0.01 } });
const session = await TrainingSession.create(artifacts);
await session.fit({ inputs, labels }, { epochs: 40, onEpoch: ({ loss }) => plot({ loss }) });

const seen = [...wave.subarray(count, count + steps)]; // from here on it hears only itself
for (let t = count + steps; t < wave.length; t++) {
  const { next } = await session.predict(new Tensor('float32', seen.slice(-steps), [1, steps, 1]));
  seen.push(next.data[0]);
  plot({ wave: wave[t], network: next.data[0] });
}
