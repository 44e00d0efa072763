// Training a golden network in a page of the repository's site: what Chromium and Firefox are both asked to do.
import * as trainlet from '../../js/index.js';
import { bitsOf } from '../support/bits.js';
import { artifactOptions, batchFeeds } from '../support/recipe.js';

const modelOf = async ({ model }) =>
  new Uint8Array(await (await fetch(new URL(`../golden/data/${model}`, import.meta.url))).arrayBuffer());

/** @param {any} recipe @param {import('../../js/types.js').EngineOptions} options */
export const bitsInPage = async (recipe, options) => bitsOf(trainlet, recipe, await modelOf(recipe), options);

/**
 * Losses of two steps, then of two more by a session that was made of what the first left in IndexedDB.
 * @param {any} recipe
 * @param {import('../../js/types.js').EngineOptions} options
 */
export async function resumedInPage(recipe, options) {
  const artifacts = await trainlet.generateArtifacts(await modelOf(recipe), { ...artifactOptions(recipe), ...options });
  const store = await trainlet.CheckpointStore.open();
  const losses = [];
  for (const checkpointState of [artifacts.checkpointState, 'indexeddb:left']) {
    const session = await trainlet.TrainingSession.create({ ...artifacts, checkpointState }, options);
    for (let i = 0; i < 2; i++) losses.push(Math.fround((await session.step(batchFeeds(recipe, losses.length))).loss));
    await store.save('left', await session.saveCheckpoint());
    await session.release();
  }
  return { losses };
}
