/** Mean loss and metrics of a data set, the next batch being prepared while the worker computes. */

import { close, openData } from './data.js';
import { checkKeys, checkSignal, checkWhole, TrainletError } from './errors.js';
import { accuracyPair, Tally } from './metrics.js';

/** @import { Dataset, EvaluateOptions } from './types.js' */
/** @import { Ask, GraphInfo, NumberOutputs, SessionInfo } from './protocol.js' */

/**
 * @param {{ ask: Ask, info: SessionInfo }} session
 * @param {Dataset} data
 * @param {EvaluateOptions} options
 */
export async function evaluate({ ask, info }, data, options) {
  checkKeys('evaluate', options, ['batchSize', 'metrics', 'signal']);
  const { batchSize = 32, metrics, signal } = options;
  checkWhole('batchSize', batchSize, 1);
  const {
    inputs,
    outputs: [{ name: lossName }],
  } = /** @type {GraphInfo} */ (info.eval);
  const pair = accuracyPair(info, metrics);
  const fetches = pair ? [lossName, pair.output] : [lossName];
  const batches = openData(data, inputs, batchSize, pair?.label).read(undefined, 0);
  const tally = new Tally();
  try {
    for (let next = await batches.next(); !next.done; ) {
      checkSignal(signal);
      const { value: batch } = next;
      const running = ask('run', { graph: 'eval', feeds: batch.feeds, fetches }, [batch.feeds.buffer], signal);
      [next] = await Promise.all([batches.next(), running]);
      const outputs = /** @type {NumberOutputs} */ (await running);
      tally.add(batch, Number(outputs[lossName].data[0]), pair && outputs[pair.output]);
    }
  } finally {
    close(batches);
  }
  if (!tally.examples) throw new TrainletError('invalid-feed', 'data set: it gave no batch');
  return tally.means;
}
