/** The network and the data of the nodes: two interleaved spirals, of which each node has another part. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateArtifacts, TrainingSession, tensor } from '../../js/index.js';
import { dense, input, sequential } from '../../js/layers/index.js';

const PARTS = ['trainModel', 'evalModel', 'optimizerModel', 'checkpointState'];
const ALL = 400;

/** @param {string} folder */
export async function writeArtifacts(folder) {
  const layers = [input([2]), dense(32, { activation: 'tanh' }), dense(16, { activation: 'tanh' }), dense(2)];
  const network = await sequential(layers, { seed: 5 });
  const artifacts = await generateArtifacts(network, { loss: 'cross-entropy', optimizer: { type: 'sgd', lr: 0.2 } });
  for (const part of PARTS) writeFileSync(join(folder, part), artifacts[part]);
}

/** @param {string} folder */
export const sessionIn = (folder) => {
  const artifacts = Object.fromEntries(PARTS.map((part) => [part, readFileSync(join(folder, part))]));
  return TrainingSession.create(/** @type {any} */ (artifacts), { threads: 1 });
};

/** A part: one turn of both spirals, and a node has more examples the larger its index is. @param {number} index */
export function dataOf(index) {
  const count = ALL / 4 + 20 * index;
  const points = Array.from({ length: count }, (_, i) => {
    const along = (index + i / count) / 4;
    const angle = 6 * along + Math.PI * (i % 2);
    return [along * Math.cos(angle), along * Math.sin(angle)];
  });
  return {
    inputs: tensor(points),
    labels: tensor(
      points.map((_, i) => i % 2),
      'int64',
    ),
  };
}
