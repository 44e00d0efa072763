/** Training and evaluation as a SuperLink asks for them, within the limits of the page. */

import { invalid, nameOf } from '../base/errors.js';
import { flatOf, readFlat, writeFlat } from './exchange.js';

/** @import { Dataset, EvaluateOptions, FitOptions, TrainingSession } from '../types.js' */
/** @import { Exchange, Layout } from './exchange.js' */
/** @import { Arrays, Config } from './objects.js' */
/** @import { Limits } from './options.js' */

/** @typedef {{ epochs?: number, batchSize?: number, lr?: number, mu?: number, norm?: number }} Asked */
/**
 * @typedef {object} Job
 * @property {TrainingSession} session
 * @property {Exchange} exchange
 * @property {Layout} layout
 * @property {Arrays} arrays the SuperLink's
 * @property {Asked} asked
 * @property {AbortSignal} signal
 */

/** The names of an option in a server's config, by convention of Flower's examples; hyphens may be underscores. */
const NAMES = {
  epochs: ['epochs', 'local-epochs'],
  batchSize: ['batch-size'],
  lr: ['lr', 'learning-rate'],
  mu: ['proximal-mu'],
};
/** The norm to which Flower's central differential privacy has clients clip their updates. */
const NORM = 'clipping-norm';
const ROUND = 'server-round';

/**
 * The options that a config asks for; others of its keys are ignored, and named.
 * @param {Config} config @param {Limits} limits
 * @returns {{ asked: Asked, round: number, ignored: string[] }}
 */
export function readConfig(config, limits) {
  /** @type {Asked} */
  const asked = {};
  const ignored = [];
  let round = 0;
  for (const [key, value] of Object.entries(config)) {
    const plain = key.replaceAll('_', '-');
    const option = /** @type {(keyof Limits)[]} */ (Object.keys(NAMES)).find((one) => NAMES[one].includes(plain));
    if (option) asked[option] = numberOf(key, option, value, limits[option]);
    else if (plain === NORM) asked.norm = normOf(key, value);
    else if (plain === ROUND) round = Number(value) || 0;
    else ignored.push(key.slice(0, 80));
  }
  return { asked, round, ignored };
}

/** @param {string} key @param {unknown} value */
function normOf(key, value) {
  if (typeof value === 'number' && value > 0) return value;
  throw invalid(`the SuperLink asks for ${key} ${nameOf(value)}; it must be a number above 0`);
}

/** @param {string} key @param {keyof Limits} option @param {unknown} value @param {number} most */
function numberOf(key, option, value, most) {
  const number = typeof value === 'bigint' ? Number(value) : value;
  const isWhole = option === 'epochs' || option === 'batchSize';
  const isFit = typeof number === 'number' && (isWhole ? Number.isSafeInteger(number) && number > 0 : number >= 0);
  if (isFit && number <= most) return number;
  const allowed = `${isWhole ? 'whole numbers from 1' : 'numbers from 0'} to ${most} (limits.${option})`;
  throw invalid(`the SuperLink asks for ${key} ${nameOf(value)}; this page allows ${allowed}`);
}

/**
 * Numbers of an epoch or evaluation that FedAvg can average.
 * @param {Record<string, any>} metrics
 * @returns {Record<string, number>}
 */
const numbersIn = (metrics) =>
  Object.fromEntries(
    Object.entries(metrics).filter((entry) => typeof entry[1] === 'number' && Number.isFinite(entry[1])),
  );

/**
 * Trains from the SuperLink's parameters on. If that fails, the session has its parameters of before.
 * @param {Job & { data: Dataset, fit: FitOptions, onBatch: FitOptions['onBatch'] }} job
 * @returns {Promise<{ start: Float32Array, flat: Float32Array, metrics: Record<string, number> }>}
 */
export async function train({ session, exchange, layout, arrays, asked, data, fit, onBatch, signal }) {
  const { epochs, batchSize, lr, mu } = asked;
  const start = flatOf(layout, arrays);
  return await restoring(session, exchange, async () => {
    const usual = await session.getLearningRate();
    await writeFlat(session, exchange, start);
    try {
      if (lr !== undefined) await session.setLearningRate(lr);
      if (mu) await anchor(session, mu);
      const options = { ...fit, ...(epochs && { epochs }), ...(batchSize && { batchSize }) };
      const history = await session.fit(data, { ...options, resume: false, signal, onBatch });
      const { metrics } = history.epochs.at(-1) ?? { metrics: {} };
      return { start, flat: await readFlat(session, exchange), metrics: numbersIn(metrics) };
    } finally {
      if (mu) await session.setParameterGroups([]);
      if (lr !== undefined) await session.setLearningRate(usual);
    }
  });
}

/** FedProx: each parameter is drawn to where the round began. @param {TrainingSession} session @param {number} mu */
async function anchor(session, mu) {
  await session.setParameterGroups([]); // an anchored parameter would keep the base of the round before
  await session.setParameterGroups([{ params: '*', anchor: mu }]);
}

/**
 * @param {Job & { data: Dataset, evaluate: EvaluateOptions }} job
 * @returns {Promise<{ metrics: Record<string, number> }>}
 */
export async function evaluate({ session, exchange, layout, arrays, asked, data, evaluate: options, signal }) {
  const { batchSize } = asked;
  return await restoring(session, exchange, async () => {
    await writeFlat(session, exchange, flatOf(layout, arrays));
    const evaluated = await session.evaluate(data, { ...options, ...(batchSize && { batchSize }), signal });
    return { metrics: numbersIn(/** @type {any} */ (evaluated)) };
  });
}

/**
 * @template T
 * @param {TrainingSession} session @param {Exchange} exchange @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
async function restoring(session, exchange, work) {
  const before = await readFlat(session, exchange);
  try {
    return await work();
  } catch (error) {
    await writeFlat(session, exchange, before).catch(() => {}); // a dead worker has no parameters to restore
    throw error;
  }
}
