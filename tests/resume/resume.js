// Random programs of two fits, each cut at a random save and gone on with in a new session: the checkpoint at the end
// must be that of the program that nothing cut, to the bit.
import { generateArtifacts, Tensor, TrainingSession } from '../../js/index.js';
import {
  attribute,
  graphProto,
  info,
  modelProto,
  node,
  opsetId,
  tensor,
  tensorProto,
  weight,
} from '../support/onnx-file.js';
import { randomFrom } from '../hostile/mutate.js';
import { HERE } from '../support/engines.js';

const ADAPTED = { r: 2, alpha: 4, dropout: 0.2, targets: ['w1', 'w2'] };

/** x (N, 1, 4, 4) ─ Flatten ─ Gemm ─ Relu ─ Dropout ─ Gemm ─▶ scores (N, 3) */
const model = modelProto({
  graph: graphProto({
    node: [
      node('Flatten', ['x'], 'flat'),
      node('Gemm', ['flat', 'w1', 'b1'], 'hidden'),
      node('Relu', ['hidden'], 'positive'),
      node('Dropout', ['positive', 'ratio', 'train'], 'dropped'),
      node('Gemm', ['dropped', 'w2', 'b2'], 'scores', attribute('alpha', { float: 1 })),
    ],
    name: 'resumed',
    initializer: [
      weight('w1', [16, 8], 16, 1),
      weight('b1', [8], 16, 2),
      weight('w2', [8, 3], 8, 3),
      weight('b2', [3], 8, 4),
      tensor('ratio', { type: 'float32', dims: [], data: Float32Array.of(0.3) }),
      tensorProto({ dataType: 9, name: 'train', rawData: Uint8Array.of(1) }),
    ],
    input: info('x', 1, ['N', 1, 4, 4]),
    output: info('scores', 1, ['N', 3]),
  }),
  opsetImport: opsetId(17),
});

/** @param {number} examples @param {number} seed */
function dataOf(examples, seed) {
  const random = randomFrom(seed);
  const x = Float32Array.from({ length: 16 * examples }, () => random(2001) / 1000 - 1);
  const labels = BigInt64Array.from({ length: examples }, () => BigInt(random(3)));
  return {
    inputs: { x: new Tensor('float32', x, [examples, 1, 4, 4]) },
    labels: { labels: new Tensor('int64', labels) },
  };
}

/** @param {number} seed */
function programOf(seed) {
  const random = randomFrom(seed);
  const chance = (value, share = 2) => (random(share) === 0 ? value : undefined);
  const validation = chance(0.25);
  const fit = {
    epochs: 1 + random(3),
    batchSize: 2 + random(4),
    accumulate: 1 + random(3),
    validation,
    ema: chance({ decay: 0.9 }),
    augment: chance(['flip', { type: 'noise', std: 0.1 }], 3),
    schedule: chance({ type: 'cosine', lr: 0.05, warmup: 1 }),
    earlyStopping: chance({ patience: 1, restoreBest: true }, 3),
  };
  return {
    fit: Object.fromEntries(Object.entries(fit).filter(([, value]) => value !== undefined)),
    examples: 9 + random(8),
    sessionSeed: random(2) ? random(2 ** 31) : 0,
    optimizer: ['adamw', 'sgd', 'adam'][random(3)],
    lora: chance(ADAPTED),
    groups: chance([{ params: ['b*'], lrScale: 0.5, weightDecay: 0 }]),
    cut: random(1000),
    seed,
  };
}

/** A store in memory that keeps all that was saved. */
function storeOf() {
  const saves = [];
  const save = async (_name, bytes, meta) => saves.push({ bytes: bytes.slice(), meta });
  return { saves, save };
}

/** Two fits, from the start or from what was saved. @param {object} program @param {object} [saved] */
async function run({ fit, examples, sessionSeed, groups, seed }, artifacts, saved) {
  const checkpointState = saved?.bytes ?? artifacts.checkpointState;
  const session = await TrainingSession.create({ ...artifacts, checkpointState }, HERE);
  if (!saved) await session.setSeed(sessionSeed);
  if (groups) await session.setParameterGroups(groups);
  const store = storeOf();
  const warnings = [];
  const checkpoint = { store, name: 'first', everySteps: 1 };
  const onWarning = (text) => warnings.push(text);
  const history = await session.fit(dataOf(examples, seed), { ...fit, checkpoint, onWarning, resume: true });
  const first = await session.saveCheckpoint();
  await session.fit(dataOf(7, seed + 1), { epochs: 1, batchSize: 3 });
  const bytes = await session.saveCheckpoint();
  await session.release();
  return { first, bytes, saves: store.saves, history, warnings };
}

/**
 * @param {number} seed
 * @returns {Promise<{ program: object, saves: number, cut: number, ended: boolean, same: boolean }>}
 */
export async function resumeAtRandom(seed) {
  const program = programOf(seed);
  const { optimizer, lora } = program;
  const artifacts = await generateArtifacts(model, {
    ...HERE,
    loss: 'cross-entropy',
    optimizer,
    ...(lora && { lora }),
  });
  const whole = await run(program, artifacts);
  const last = whole.saves.length - 1;
  const cut = program.cut % 3 === 0 ? last : program.cut % whole.saves.length; // each third behind the last save
  const resumed = await run(program, artifacts, whole.saves[cut]);
  const same = (name) => Buffer.compare(Buffer.from(whole[name]), Buffer.from(resumed[name])) === 0;
  const ended = whole.saves[cut].meta.ended === true;
  return { program, saves: whole.saves.length, cut, ended, same: same('first') && same('bytes') };
}
