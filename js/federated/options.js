/** Options of a node, checked, and that its session can take part. */

import { checkKeys, invalid, nameOf, needObject } from '../base/errors.js';
import { lazy } from '../base/lazy.js';
import { layoutOf } from './exchange.js';

/** @import { Dataset } from '../types.js' */
/** @import { PrivacyOptions, SuperNodeOptions } from '../types/federated/index.js' */

/** @typedef {{ epochs: number, batchSize: number, lr: number, mu: number }} Limits */
/**
 * @typedef {Required<Pick<SuperNodeOptions, 'session' | 'data' | 'exchange' | 'precision' | 'heartbeat' | 'pollMs'>>
 *   & Pick<SuperNodeOptions, 'validation' | 'onRound' | 'onProgress' | 'onError'>
 *   & { fit: object, evaluate: object, limits: Limits, examples: number, held: number,
 *   privacy: import('./privacy.js').Privacy | undefined }} Plan
 */

export const SUPER_NODE_KEYS = /** @type {const} */ ([
  ...[
    'session',
    'data',
    'validation',
    'examples',
    'exchange',
    'precision',
    'fit',
    'evaluate',
    'limits',
    'identity',
    'privacy',
  ],
  ...['heartbeat', 'pollMs', 'signal', 'onRound', 'onProgress', 'onError'],
]);
/** Options of `fit` that a round sets itself. */
const OURS = ['resume', 'signal', 'onBatch'];
/** @type {Limits} */
const LIMITS = { epochs: 10, batchSize: 1024, lr: 1, mu: 100 };
const HEARTBEAT = { usual: 30, least: 10, most: 1800 };
const POLL_MS = 3000;

/** Checks options, and that the session can take part. @param {SuperNodeOptions} options @returns {Promise<Plan>} */
export async function optionsOf(options) {
  needObject('SuperNode.connect', options);
  checkKeys('SuperNode.connect', options, SUPER_NODE_KEYS);
  const { session, data, validation, exchange = 'all', precision = 'float32', pollMs = POLL_MS } = options;
  const { heartbeat = HEARTBEAT.usual, fit = {}, evaluate: measured = {} } = options;
  if (typeof session?.fit !== 'function') throw invalid('SuperNode.connect: session must be a TrainingSession');
  if (precision !== 'float32' && precision !== 'float16')
    throw invalid(`SuperNode.connect: precision must be float32 or float16, not ${nameOf(precision)}`);
  if (!(heartbeat >= HEARTBEAT.least && heartbeat <= HEARTBEAT.most))
    throw invalid(`SuperNode.connect: heartbeat must be ${HEARTBEAT.least} to ${HEARTBEAT.most} s, not ${heartbeat}`);
  if (!(pollMs >= 10)) throw invalid(`SuperNode.connect: pollMs must be at least 10, not ${nameOf(pollMs)}`);
  for (const key of OURS)
    if (key in fit || key in measured) throw invalid(`SuperNode.connect: ${key} is the node's, so it cannot be set`);
  await layoutOf(session, exchange);
  const examples = options.examples ?? examplesIn(data);
  const held = validation === undefined ? examples : examplesIn(validation);
  if (!Number.isSafeInteger(examples) || !Number.isSafeInteger(held))
    throw invalid('SuperNode.connect: wanted whole arrays as data, or examples, how many there are');
  const privacy = options.privacy && (await privacyOf(options.privacy));
  return {
    privacy,
    ...{ session, data, validation, exchange, precision, heartbeat, pollMs, fit, evaluate: measured },
    ...{ examples: /** @type {number} */ (examples), held: /** @type {number} */ (held) },
    limits: limitsOf(options.limits),
    ...{ onRound: options.onRound, onProgress: options.onProgress, onError: options.onError },
  };
}

/** @param {Partial<Limits>} [limits] @returns {Limits} */
function limitsOf(limits = {}) {
  checkKeys('limits', limits, Object.keys(LIMITS));
  for (const [key, most] of Object.entries(limits))
    if (!(Number(most) >= 0)) throw invalid(`limits.${key} must be a number from 0 up, not ${nameOf(most)}`);
  return { ...LIMITS, ...limits };
}

/** The number of examples of whole arrays. @param {Dataset} data @returns {number | undefined} */
function examplesIn(data) {
  const { inputs } = /** @type {any} */ (Object(data));
  const first = inputs?.dims ? inputs : Object.values(Object(inputs))[0];
  return first?.dims?.[0];
}

/** @param {PrivacyOptions} options */
async function privacyOf(options) {
  const { Privacy } = await lazy(() => import('./privacy.js'));
  const privacy = new Privacy(options);
  privacy.check();
  return privacy;
}
