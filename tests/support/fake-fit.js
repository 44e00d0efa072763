/** Fits an engine of one number. */

import { fit } from '../../js/fit/fit.js';
import { examples, FakeEngine, sessionOf } from './fake-engine.js';

/** @param {object} options */
export async function train(options, data = examples(10), engine = new FakeEngine()) {
  const history = await fit(sessionOf(engine), data, { batchSize: 4, ...options });
  return { engine, history };
}

/** For assert.rejects. @param {string} wanted */
export const hasCode = (wanted) => (error) => error.code === wanted;
