/** The accountant as pages call it: its numbers are checked, and it is loaded when it is asked for. */

import { checkKeys, invalid, nameOf } from '../base/errors.js';
import { lazy } from '../base/lazy.js';

/** @import { Mechanism } from './accountant.js' */

/** @param {Mechanism} mechanism */
export async function epsilonOf(mechanism) {
  checkKeys('epsilonOf', mechanism, ['noiseMultiplier', 'rounds', 'delta', 'samplingRate']);
  const { noiseMultiplier, rounds, delta, samplingRate = 1 } = mechanism;
  const need = (/** @type {string} */ name, /** @type {unknown} */ value, /** @type {boolean} */ isFit) => {
    if (!isFit) throw invalid(`epsilonOf: ${name} cannot be ${nameOf(value)}`);
  };
  need('noiseMultiplier', noiseMultiplier, noiseMultiplier >= 0);
  need('rounds', rounds, Number.isSafeInteger(rounds) && rounds >= 0);
  need('delta', delta, delta > 0 && delta < 1);
  need('samplingRate', samplingRate, samplingRate >= 0 && samplingRate <= 1);
  return (await lazy(() => import('./accountant.js'))).epsilonOf({ noiseMultiplier, rounds, delta, samplingRate });
}
