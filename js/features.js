/** Features: what the frozen lower layers compute of each example, computed once for all epochs of a fit. */

import { checkSignal, TrainletError } from './errors.js';
import { Tensor } from './tensor.js';

/** @import { FitOptions, History, NumberType, TypedArray } from './types.js' */
/** @import { Ask, Features, NumberOutputs, PackedFeeds } from './protocol.js' */
/** @import { Reader } from './data.js' */

/** Of the options of a fit: features that were computed before it. */
export const SHARED = Symbol('shared features');
/** Kept at most, unless it is said otherwise. */
export const MOST_BYTES = 256 * 2 ** 20;
/** By how much of the largest an example's features may differ from batch to batch: rounding, and no more. */
const ROUNDING = 1e-4;
/** Examples that go through the lower layers at a time at least: of fewer the last bits are others. */
const FEWEST = 4;
/** Of inputs at a time: more would take more room, and no less time. */
const BATCH_BYTES = 2 ** 20;

/**
 * @param {Ask} ask
 * @param {Reader} reader
 * @param {FitOptions} options
 * @param {{ limit: number, rest?: () => Promise<boolean>, evaluation?: boolean }} how `limit` in bytes; `rest`, between
 * batches, says whether to give up; `evaluation`: the reader is of what is evaluated
 * @returns {Promise<{ reader: Reader, features: NonNullable<History['features']> } | undefined>} undefined: there are no
 * features, or they cannot be kept
 */
export async function featuresOf(ask, reader, options, { limit, rest, evaluation = false }) {
  const { examples, feedsOf, bytes: inputBytes = 0, exchange } = reader;
  if (!examples || !feedsOf || !exchange) return undefined;
  const begun = performance.now();
  const { features: values, inputs, evaluates } = await namesOf(ask);
  const wanted = evaluation ? evaluates : values.length > 0;
  const of = { feedsOf, examples, inputBytes };
  const kept = wanted ? await compute(ask, of, options, { limit, rest }) : undefined;
  if (!kept) return undefined;
  const bytes = bytesIn(kept);
  return { reader: exchange(inputs, kept), features: { values, bytes, ms: performance.now() - begun } };
}

/** @param {[string, Tensor][]} kept */
export const bytesIn = (kept) => kept.reduce((sum, [, { data }]) => sum + data.byteLength, 0);

/** What they are called, and what takes them. @param {Ask} ask */
export async function namesOf(ask) {
  try {
    return /** @type {Features} */ (await ask('describe', ['features']));
  } catch (error) {
    if (error instanceof TrainletError && error.code === 'unsupported-op')
      return { features: [], inputs: [], evaluates: false }; // shrunk
    throw error;
  }
}

/**
 * In batches of one size, for which one program does. The last has some examples once more, beside others: where the
 * layers mix the examples of a batch, these are another then, and nothing is kept.
 * @param {Ask} ask
 * @param {{ feedsOf: (rows: Uint32Array) => PackedFeeds, examples: number, inputBytes: number }} of
 * @param {Pick<FitOptions, 'batchSize' | 'signal' | 'onFeatures'>} options
 * @param {{ limit: number, rest?: () => Promise<boolean> }} how
 * @returns {Promise<[string, Tensor][] | undefined>}
 */
export async function compute(ask, { feedsOf, examples, inputBytes }, options, { limit, rest }) {
  const { batchSize = 32, signal, onFeatures } = options;
  const size = sizeFor(examples, Math.min(batchSize, Math.floor((BATCH_BYTES * examples) / (inputBytes || 1))));
  const whole = Math.ceil((examples + FEWEST) / size) * size;
  const again = (/** @type {number} */ i) => (i >> 1) % examples;
  const rows = Uint32Array.from({ length: whole }, (_, i) => (i < examples ? i : again(i - examples)));
  /** @type {[string, Tensor][] | undefined} */
  let kept;
  for (let from = 0; from < whole; from += size) {
    checkSignal(signal);
    if (await rest?.()) return undefined;
    const feeds = feedsOf(rows.subarray(from, from + size));
    const outputs = Object.entries(await ask('runFeatures', feeds, [feeds.buffer], signal));
    if (outputs.some(([, { dims }]) => dims[0] !== size)) return undefined;
    const bytes = outputs.reduce((sum, [, { data }]) => sum + (data.byteLength / size) * examples, 0);
    if (bytes > limit) return undefined;
    kept ??= outputs.map(([name, output]) => [name, roomFor(output, whole)]);
    kept.forEach(([, { data }], i) => {
      const part = outputs[i][1].data;
      data.set(/** @type {any} */ (part), (part.length / size) * from);
    });
    await onFeatures?.({ done: Math.min(examples, from + size), examples, bytes });
  }
  return kept?.every(([, tensor]) => isTheSame(tensor, rows, examples))
    ? kept.map(([name, tensor]) => [name, rowsOf(tensor, 0, examples)])
    : undefined;
}

/** Two batches at least, so that the examples of the last are beside others. @param {number} examples @param {number} most */
function sizeFor(examples, most) {
  const all = examples + FEWEST;
  const count = Math.max(2, Math.ceil(all / Math.max(1, most)));
  return Math.max(FEWEST, Math.ceil(all / count));
}

/** @param {NumberOutputs[string]} output of one batch @param {number} examples */
function roomFor({ type, data, dims }, examples) {
  const Data = /** @type {new (length: number) => TypedArray} */ (data.constructor);
  const whole = [examples, ...dims.slice(1)];
  return new Tensor(/** @type {NumberType} */ (type), new Data((data.length / dims[0]) * examples), whole);
}

/**
 * Whether the rows after the first, computed again beside others, are what they were but for rounding.
 * @param {Tensor} tensor @param {Uint32Array} rows which example each is @param {number} examples
 */
function isTheSame({ data, dims }, rows, examples) {
  const each = data.length / dims[0];
  const at = (/** @type {number} */ i) => Number(data[i]);
  let most = 0;
  for (let i = 0; i < examples * each; i++) most = Math.max(most, Math.abs(at(i)));
  for (let row = examples; row < rows.length; row++)
    for (let i = 0; i < each; i++)
      if (!(Math.abs(at(row * each + i) - at(rows[row] * each + i)) <= ROUNDING * most)) return false;
  return true;
}

/** A view of some of them. @param {Tensor} tensor @param {number} from @param {number} to */
export function rowsOf({ type, data, dims }, from, to) {
  const each = data.length / dims[0];
  return new Tensor(type, /** @type {any} */ (data).subarray(from * each, to * each), [to - from, ...dims.slice(1)]);
}
