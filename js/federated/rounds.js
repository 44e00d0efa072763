/** Rounds of a node: a message is checked, worked on and answered. */

import { invalid, nameOf, sentenceOf, TrainletError } from '../base/errors.js';
import { lazy } from '../base/lazy.js';
import { arraysIn } from './exchange.js';
import { openMessage, sealArrays, sealMetrics, sealRecords } from './objects.js';
import { pull, push, roomFor } from './transfer.js';
import { evaluate, readConfig, train } from './work.js';

/** @import { RoundEvent } from '../types/federated/index.js' */
/** @import { Layout } from './exchange.js' */
/** @import { Arrays, Sealed, Values } from './objects.js' */
/** @import { Plan } from './options.js' */
/** @import { Asked } from './work.js' */
/** @import { Link, Pulled } from './transfer.js' */

/**
 * @typedef {object} Reply
 * @property {Sealed} [content]
 * @property {string} [error] for the SuperLink
 * @property {TrainletError} [refused] for the page
 * @property {Omit<RoundEvent, 'bytes'>} [event]
 * @property {number} seconds
 */

/**
 * Does what the next message asks for; false where there is none.
 * @param {Plan} plan @param {Layout} layout @param {Link} link
 */
export async function nextRound(plan, layout, link) {
  const pulled = await pull(link, roomFor(layout));
  if (!pulled) return false;
  const { content, error, seconds, refused, event } = await answerTo(plan, layout, pulled, link.fleet.signal);
  const sent = await push(link, pulled.metadata, content, error, seconds);
  if (refused) await plan.onError?.({ error: refused });
  else if (event) await plan.onRound?.({ ...event, bytes: { received: pulled.bytes, sent } });
  return true;
}

/**
 * @param {Plan} plan @param {Layout} layout @param {Pulled} pulled @param {AbortSignal} signal
 * @returns {Promise<Reply>}
 */
export async function answerTo(plan, layout, { metadata, contents, refused }, signal) {
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  let opened;
  try {
    if (refused) throw refused;
    const type = metadata.message_type;
    if (type !== 'train' && type !== 'evaluate')
      throw invalid(`the SuperLink asks for ${nameOf(type)}; this node trains and evaluates, and does nothing else`);
    if (type === 'train') plan.privacy?.check();
    else if (plan.privacy && !plan.validation)
      throw invalid('a node with privacy is measured on validation data alone, and has none');
    const { arrays, config } = openMessage(contents, metadata.message_id, layout);
    contents.clear();
    opened = { type, arrays, ...readConfig(config, plan.limits) };
  } catch (error) {
    if (!(error instanceof TrainletError)) throw error;
    return { error: `this node refuses the message: ${sentenceOf(error)}`, refused: error, seconds: seconds() };
  }
  try {
    const work = opened.type === 'train' ? trained : evaluated;
    const { content, metrics, examples } = await work(plan, layout, opened, signal);
    const { type, round, ignored } = opened;
    const ms = performance.now() - began;
    const privacy = plan.privacy ? { privacy: plan.privacy.state } : {};
    return { content, event: { type, round, metrics, examples, ignored, ms, ...privacy }, seconds: ms / 1000 };
  } catch (error) {
    if (!(error instanceof TrainletError) || signal.aborted) throw error;
    // its sentence may speak of the data, which stay here
    return { error: `the ${opened.type} failed here: ${error.code}`, refused: error, seconds: seconds() };
  }
}

/** @typedef {{ type: 'train' | 'evaluate', round: number, arrays: Arrays, asked: Asked }} Opened */

/** @param {Plan} plan @param {Layout} layout @param {Opened} opened @param {AbortSignal} signal */
async function trained(plan, layout, { round, arrays, asked }, signal) {
  const { session, exchange, data, fit, examples, precision, onProgress } = plan;
  const onBatch = onProgress && ((/** @type {any} */ event) => onProgress({ ...event, type: 'train', round }));
  const { start, flat, metrics } = await train({
    session,
    exchange,
    layout,
    arrays,
    asked,
    data,
    fit,
    onBatch,
    signal,
  });
  const sent = await sendable(plan, asked.norm, start, flat);
  const content = await sealRecords([
    ['arrays', await sealArrays(inOrder(arrays, arraysIn(layout, sent)), precision)],
    ['metrics', await sealMetrics({ ...(plan.privacy ? {} : metrics), 'num-examples': BigInt(examples) })],
  ]);
  return { content, metrics, examples };
}

/**
 * Arrays in the order of others: some of Flower's strategies go by it.
 * @param {Arrays} order @param {Arrays} arrays of the same names
 */
const inOrder = (order, arrays) =>
  new Map([...order.keys()].map((name) => [name, /** @type {Values} */ (arrays.get(name))]));

/**
 * Parameters as they may be sent: clipped where the SuperLink asks for it, with noise where the page does.
 * @param {Plan} plan @param {number | undefined} norm @param {Float32Array} start @param {Float32Array} flat
 */
async function sendable({ privacy }, norm, start, flat) {
  if (norm === undefined && !privacy) return flat;
  const { clipped } = await lazy(() => import('./privacy.js'));
  const update = norm === undefined ? flat : clipped(start, flat, norm);
  return privacy ? await privacy.protect(start, update) : update;
}

/** @param {Plan} plan @param {Layout} layout @param {Opened} opened @param {AbortSignal} signal */
async function evaluated(plan, layout, { arrays, asked }, signal) {
  const { session, exchange, validation, data, evaluate: options, held: examples } = plan;
  const job = { session, exchange, layout, arrays, asked, data: validation ?? data, evaluate: options, signal };
  const { metrics } = await evaluate(job);
  const content = await sealRecords([['metrics', await sealMetrics({ ...metrics, 'num-examples': BigInt(examples) })]]);
  return { content, metrics, examples };
}
