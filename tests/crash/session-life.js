// One writer's life with whole sessions: it says what it finds, loads the newest one, trains on and saves the session
// after every step, and begins anew when a training is over, until it is killed.
import { artifactOptions, batchFeeds } from '../support/recipe.js';
import { hex, NAME, STEPS } from './life.js';

const ENGINE = { threads: 1, reproducible: true };

/**
 * The store's content as `life.js` tells it, and the newest session, which the package itself loads.
 * @param {typeof import('../../js/index.js')} trainlet
 * @param {import('../../js/types.js').CheckpointStore} store
 */
export async function lookAtSessions({ TrainingSession }, store) {
  const versions = [];
  for (const { version } of await store.versions(NAME)) {
    const { bytes, meta } = await store.load(NAME, { version });
    versions.push({ version, ...JSON.parse(meta.session.preprocessing), hash: await hex(bytes) });
  }
  const newest = await store.load(NAME);
  const session = newest && (await TrainingSession.load(NAME, { ...ENGINE, store }));
  return { found: { versions, newest: newest?.version, skipped: newest?.skipped ?? [] }, session };
}

/**
 * @param {typeof import('../../js/index.js')} trainlet
 * @param {{ who: number, recipe: any, model: Uint8Array, store: import('../../js/types.js').CheckpointStore,
 * lives?: number, tell: (event: import('./life.js').Events) => Promise<void> | void }} writer
 */
export async function liveSession(trainlet, { who, recipe, model, store, lives = Infinity, tell }) {
  const { generateArtifacts, Tensor, TrainingSession } = trainlet;
  const artifacts = await generateArtifacts(model, { ...artifactOptions(recipe), ...ENGINE });
  const feedsOf = (step) =>
    Object.fromEntries(
      Object.entries(batchFeeds(recipe, step)).map(([name, { type, data, dims }]) => [
        name,
        new Tensor(type, data, dims),
      ]),
    );
  const { found, session: left } = await lookAtSessions(trainlet, store);
  await tell({ found });
  let session = left;
  for (let life = 0; life < lives; life++) {
    const { step: begun = 0 } = session?.preprocessing ?? {};
    if (begun === STEPS) await session.release();
    if (!session || begun === STEPS) session = await TrainingSession.create(artifacts, ENGINE);
    const first = begun === STEPS ? 0 : begun;
    tell({ begun: first });
    for (let step = first + 1; step <= STEPS; step++) {
      const { loss } = await session.step(feedsOf(step));
      tell({ trained: { step, loss } });
      const version = await session.save(NAME, { store, preprocessing: { step, who } });
      tell({ saved: { step, version } });
    }
    await session.release();
    await tell({ done: true });
    session = undefined;
  }
}
