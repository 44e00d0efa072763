// Results with the same bits everywhere: a golden network's first ten losses, and a hash of its parameters after fifty
// steps. Runs in pages too.

import { artifactOptions, batchFeeds } from './recipe.js';

const STEPS = 50;

/** FNV-1a over the bytes of all parameters, as in tests/c/threads.c. @param {Iterable<ArrayBufferView>} parameters */
function hashOf(parameters) {
  let hash = 2166136261;
  for (const { buffer, byteOffset, byteLength } of parameters) {
    for (const byte of new Uint8Array(buffer, byteOffset, byteLength)) hash = Math.imul(hash ^ byte, 16777619);
  }
  return hash >>> 0;
}

/**
 * @param {typeof import('../../js/index.js')} trainlet
 * @param {any} recipe
 * @param {Uint8Array} model
 * @param {import('../../js/types.js').EngineOptions} engine
 */
export async function bitsOf({ generateArtifacts, TrainingSession }, recipe, model, engine) {
  const artifacts = await generateArtifacts(model, { ...artifactOptions(recipe), ...engine });
  const session = await TrainingSession.create(artifacts, engine);
  const losses = [];
  for (let i = 0; i < STEPS; i++) {
    const { loss } = await session.step(batchFeeds(recipe, i));
    if (i < 10) losses.push(Math.fround(loss));
  }
  const parameters = [];
  for (const { name } of session.parameters) parameters.push((await session.getParameter(name)).data);
  await session.release();
  return { losses, hash: hashOf(parameters) };
}
