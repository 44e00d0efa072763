// In a page: a language model's weights come one after the other and stay in 4 bits, adapters train, and it generates.
// What happens is told to the server, as it does.
import * as trainlet from '../../js/index.js';

const VOCABULARY = 49152;
const PROMPT = 8;

const tell = (what, more) =>
  fetch('/talk/told', { method: 'POST', body: JSON.stringify({ what, at: performance.now(), ...more }) });

/** Tokens with a rule to learn: each is the one before plus a fixed number. */
const tokens = (from, count) =>
  BigInt64Array.from({ length: count }, (_, i) => BigInt(((from + i) * 7919) % VOCABULARY));

async function learn({ length, steps, quantizeFrozen, ...engine }) {
  await tell('begin');
  const artifacts = await trainlet.generateArtifacts('/talk/model.onnx', {
    ...engine,
    externalData: { 'model.onnx.data': '/talk/model.onnx.data' },
    loss: { type: 'cross-entropy', axis: -1 },
    optimizer: { type: 'adamw', lr: 2e-4 },
    lora: { r: 8, alpha: 16 },
    quantizeFrozen,
  });
  await tell('artifacts', { checkpointBytes: artifacts.checkpointState.length });
  const session = await trainlet.TrainingSession.create(artifacts, engine);
  for (const name of Object.keys(artifacts)) delete artifacts[name];
  await tell('session');
  const tensor = (from) => new trainlet.Tensor('int64', tokens(from, length), [1, length]);
  for (let i = 0; i < steps; i++) {
    const { loss } = await session.step({ input_ids: tensor(0), labels: tensor(1) });
    await tell('step', { loss });
  }
  const { ids } = await trainlet.generate(session, [...tokens(0, PROMPT)].map(Number), { maxTokens: 20 });
  await tell('generate', { tokens: ids.length });
  const { stateBytes, arenaBytes, takenBytes } = await session.getMemoryPlan();
  await tell('end', { stateBytes, arenaBytes, takenBytes });
}

const options = JSON.parse(decodeURIComponent(location.hash.slice(1)));
await learn(options).catch((error) => tell('end', { error: String(error) }));
