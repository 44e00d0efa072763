// All that this page asks of Trainlet: a network for more classes, a lesson, a reading.
import { generateArtifacts, Tensor, TrainingSession } from '../js/index.js';

export const RECIPE = { loss: 'cross-entropy', optimizer: 'adamw', requiresGrad: ['*'] };
const SCHEDULE = { type: 'cosine', lr: 6e-4, warmup: 10 };

export async function withClasses(model, classes) {
  const artifacts = await generateArtifacts(model, { ...RECIPE, head: { classes } });
  return { artifacts, session: await TrainingSession.create(artifacts) };
}

export const learn = (session, drawings, options) =>
  session.fit(drawings, { epochs: 10, batchSize: 32, seed: 1, schedule: SCHEDULE, ...options });

export async function read(session, pixels) {
  const input = new Tensor('float32', pixels, [pixels.length / 784, 1, 28, 28]);
  return (await session.predict({ input }, { probabilities: true })).probabilities.data;
}
