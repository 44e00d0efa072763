/**
 * An external loss: a forward run that stays in the worker until gradients come for its outputs, and the backward run
 * with them.
 */

import { checkKeys, invalid, TrainletError } from '../base/errors.js';
import { bind } from '../base/feeds.js';
import { check, pack } from '../base/tensor.js';
import { tensorsOf, withSignal } from './run.js';

/** @import { Feeds, Forward, RunOptions, Tensor } from '../types.js' */
/** @import { Ask, GraphInfo, SessionInfo } from '../engine/protocol.js' */
/** @typedef {NonNullable<SessionInfo['outside']>} Outside what gradients are taken for, and given towards */

/** After these nothing has run yet. */
const ASKED_AGAIN = ['invalid-feed', 'out-of-memory'];

/** The forward runs of which nobody has the backward any more: nobody will say that they are to be dropped. */
const forgotten = new FinalizationRegistry((/** @type {() => Promise<void>} */ drop) => drop().catch(() => {}));

/**
 * @param {Ask} ask
 * @param {SessionInfo} info of a session whose loss is outside
 * @param {Feeds} feeds
 * @param {RunOptions} [options]
 * @returns {Promise<Forward>}
 */
export async function forward(ask, info, feeds, options) {
  const { inputs } = /** @type {GraphInfo} */ (info.train);
  const outside = /** @type {Outside} */ (info.outside);
  return await withSignal(options, async (signal) => {
    const packed = pack(bind(feeds, inputs));
    const { run, outputs } = await ask('forward', { feeds: packed }, [packed.buffer], signal);
    return { outputs: /** @type {Record<string, Tensor>} */ (tensorsOf(outputs)), ...opened(ask, outside, run) };
  });
}

/**
 * The methods of an open forward run, each to be called once.
 * @param {Ask} ask
 * @param {Outside} outside
 * @param {number} run
 */
function opened(ask, outside, run) {
  const state = { over: '' };
  const drop = () => dropRun(ask, run, state);
  /** @type {Forward['backward']} */
  const backward = async (gradients, options = {}) => {
    const { inputs = [], ...rest } = options;
    return await withSignal(rest, async (signal) => {
      if (state.over) throw invalid(`backward: this forward run ${state.over}; run forward again`);
      const packed = pack(gradientsOf(gradients, outside));
      checkInputs(inputs, outside);
      state.over = 'has had its backward';
      try {
        const tensors = await ask('backward', { run, gradients: packed, inputs }, [packed.buffer], signal);
        return /** @type {Record<string, Tensor>} */ (tensorsOf(tensors));
      } catch (error) {
        if (error instanceof TrainletError && ASKED_AGAIN.includes(error.code)) state.over = '';
        else ask('dropForward', run).catch(() => {}); // it may not have reached the engine
        throw error;
      } finally {
        if (state.over) forgotten.unregister(state);
      }
    });
  };
  forgotten.register(backward, drop, state);
  return { backward, drop, [Symbol.asyncDispose]: drop };
}

/** @param {Ask} ask @param {number} run @param {{ over: string }} state */
async function dropRun(ask, run, state) {
  if (state.over) return;
  state.over = 'was dropped';
  forgotten.unregister(state);
  await ask('dropForward', run).catch((error) => {
    if (error.code !== 'released' && error.code !== 'worker-died') throw error; // nothing is left of it then
  });
}

/**
 * @param {Readonly<Record<string, unknown>>} gradients
 * @param {Outside} outside
 * @returns {[string, ReturnType<typeof check>][]}
 */
function gradientsOf(gradients, { outputs }) {
  checkKeys('backward', gradients, outputs);
  const named = Object.entries(gradients ?? {}).filter(([, value]) => value !== undefined && value !== null);
  if (!named.length) throw invalid(`backward wants the gradient of an output at least: ${outputs.join(', ')}`);
  return named.map(([name, value]) => [name, check(`the gradient of '${name}'`, value)]);
}

/** @param {readonly string[]} inputs @param {Outside} outside */
function checkInputs(inputs, { inputs: known }) {
  if (!Array.isArray(inputs)) throw invalid('backward: inputs must be an array of names');
  const stray = inputs.find((name) => !known.includes(name));
  if (stray !== undefined)
    throw invalid(
      `backward: there is no gradient towards '${stray}'; there are those towards ${known.join(', ') || 'none'}`,
    );
}
