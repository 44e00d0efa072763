/** Mean loss and metrics of a data set, the next batch being prepared while the worker computes. */

import { checkSignal, checkWhole, invalid, TrainletError } from '../base/errors.js';
import { lazy } from '../base/lazy.js';
import { needSignal, ownOptions } from '../base/own-options.js';
import { checkData, close, nextOf, openData } from '../data/dataset.js';
import { measuresOf, Tally } from './metrics.js';

/** @import { Dataset, EvaluateOptions } from '../types.js' */
/** @import { Ask, GraphInfo, SessionInfo } from '../engine/protocol.js' */

const KEYS = ['batchSize', 'metrics', 'bytes', 'ema', 'adapter', 'signal'];

/**
 * @param {{ ask: Ask, info: SessionInfo }} session
 * @param {Dataset} data
 * @param {EvaluateOptions} options
 * @param {import('../data/dataset.js').Reader} [reader] of the data, where it is open
 */
export async function evaluate({ ask, info }, data, options, reader) {
  checkData('evaluate', data, options);
  const { batchSize = 32, metrics, bytes, ema, adapter, signal } = ownOptions('evaluate', options, KEYS);
  needSignal(signal);
  checkWhole('batchSize', batchSize, 1);
  if (ema && adapter !== undefined)
    throw invalid('evaluate: the average (ema) is of the adapter in use: leave out one');
  const {
    inputs,
    outputs: [{ name: lossName }],
  } = /** @type {GraphInfo} */ (info.eval);
  const measures = measuresOf(info, metrics, bytes);
  const { pair } = measures;
  const fetches = pair ? [lossName, pair.output] : [lossName];
  const batches = (reader ?? openData(data, inputs, batchSize, pair?.label)).read(undefined, 0);
  const tally = new Tally(measures);
  let done = 0;
  try {
    for (let next = await nextOf(batches, signal); !next.done; ) {
      checkSignal(signal);
      const { value: batch } = next;
      const running = ask('measure', { feeds: batch.feeds, fetches, ema }, [batch.feeds.buffer], signal);
      const coming = nextOf(batches, signal);
      coming.catch(() => {}); // reported below, after what is running
      const result = await running;
      next = await coming;
      done++;
      if (!Number.isFinite(result.loss)) {
        const { explain } = await lazy(() => import('../data/non-finite.js'));
        const error = nonFinite(`the loss of batch ${done} is ${result.loss}`);
        throw await explain(error, { ask, info }, data, batch.given);
      }
      tally.add(batch, result);
    }
  } finally {
    close(batches);
  }
  if (!done) throw new TrainletError('invalid-feed', 'data set: it gave no batch');
  if (tally.empty) throw nonFinite('none of its labels counts, so there is no mean loss');
  return tally.means;
}

/**
 * The metrics of what a fit holds out, as it names them.
 * @param {{ ask: Ask, info: SessionInfo }} session
 * @param {Dataset} data
 * @param {import('../types.js').FitOptions} options
 * @param {import('../data/dataset.js').Reader} [reader] of the data, where it is open
 */
export async function validate(session, data, { metrics, signal, batchSize }, reader) {
  const found = await evaluate(session, data, { metrics, signal, batchSize }, reader);
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [`val_${name}`, value]));
}

/** @param {string} what */
const nonFinite = (what) => new TrainletError('non-finite-loss', `evaluating the data set: ${what}`);
