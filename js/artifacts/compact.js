/** Artifacts as one compact file, which an engine writes. */

import { invalid, nameOf } from '../base/errors.js';
import { withClient } from '../engine/client.js';
import { checkEngineOptions, constantsOf } from '../engine/options.js';
import { PART_NAMES, readParts, sourcesOf } from '../session/open.js';

/** @import { ArtifactSources, CompactOptions, CompactSource } from '../types.js' */

/** @param {ArtifactSources | CompactSource} artifacts @param {CompactOptions} [options] */
export async function compactArtifacts(artifacts, options = {}) {
  const sources = sourcesOf('compactArtifacts', artifacts);
  checkEngineOptions('compactArtifacts', options, PART_NAMES, ['weights']);
  const { maxMemoryBytes = 0, weights = 'exact' } = options;
  if (weights !== 'exact' && weights !== 'float16' && weights !== 'int8')
    throw invalid(`compactArtifacts: weights are 'exact', 'float16' or 'int8', not ${nameOf(weights)}`);
  const constants = await constantsOf(options);
  return await withClient(options, async (client) => {
    const { parts, external } = await readParts(sources, options);
    const buffers = [...parts, ...external].map(({ bytes }) => bytes.buffer);
    const file = await client.ask('compact', { parts, external, maxMemoryBytes, constants, weights }, buffers);
    await client.release();
    return file;
  });
}
