// The example network: a few dense layers, made here for the table that it is to learn.

import { dense, input, normalization, rescaling, sequential } from '../js/layers/index.js';

/** @typedef {import('./model.js').Made} Made */

export const INPUT = 'row';
export const HIDDEN = 32;
export const SEED = 1;

/** @param {Made} made @returns {Promise<Uint8Array>} an ONNX file */
export function makeNetwork({ features, outputs, mean, variance, target }) {
  const first = mean && variance ? [normalization({ mean, variance })] : [];
  const last = target ? [rescaling(Math.sqrt(target.variance), { offset: target.mean })] : [];
  return sequential(
    [
      input([features], { name: INPUT }),
      ...first,
      dense(HIDDEN, { activation: 'relu' }),
      dense(HIDDEN, { activation: 'relu' }),
      dense(outputs),
      ...last,
    ],
    { seed: SEED },
  );
}
