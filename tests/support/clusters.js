/** Points around five corners, for mlp_small.onnx; the same everywhere. */

import { readFileSync } from 'node:fs';
import { Tensor } from '../../js/index.js';
import { batchUnit } from './recipe.js';

export const FEATURES = 20;
const CLASSES = 5;

/** A file of tests/golden. @param {string} name */
export const golden = (name) => new Uint8Array(readFileSync(new URL(`../golden/data/${name}`, import.meta.url)));

/** @param {number} n @param {number} seed */
export function clusters(n, seed) {
  const corner = (label, feature) => (batchUnit(99, label * FEATURES + feature) < 0.5 ? -1 : 1);
  const input = new Float32Array(n * FEATURES);
  const labels = Array.from({ length: n }, (_, i) => i % CLASSES);
  for (let i = 0; i < input.length; i++)
    input[i] = corner(labels[Math.floor(i / FEATURES)], i % FEATURES) + 2 * (batchUnit(seed, i) - 0.5);
  return {
    inputs: { input: new Tensor('float32', input, [n, FEATURES]) },
    labels: { labels: new Tensor('int64', labels) },
  };
}
