// In a page: a language model's weights come one after the other and stay in 4 bits, adapters train, and it generates.
// `window.told` is what happens, as it does.
import * as trainlet from '../../js/index.js';

const VOCABULARY = 49152;
const VERY_SMALL = 8;
window.told = [];
const tell = (what, more) => window.told.push({ what, at: performance.now(), ...more });

/** What has a rule that can be learned: each token is the one before it and a fixed number. */
const tokens = (from, count) => BigInt64Array.from({ length: count }, (_, i) => BigInt(((from + i) * 7919) % VOCABULARY));

/** @param {{ model: string, data: string, length: number, steps: number, quantizeFrozen: 'int4' }} options */
window.learn = async ({ model, data, length, steps, quantizeFrozen }) => {
  const engine = { threads: 1 };
  const artifacts = await trainlet.generateArtifacts(model, {
    ...engine,
    externalData: { 'model.onnx.data': data },
    loss: { type: 'cross-entropy', axis: -1 },
    optimizer: { type: 'adamw', lr: 2e-4 },
    lora: { r: 8, alpha: 16 },
    quantizeFrozen,
  });
  tell('artifacts', { bytes: artifacts.checkpointState.length });
  const session = await trainlet.TrainingSession.create(artifacts, engine);
  for (const name of Object.keys(artifacts)) delete artifacts[name];
  tell('session');
  const tensor = (from) => new trainlet.Tensor('int64', tokens(from, length), [1, length]);
  for (let i = 0; i < steps; i++) {
    const { loss } = await session.step({ input_ids: tensor(0), labels: tensor(1) });
    tell('step', { loss });
  }
  const { ids } = await trainlet.generate(session, [...tokens(0, VERY_SMALL)].map(Number), { maxTokens: 20 });
  tell('generated', { tokens: ids.length });
  const plan = await session.getMemoryPlan();
  await session.release();
  return plan;
};
