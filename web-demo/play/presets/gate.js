import { fineTune, generateArtifacts, TrainingSession, tensor } from 'trainlet';
import { dense, input, sequential } from 'trainlet/layers';

// points of the plane; the class says on which side of the diagonal they lie
const points = (from, count) =>
  Array.from({ length: count }, (_, i) => [Math.sin(from + 12.9 * i), Math.sin(78.2 * i)]);
const side = ([x, y]) => Number(x > y);
const task = (all, sideOf) => ({ inputs: tensor(all), labels: tensor(all.map(sideOf), 'int64') });
const known = task(points(1, 400), side);

const network = await sequential([input([2]), dense(16, { activation: 'relu' }), dense(2)], { seed: 1 });
const options = { loss: 'cross-entropy', optimizer: { type: 'adam', lr: 0.02 } };
const session = await TrainingSession.create(await generateArtifacts(network, options));
await session.fit(known, { epochs: 10, onBatch: ({ loss }) => plot({ loss }) });

const model = await session.exportModel();
for (const [kind, sideOf] of Object.entries({ right: side, wrong: (point) => 1 - side(point) })) {
  const classes = ['above', 'below'];
  const { report } = await fineTune(model, task(points(2, 40), sideOf), { head: false, classes, replay: known });
  const [before, after] = [report.before, report.after].map(({ replay }) => replay.accuracy);
  console.log(`${kind} labels: accepted ${report.accepted}. Known: ${before} → ${after}. ${report.reason ?? ''}`);
}
