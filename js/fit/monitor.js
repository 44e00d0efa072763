/** A metric of an epoch that something waits on. */

import { invalid } from '../base/errors.js';
import { isHigherBetter } from './metrics.js';

/** @import { Metrics } from './metrics.js' */

/**
 * Turned so that smaller is better.
 * @param {string} where
 * @param {Record<string, number>} metrics
 * @param {string} monitor
 * @param {Metrics} [asked] the option `metrics`
 */
export function monitored(where, metrics, monitor, asked) {
  if (!Object.hasOwn(metrics, monitor))
    throw invalid(`${where}: there is no '${monitor}' to monitor; there are ${Object.keys(metrics).join(', ')}`);
  return isHigherBetter(where, monitor, asked) ? -metrics[monitor] : metrics[monitor];
}
