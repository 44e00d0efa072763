/** The parameters with which a federation begins, as a file that its ServerApp reads. */

import { checkKeys } from '../base/errors.js';
import { lazy } from '../base/lazy.js';
import { arraysIn, layoutOf, readFlat } from './exchange.js';

/** @import { TrainingSession } from '../types.js' */
/** @import { Exchange } from './exchange.js' */

/** @param {TrainingSession} session @param {{ exchange?: Exchange }} [options] */
export async function parametersFile(session, options = {}) {
  checkKeys('parametersFile', options, ['exchange']);
  const { exchange = 'all' } = options;
  const layout = await layoutOf(session, exchange);
  const arrays = arraysIn(layout, await readFlat(session, exchange));
  const { writeSafetensors } = await lazy(() => import('../formats/safetensors.js'));
  const tensors = [...arrays].map(
    ([name, { dims, data }]) =>
      /** @type {[string, { dims: number[], data: Float32Array }]} */ ([name, { dims: [...dims], data }]),
  );
  return writeSafetensors(new Map(tensors), 'float32');
}
