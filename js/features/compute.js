/** Features: what the frozen lower layers compute of each example, computed once for all epochs of a fit. */

import { checkSignal, TrainletError } from '../base/errors.js';
import { sliceRows } from '../base/rows.js';
import { Tensor } from '../base/tensor.js';
import { unlessAborted } from '../base/unless-aborted.js';

/** @import { FitOptions, History, NumberType, TypedArray } from '../types.js' */
/** @import { Ask, Features, NumberOutputs, PackedFeeds } from '../engine/protocol.js' */
/** @import { Reader } from '../data/dataset.js' */
/** @import { FeatureStore } from './feature-store.js' */
/** @import { Found } from './gather.js' */

/** An option of a fit: features that were computed before it. */
export const SHARED = Symbol('shared features');
/** Kept in memory at most, unless it is said otherwise. */
const MOST_BYTES = 256 * 2 ** 20;
/** The tolerance between batches of an example's features, relative to the largest: rounding errors. */
const ROUNDING = 1e-4;
/** The least number of cached examples that are computed again, beside new ones. */
export const AGAIN = 4;
/**
 * Examples that go through the lower layers at a time, and where their inputs take more than so many bytes, for more
 * would take more room, and no less time. How many examples there are does not count: in a batch of another size the
 * last bits may be others.
 */
const [BATCH, BATCH_BYTES, FEWER] = [8, 2 ** 20, 4];

/**
 * @typedef {object} Wanted examples whose features are
 * @property {number} examples
 * @property {(rows: Uint32Array, room?: PackedFeeds) => PackedFeeds} feedsOf `room`: where as many were before
 * @property {Reader['rows']} [views] of those side by side
 * @property {number} inputBytes
 * @typedef {object} FeatureOptions
 * @property {number} limit bytes
 * @property {FeatureStore} [store] that has them, or is to have them
 * @property {readonly string[]} [labels] names of what says nothing of what an example is
 * @property {() => Promise<boolean>} [rest] between batches, whether to give up
 * @property {() => boolean} [isAsFrozen] no weight that they depend on was set meanwhile
 * @property {boolean} [evaluation] the reader is of what is evaluated
 * @typedef {NonNullable<History['features']>} FeatureReport
 */

/**
 * @param {Ask} ask
 * @param {Reader} reader
 * @param {FitOptions} options
 * @param {FeatureOptions} cacheOptions
 * @returns {Promise<{ reader: Reader, features: FeatureReport, saved?: Found['saved'] } | undefined>} undefined: there
 * are no features, or they cannot be kept
 */
export async function featuresOf(ask, reader, options, cacheOptions) {
  const { examples, feedsOf, rows: views, bytes: inputBytes = 0, exchange } = reader;
  if (!examples || !feedsOf || !exchange) return undefined;
  const begun = performance.now();
  const { features: values, inputs, evaluates } = await namesOf(ask);
  const wanted = cacheOptions.evaluation ? evaluates : values.length > 0;
  const tell = (/** @type {number} */ bytes) => ({ values, bytes, ms: performance.now() - begun });
  const source = { feedsOf, views, examples, inputBytes };
  const gathering = { ...cacheOptions, ...options, streams: inputs.length > 0 };
  const stored = wanted && evaluates ? await cacheOptions.store?.gather(ask, source, values, gathering) : undefined;
  if (stored) {
    const { tensors, stream, bytes, origins, saved } = stored;
    const event = { ...tell(bytes), store: origins };
    const kept = tensors ? exchange(inputs, tensors) : stream?.(reader, exchange(inputs, []));
    return { reader: kept ?? reader, features: event, saved };
  }
  const kept = wanted ? await compute(ask, source, options, cacheOptions) : undefined;
  return kept && { reader: exchange(inputs, kept), features: tell(bytesIn(kept)) };
}

/** The memory limit and the store of `cacheFeatures`. @param {FitOptions['cacheFeatures']} cacheFeatures */
export function wishOf(cacheFeatures) {
  const { maxBytes: limit = MOST_BYTES, store } = typeof cacheFeatures === 'object' ? cacheFeatures : {};
  return { limit, store: /** @type {FeatureStore | undefined} */ (store) };
}

/** @param {[string, Tensor][]} kept */
export const bytesIn = (kept) => kept.reduce((sum, [, { data }]) => sum + data.byteLength, 0);

/** The names of the features and of the inputs beside them. @param {Ask} ask */
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
 * In two batches of one size at least, for which one program does. The last has some examples once more, beside others:
 * where the layers mix the examples of a batch, these are another then, and nothing is kept.
 * @param {Ask} ask @param {Wanted} source @param {Pick<FitOptions, 'signal' | 'onFeatures'>} options
 * @param {Pick<FeatureOptions, 'limit' | 'rest'>} how
 * @returns {Promise<[string, Tensor][] | undefined>}
 */
export async function compute(ask, source, { signal, onFeatures }, { limit, rest }) {
  const { feedsOf, views, examples } = source;
  const size = batchOf(source);
  const whole = Math.max(2, Math.ceil((examples + AGAIN) / size)) * size;
  const again = (/** @type {number} */ i) => (i >> 1) % examples;
  const rows = Uint32Array.from({ length: whole }, (_, i) => (i < examples ? i : again(i - examples)));
  /** @type {[string, Tensor][] | undefined} */
  let kept;
  /** @type {PackedFeeds | undefined} */
  let room;
  for (let from = 0; from < whole; from += size) {
    checkSignal(signal);
    if (await rest?.()) return undefined;
    const taken = from + size <= examples && views && ask.take?.('train', views(from, from + size));
    const feeds = taken || feedsOf(rows.subarray(from, from + size), room);
    const travels = feeds === room ? [] : [feeds.buffer];
    if (!taken) room ??= sharedRoom(feeds);
    const outputs = Object.entries(await ask('runFeatures', feeds, travels, signal));
    if (outputs.some(([, { dims }]) => dims[0] !== size)) return undefined;
    const bytes = outputs.reduce((sum, [, { data }]) => sum + (data.byteLength / size) * examples, 0);
    if (bytes > limit) return undefined;
    kept ??= outputs.map(([name, output]) => [name, roomFor(output, whole)]);
    kept.forEach(([, { data }], i) => {
      const part = outputs[i][1].data;
      data.set(/** @type {any} */ (part), (part.length / size) * from);
    });
    await unlessAborted(onFeatures?.({ done: Math.min(examples, from + size), examples, bytes }), signal);
  }
  return kept?.every(([, tensor]) => isTheSame(tensor, rows, examples))
    ? kept.map(([name, tensor]) => [name, sliceRows(tensor, 0, examples)])
    : undefined;
}

/** The number of examples in a batch. @param {Wanted} of */
export const batchOf = ({ examples, inputBytes }) => ((BATCH * inputBytes) / examples > BATCH_BYTES ? FEWER : BATCH);

/**
 * One shared buffer for all further batches, if memory can be shared: a buffer for each would become garbage.
 * @param {PackedFeeds} feeds
 */
function sharedRoom(feeds) {
  if (globalThis.crossOriginIsolated === false || !globalThis.SharedArrayBuffer) return undefined; // Node is silent
  const buffer = /** @type {any} */ (new SharedArrayBuffer(feeds.buffer.byteLength));
  return { ...feeds, buffer };
}

/** @param {NumberOutputs[string]} output of one batch @param {number} examples */
function roomFor({ type, data, dims }, examples) {
  const Data = /** @type {new (length: number) => TypedArray} */ (data.constructor);
  const whole = [examples, ...dims.slice(1)];
  return new Tensor(/** @type {NumberType} */ (type), new Data((data.length / dims[0]) * examples), whole);
}

/**
 * True if the rows after the first, computed again beside others, are the same but for rounding.
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
