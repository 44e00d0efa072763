/** A metric of an epoch that something waits on. */

import { invalid } from './errors.js';

/**
 * Turned so that smaller is better.
 * @param {string} where
 * @param {Record<string, number>} metrics
 * @param {string} monitor
 */
export function monitored(where, metrics, monitor) {
  if (!Object.hasOwn(metrics, monitor))
    throw invalid(`${where}: there is no '${monitor}' to monitor; there are ${Object.keys(metrics).join(', ')}`);
  return /(accuracy|precision|recall|f1)$/.test(monitor) ? -metrics[monitor] : metrics[monitor];
}
