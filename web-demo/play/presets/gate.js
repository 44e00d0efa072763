import { fineTune, generateArtifacts, TrainingSession, tensor } from 'trainlet';
import { dense, input, sequential } from 'trainlet/layers';

// points of the plane; the class says on which side of the diagonal they lie
const point = (i) => [Math.sin(12.9 * i), Math.sin(78.2 * i + 1)];
const points = (from, count) => Array.from({ length: count }, (_, i) => point(from + i));
const side = ([x, y]) => (x > y ? 'below' : 'above');
const known = points(1, 400);

const layers = [input([2]), dense(16, { activation: 'relu' }), dense(2)];
const options = { loss: 'cross-entropy', optimizer: { type: 'adam', lr: 0.02 } };
const first = await TrainingSession.create(await generateArtifacts(await sequential(layers, { seed: 1 }), options));
const below = known.map((p) => Number(side(p) === 'below'));
const labels = tensor(below, 'int64');
await first.fit({ inputs: tensor(known), labels }, { epochs: 10, onBatch: ({ loss }) => plot({ loss }) });
const model = await first.exportModel();

const classes = ['above', 'below'];
const replay = { inputs: tensor(known), labels: known.map(side) };
const lesson = points(1000, 40);
for (const [kind, names] of [
  ['right', lesson.map(side)],
  ['wrong', lesson.map((p) => side([-p[0], -p[1]]))],
]) {
  const data = { inputs: tensor(lesson), labels: names };
  const { report } = await fineTune(model, data, { head: false, classes, replay, augment: false });
  const [before, after] = [report.before, report.after].map(({ replay: { accuracy } }) => accuracy);
  console.log(`${kind} labels: accepted ${report.accepted}. Known: ${before} → ${after}. ${report.reason ?? ''}`);
}
