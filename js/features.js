/** Features: what the frozen lower layers compute of each example, computed once for all epochs of a fit. */

import { close, permutation } from './data.js';
import { checkSignal, TrainletError } from './errors.js';
import { Tensor } from './tensor.js';

/** @import { FitOptions, History, NumberType, TypedArray } from './types.js' */
/** @import { Ask, NumberOutputs, Features } from './protocol.js' */
/** @import { Reader } from './data.js' */

/** Of the options of a fit: features that were computed before it. */
export const SHARED = Symbol('shared features');
/** Kept at most, unless it is said otherwise. */
export const MOST_BYTES = 256 * 2 ** 20;
/** By how much of the largest an example's features may differ from batch to batch: rounding, and no more. */
const ROUNDING = 1e-4;

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
  const { examples, exchange } = reader;
  if (!examples || !exchange) return undefined;
  const begun = performance.now();
  const { features: values, inputs, evaluates } = await namesOf(ask);
  const wanted = evaluation ? evaluates : values.length > 0;
  const kept = wanted ? await compute(ask, reader, examples, options, { limit, rest }) : undefined;
  if (!kept || !(await isTheSame(ask, reader, examples, kept, options))) return undefined;
  const bytes = kept.reduce((sum, [, { data }]) => sum + data.byteLength, 0);
  return { reader: exchange(inputs, kept), features: { values, bytes, ms: performance.now() - begun } };
}

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
 * @param {Ask} ask @param {Reader} reader @param {number} examples @param {FitOptions} options
 * @param {{ limit: number, rest?: () => Promise<boolean> }} how
 * @returns {Promise<[string, Tensor][] | undefined>}
 */
async function compute(ask, reader, examples, { signal, onFeatures }, { limit, rest }) {
  /** @type {[string, Tensor][] | undefined} */
  let kept;
  let done = 0;
  let bytes = 0;
  const batches = reader.read(undefined, 0);
  try {
    for (let next = await batches.next(); !next.done; next = await batches.next()) {
      checkSignal(signal);
      if (await rest?.()) return undefined;
      const { feeds, examples: count } = next.value;
      const outputs = Object.entries(await ask('runFeatures', feeds, [feeds.buffer], signal));
      if (outputs.some(([, { dims }]) => dims[0] !== count)) return undefined;
      bytes ||= outputs.reduce((sum, [, { data }]) => sum + (data.byteLength / count) * examples, 0);
      if (bytes > limit) return undefined;
      kept ??= outputs.map(([name, output]) => [name, roomFor(output, examples)]);
      kept.forEach(([, { data }], i) => {
        const part = outputs[i][1].data;
        data.set(/** @type {any} */ (part), (part.length / count) * done);
      });
      done += count;
      await onFeatures?.({ done, examples, bytes });
    }
  } finally {
    close(batches);
  }
  return kept;
}

/** @param {NumberOutputs[string]} output of one batch @param {number} examples */
function roomFor({ type, data, dims }, examples) {
  const Data = /** @type {new (length: number) => TypedArray} */ (data.constructor);
  const whole = [examples, ...dims.slice(1)];
  return new Tensor(/** @type {NumberType} */ (type), new Data((data.length / dims[0]) * examples), whole);
}

/**
 * Whether a batch of other examples side by side gives the same, as it does not where the frozen layers mix them.
 * @param {Ask} ask @param {Reader} reader @param {number} examples @param {[string, Tensor][]} kept
 * @param {FitOptions} options
 */
async function isTheSame(ask, reader, examples, kept, { signal }) {
  const order = permutation(examples, 1, 0);
  const batches = reader.read(order, 0);
  const { value: batch } = await batches.next();
  close(batches);
  const outputs = await ask('runFeatures', batch.feeds, [batch.feeds.buffer], signal);
  return kept.every(([name, { data }]) => {
    const again = outputs[name].data;
    return isRounding(data, again.length / batch.examples, order, again);
  });
}

/**
 * Whether these rows, computed again beside others, are what they were but for rounding.
 * @param {TypedArray} data @param {number} row elements of one
 * @param {ArrayLike<number>} order which they are @param {TypedArray} again
 */
export function isRounding(data, row, order, again) {
  let most = 0;
  for (const x of data) most = Math.max(most, Math.abs(Number(x)));
  return again.every(
    (/** @type {any} */ x, /** @type {number} */ i) =>
      Math.abs(Number(x) - Number(data[order[Math.floor(i / row)] * row + (i % row)])) <= ROUNDING * most,
  );
}
