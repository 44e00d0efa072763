// One writer's life, in Node or in a page: it says what it finds in the store, trains on from its own newest checkpoint
// with a save after
// every step, says so of each, and begins anew when a training is over, until it is killed.
import { artifactOptions, batchTensor } from '../support/recipe.js';

export const NAME = 'run';
export const KEEP = 3;
export const STEPS = 40;
const EXAMPLES = 64,
  BATCH = 8;
const ENGINE = { threads: 1, reproducible: true };

export const hex = async (bytes) =>
  [...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');

/**
 * The store's content: each version's writer, step and hash, and what `load` returns; and the newest checkpoint of one
 * writer.
 * @param {import('../../js/types.js').CheckpointStore} store
 * @param {number} [me]
 */
export async function look(store, me) {
  const versions = [];
  let own;
  for (const { version } of await store.versions(NAME)) {
    const stored = await store.load(NAME, { version });
    if (!stored) continue; // another writer is past it
    const { who, step } = stored.meta;
    versions.push({ version, who, step, hash: await hex(stored.bytes) });
    if (who === me) own = { step, bytes: stored.bytes };
  }
  const newest = await store.load(NAME);
  return { found: { versions, newest: newest?.version, skipped: newest?.skipped ?? [] }, own };
}

/**
 * @typedef {object} Events what is told, in order
 * @property {{ versions: { version: number, who: number, step: number, hash: string }[], newest?: number, skipped:
 * object[] }} [found]
 * @property {number} [begun] the step of the checkpoint that is gone on from; 0 for none
 * @property {{ step: number, loss: number }} [trained]
 * @property {{ step: number, version: number }} [saved] acknowledged
 * @property {true} [done]
 */

/**
 * @param {typeof import('../../js/index.js')} trainlet
 * @param {{ who: number, recipe: any, model: Uint8Array, store: import('../../js/types.js').CheckpointStore, lives?:
 * number,
 *   tell: (event: Events) => Promise<void> | void }} writer
 */
export async function live(
  { generateArtifacts, TrainingSession, Tensor },
  { who, recipe, model, store, lives = Infinity, tell },
) {
  const artifacts = await generateArtifacts(model, { ...artifactOptions(recipe), ...ENGINE });
  const tensor = (spec) => {
    const { type, data, dims } = batchTensor(spec, EXAMPLES, 0);
    return { [spec.name]: new Tensor(type, data, dims) };
  };
  const data = { inputs: tensor(recipe.input), labels: tensor(recipe.label) };
  let { found, own } = await look(store, who);
  await tell({ found });
  for (let life = 0; life < lives; life++) {
    if (own?.step === STEPS) own = undefined;
    const session = await TrainingSession.create(
      { ...artifacts, checkpointState: own?.bytes ?? artifacts.checkpointState },
      ENGINE,
    );
    tell({ begun: own?.step ?? 0 });
    const save = async (name, bytes, { step, ...meta }) => {
      const version = await store.save(name, bytes, { ...meta, step, who });
      tell({ saved: { step, version } });
      return version;
    };
    await session.fit(data, {
      epochs: (STEPS * BATCH) / EXAMPLES,
      batchSize: BATCH,
      seed: who,
      checkpoint: { store: { save }, name: NAME, everySteps: 1 },
      onBatch: ({ step, loss }) => tell({ trained: { step, loss } }),
    });
    await session.release();
    await tell({ done: true });
    own = undefined;
  }
}
