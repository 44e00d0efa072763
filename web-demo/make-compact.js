// Writes digits.compact, what the page loads at first: digits.onnx made trainable, with ten classes that have names,
// its weights as float16.
import { writeFileSync } from 'node:fs';
import { compactArtifacts, generateArtifacts, Tensor, TrainingSession } from '../js/index.js';
import { readMnist } from './mnist.js';
import { RECIPE } from './lesson.js';
import { DIGITS, examples, open } from './trainer.js';

const here = (name) => new URL(name, import.meta.url);
const model = here('digits.onnx');
const before = await TrainingSession.create(await generateArtifacts(model, RECIPE));
const artifacts = await generateArtifacts(model, { ...RECIPE, head: { classes: DIGITS } });
const after = await TrainingSession.create(artifacts);
for (const kind of ['weight', 'bias']) {
  const { data } = await before.getParameter(`fc2.${kind}`);
  const { dims, size } = await after.getParameter(`head.${kind}`);
  const kept = data.slice(0, size); // the spare classes are last
  await after.setParameter(`head.${kind}`, new Tensor('float32', kept, dims));
}
const compact = await compactArtifacts(
  { ...artifacts, checkpointState: await after.saveCheckpoint({ optimizerState: false }) },
  { weights: 'float16' },
);
writeFileSync(here('digits.compact'), compact);

const session = await open(compact);
const test = readMnist('t10k');
const images = Array.from(test.labels, (label, i) => ({ label: DIGITS[label], pixels: test.image(i) }));
const { accuracy } = await session.evaluate(examples(images, DIGITS), { batchSize: 100, metrics: ['accuracy'] });
console.log(
  `digits.compact: ${compact.length} bytes, reads ${(accuracy * 100).toFixed(2)} % of the 10,000 test images`,
);
await Promise.all([before, after, session].map((one) => one.release()));
