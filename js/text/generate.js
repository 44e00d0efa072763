/** Text from a language model as it is in a session now, a token at a time. */

import { checkKeys, checkSignal, checkWhole, invalid, nameOf, TrainletError } from '../base/errors.js';
import { isKind } from '../base/kind.js';
import { pack } from '../base/tensor.js';
import { decoderOf, emptyFor, flagFor, tensorFor } from './decoder.js';
import { chooserOf } from './sampling.js';

/** @import { Generated, GenerateOptions } from '../types.js' */
/** @import { Ask, GraphName, NumberOutputs, SessionInfo } from '../engine/protocol.js' */
/** @import { Decoder, Plain } from './decoder.js' */
/** @typedef {[name: string, tensor: Plain][]} Fed */
/**
 * @typedef {{ ask: Ask, info: SessionInfo, lent?: (adapter: GenerateOptions['adapter']) => Ask }} Inside `lent`: a
 * session that trains
 */

export const GENERATE_KEYS = /** @type {const} */ ([
  'maxTokens',
  'temperature',
  'topK',
  'topP',
  'repetitionPenalty',
  'seed',
  'stop',
  'onToken',
  'signal',
  'adapter',
]);

/**
 * @param {Inside | undefined} session
 * @param {ArrayLike<number | bigint>} ids
 * @param {GenerateOptions} [options]
 * @returns {Promise<Generated>}
 */
export async function generate(session, ids, options = {}) {
  if (!session) throw invalid('generate: wanted a TrainingSession or an InferenceSession first');
  checkKeys('generate', options, GENERATE_KEYS);
  const { maxTokens = 20, stop = [], onToken, signal, adapter } = options;
  checkWhole('generate: maxTokens', maxTokens, 1);
  if (onToken !== undefined && typeof onToken !== 'function')
    throw invalid(`generate: onToken must be a function, not ${nameOf(onToken)}`);
  const [choose, ends, all] = [chooserOf(options), endingsOf(stop), tokensOf('the ids', ids)];
  if (adapter !== undefined && !session.lent)
    throw invalid('generate: adapter is for a TrainingSession whose artifacts were made with lora');
  const reader = new Reader(session, session.lent?.(adapter), signal);
  /** @type {number[]} */
  const made = [];
  while (made.length < maxTokens) {
    checkSignal(signal);
    const scores = await reader.scores(all).catch((error) => {
      throw / allows -?\d+ to \d+$/.test(error.message) ? outOfRange(all, `: ${error.message}`) : error;
    });
    if (scores.includes(NaN)) throw outOfRange(all);
    const id = choose(scores, all);
    all.push(id);
    made.push(id);
    await onToken?.(id);
    if (ends.some((end) => end.every((token, i) => made[made.length - end.length + i] === token)))
      return { ids: made, stopped: 'stop' };
  }
  return { ids: made, stopped: 'max-tokens' };
}

/** @param {readonly number[]} all @param {string} [index] that the model has met */
const outOfRange = (all, index = '') =>
  invalid(
    `generate: there are no scores after ${all.length} tokens: one is none of the vocabulary, ` +
      `or the model has fewer positions${index}`,
  );

/** @param {string} what @param {unknown} ids @returns {number[]} */
function tokensOf(what, ids) {
  const isList = Array.isArray(ids) || (ArrayBuffer.isView(ids) && !isKind(ids, 'DataView'));
  const tokens = isList ? Array.from(/** @type {ArrayLike<number>} */ (ids), Number) : [];
  if (!tokens.length) throw invalid(`generate: ${what} must be an array of at least one token, not ${nameOf(ids)}`);
  for (const token of tokens) checkWhole(`generate: a token of ${what}`, token, 0);
  return tokens;
}

/** @param {GenerateOptions['stop']} stop */
function endingsOf(stop) {
  if (Array.isArray(stop)) return stop.map((end) => tokensOf('stop', typeof end === 'number' ? [end] : end));
  throw invalid(`generate: stop must be an array of tokens, or of arrays of them, not ${nameOf(stop)}`);
}

// ── Scores of the next token ──

/**
 * Facts about a session's model: whether padding changes no score, and from which length on it does, for
 * there are no such positions. `turn` settles when the scores begun last are there: a comparison takes several
 * runs, and another text's run amid them would leave its own keys and values.
 * @typedef {{ pads?: boolean, tooLong: number, turn: Promise<unknown> }} Known
 */
/** @type {WeakMap<Ask, Known>} */
const knownOf = new WeakMap();
/** The reader of whose tokens a session keeps keys and values. @type {WeakMap<Ask, Reader>} */
const readers = new WeakMap();

/**
 * Four sizes an octave, 16 apart at least: an engine plans for each size anew, and keeps eight plans.
 * @param {number} length
 */
export function padded(length) {
  const step = Math.max(16, 2 ** (Math.floor(Math.log2(length)) - 2));
  return Math.ceil(length / step) * step;
}

/**
 * Sums of another length end in other digits, those with quantized weights sooner.
 * @param {Float32Array} a @param {Float32Array} b
 */
function alike(a, b) {
  const size = a.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  return a.every((x, i) => Math.abs(x - b[i]) <= 1e-3 * size);
}

class Reader {
  /** The session's engine. */
  #ask;
  /** The ask of this call, maybe with another adapter. */
  #asking;
  /** @type {GraphName} */
  #graph;
  /** @type {Decoder} */
  #model;
  #fetches;
  #known;
  #signal;
  /** The number of tokens whose keys and values the engine keeps, and the room for them. */
  #kept = 0;
  #room = 0;

  /** @param {Inside} session @param {Ask} [asking] @param {AbortSignal} [signal] */
  constructor({ ask, info }, asking = ask, signal) {
    const graph = info.model ?? info.eval;
    if (!graph) throw invalid('generate: the session was made without an evalModel, which this needs');
    const outputs = info.model ? graph.outputs.map(({ name }) => name) : info.predict;
    this.#ask = ask;
    this.#asking = asking;
    this.#graph = info.model ? 'model' : 'eval';
    this.#model = decoderOf('generate', graph.inputs);
    this.#fetches = [
      outputs.includes('logits') ? 'logits' : outputs[0],
      ...this.#model.past.map(({ input }) => presentOf(input.name, outputs)),
    ];
    this.#known = knownOf.get(ask) ?? {
      pads: this.#isCached && !this.#model.mask ? false : undefined,
      tooLong: Infinity,
      turn: Promise.resolve(),
    };
    this.#signal = signal;
    knownOf.set(ask, this.#known);
  }

  get #isCached() {
    return this.#model.past.length > 0;
  }

  /** The scores of the next token. @param {readonly number[]} all */
  async scores(all) {
    if (!this.#isCached) return await this.#whole(all);
    const made = this.#known.turn.then(() => this.#cached(all));
    this.#known.turn = made.catch(() => {});
    return await made;
  }

  /** @param {readonly number[]} all */
  async #cached(all) {
    const goesOn = readers.get(this.#ask) === this && this.#kept === all.length - 1;
    if (!goesOn) return await this.#first(all);
    return await (this.#known.pads === undefined ? this.#compare(all) : this.#next(all));
  }

  // ── Without a cache: all tokens each time, and others behind them that change nothing, for they are later ──

  /** @param {readonly number[]} all */
  async #whole(all) {
    const [known, [, fixed], length] = [this.#known, this.#model.ids.dims, all.length];
    if (typeof fixed === 'number') {
      if (length > fixed) throw invalid(`generate: the model takes ${fixed} tokens, and there are ${length} now`);
      return await this.#run(all, fixed);
    }
    const size = padded(length);
    if (size === length || known.pads === false || size >= known.tooLong) return await this.#run(all, length);
    const wide = await tried(() => this.#run(all, size));
    if (wide && known.pads) return wide;
    if (!wide) known.tooLong = size;
    const exact = await this.#run(all, length);
    if (!wide) return exact;
    known.pads = alike(exact, wide);
    return known.pads ? wide : exact;
  }

  /** @param {readonly number[]} all @param {number} size */
  async #run(all, size) {
    const [length, { ids, mask, positions, kept }] = [all.length, this.#model];
    const row = (/** @type {(i: number) => number} */ at) => Array.from({ length: size }, (_, i) => at(i));
    const feeds = /** @type {Fed} */ ([
      [
        ids.name,
        tensorFor(
          ids,
          row((i) => all[i] ?? 0),
          [1, size],
        ),
      ],
    ]);
    if (mask)
      feeds.push([
        mask.name,
        tensorFor(
          mask,
          row((i) => Number(i < length)),
          [1, size],
        ),
      ]);
    if (positions)
      feeds.push([
        positions.name,
        tensorFor(
          positions,
          row((i) => Math.min(i, length - 1)),
          [1, size],
        ),
      ]);
    if (kept) feeds.push([kept.name, tensorFor(kept, [0], kept.dims.map(Number))]);
    return await this.#decode(feeds, size - length, false);
  }

  // ── With a cache: one token behind the keys and values of those before it; the mask hides the zeros before these ──

  /** @param {readonly number[]} all */
  async #first(all) {
    const empty = this.#model.past.map((past) => /** @type {Fed[0]} */ ([past.input.name, emptyFor(past, 1)]));
    return await this.#read(all, 0, empty);
  }

  /** @param {readonly number[]} all */
  async #next(all) {
    try {
      return await this.#read(all, this.#room, []);
    } catch (error) {
      if (!(error instanceof TrainletError) || error.code !== 'invalid-argument') throw error;
      return await this.#first(all); // somebody else has fed these inputs
    }
  }

  /** Checks that padding changes nothing, by the scores of all tokens at once. @param {readonly number[]} all */
  async #compare(all) {
    const wanted = await this.#first(all);
    await this.#first(all.slice(0, -1));
    const found = await tried(() => this.#read(all, this.#room, []));
    this.#known.pads = found !== undefined && alike(found, wanted);
    if (found && this.#known.pads) return found;
    await this.#first(all.slice(0, -1));
    return await this.#next(all);
  }

  /**
   * Runs the tokens that are not kept yet.
   * @param {readonly number[]} all
   * @param {number} room of those that are, in the engine
   * @param {Fed} past
   */
  async #read(all, room, past) {
    const { ids, mask, positions, kept, branch } = this.#model;
    const [from, length] = [room ? this.#kept : 0, all.length];
    const count = length - from;
    const hidden = room && room - from;
    const feeds = /** @type {Fed} */ ([...past, [ids.name, tensorFor(ids, all.slice(from), [1, count])]]);
    const seen = Array.from({ length: hidden + length }, (_, i) => Number(i >= hidden));
    if (mask) feeds.push([mask.name, tensorFor(mask, seen, [1, seen.length])]);
    const places = Array.from({ length: count }, (_, i) => from + i);
    if (positions) feeds.push([positions.name, tensorFor(positions, places, [1, count])]);
    if (kept) feeds.push([kept.name, tensorFor(kept, [1], kept.dims.map(Number))]);
    if (branch) feeds.push([branch.name, flagFor(branch, room > 0)]);
    this.#room = this.#known.pads === false ? length : padded(length);
    const scores = await this.#decode(feeds, 0, room > 0);
    this.#kept = length;
    return scores;
  }

  /** @param {Fed} feeds @param {number} fromEnd @param {boolean} goesOn */
  async #decode(feeds, fromEnd, goesOn) {
    const [{ past }, fetches, packed] = [this.#model, this.#fetches, pack(feeds)];
    const names = past.map(({ input }) => input.name).join('\n');
    const more = [fromEnd, names, past[0]?.axis ?? 0, this.#room, Number(goesOn)];
    readers.set(this.#ask, this);
    const args = { graph: this.#graph, feeds: packed, fetches, call: /** @type {const} */ ('decode'), more };
    const outputs = /** @type {NumberOutputs} */ (await this.#asking('run', args, [packed.buffer], this.#signal));
    const { type, data } = outputs[fetches[0]];
    if (isKind(data, 'Float32Array')) return data;
    throw invalid(`generate: the scores '${fetches[0]}' must be float32, not ${type}`);
  }
}

/**
 * The output that continues an input: `present.0.key` after `past_key_values.0.key`.
 * @param {string} past @param {readonly string[]} outputs
 */
function presentOf(past, outputs) {
  const rest = past.replace(/^past(_key_values)?/, '');
  const found = [`present${rest}`, `present_key_values${rest}`].find((name) => outputs.includes(name));
  if (found) return found;
  throw invalid(`generate: the model takes '${past}', and has no output 'present${rest}' that goes on from it`);
}

/**
 * Scores where a run of another length gives them: it may be longer than the model can take.
 * @param {() => Promise<Float32Array>} run
 */
async function tried(run) {
  try {
    const scores = await run();
    return scores.includes(NaN) ? undefined : scores;
  } catch (error) {
    const { code = 'internal' } = error instanceof TrainletError ? error : {};
    if (['aborted', 'released', 'worker-died', 'internal'].includes(code)) throw error;
    return undefined;
  }
}
