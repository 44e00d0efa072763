/**
 * Data sets of every form as batches, each packed in one buffer; whole arrays can be shuffled and entered in the
 * middle.
 */

import { abortedBy, checkKeys, checkSignal, invalid, nameOf, TrainletError } from '../base/errors.js';
import { bind } from '../base/feeds.js';
import { isKind } from '../base/kind.js';
import { looksLikeTensor } from '../base/nested.js';
import { copyRows, sliceRows } from '../base/rows.js';
import { bytesOf, checkWhole, isWhole, layout, pack } from '../base/tensor.js';
import { weigh } from './example-weights.js';
import { fingerprintOf } from './fingerprint.js';
import { checkLabels } from './label-range.js';
import { byName } from './unnamed.js';

/** @import { Dataset, Feeds, FitOptions, TypedArray, ValueInfo, WholeArrays } from '../types.js' */
/** @import { PackedFeeds } from '../engine/protocol.js' */

/**
 * @typedef {import('../base/tensor.js').Taken<TypedArray>} Taken
 * @typedef {{ data: TypedArray, dims: readonly number[] }} Labels
 * @typedef {{ feeds: PackedFeeds, examples: number, weight?: number, labels?: Labels, given?: Feeds }} Batch `weight`:
 * of all its examples; the labels are a copy, for the metrics; given: what a stream gave
 * @typedef {{ label?: string, weight?: string }} Wanted names of inputs of which a batch tells more
 * @typedef {{ done?: boolean, value: Batch }} Next
 * @typedef {{ next(): Next | Promise<Next>, return?(value?: any): unknown }} Batches
 * @typedef {object} Reader
 * @property {number} [examples] unknown of a stream, like the next three
 * @property {number} [batches]
 * @property {number} [batchSize]
 * @property {number} [bytes] of all examples
 * @property {number} [fingerprint] found when it is first asked for, if the data are still there then
 * @property {(order: Uint32Array | undefined, from: number) => Batches} read
 * @property {(rows: Uint32Array, room?: PackedFeeds) => PackedFeeds} [feedsOf] of these examples, in the room of as
 * many
 * @property {(from: number, to: number) => [string, Taken][]} [rows] views of those side by side
 * @property {(kept: readonly string[], more: [string, Taken][]) => Reader} [exchange] the same examples, told by the
 * tensors of these names and by more
 */

/**
 * Binds the feeds of a training graph, which are neither sequences nor strings.
 * @param {Feeds} feeds
 * @param {readonly ValueInfo[]} inputs
 */
const bindNumbers = (feeds, inputs) => /** @type {[string, Taken][]} */ (bind(feeds, inputs));

/** @param {string} message */
const bad = (message) => new TrainletError('invalid-feed', `data set: ${message}`);

/** @param {unknown} data @returns {data is WholeArrays} */
export const isArrays = (data) => typeof data === 'object' && data !== null && 'inputs' in data;

/**
 * Refuses tensors one by one, as Keras takes them, and promises.
 * @param {string} where @param {unknown} data @param {unknown} options
 */
export function checkData(where, data, options) {
  if (isKind(data, 'Promise')) throw bad('it is a promise: await it');
  const isList = (/** @type {unknown} */ value) => ArrayBuffer.isView(value) || Array.isArray(value);
  if (looksLikeTensor(data) || looksLikeTensor(options) || isList(options))
    throw invalid(`${where} takes one data set, then options: ${where}({ inputs: x, labels: y }, {})`);
}

/**
 * Names of what says nothing of what an example is: labels and weights.
 * @param {Dataset} data @param {readonly ValueInfo[]} inputs
 */
export const namesBeside = (data, inputs) => [
  ...(isArrays(data) ? Object.keys(byName(data, inputs).labels) : []),
  ...inputs.filter(({ labels, sampleWeight }) => labels || sampleWeight).map(({ name }) => name),
];

/**
 * @param {Dataset} data
 * @param {readonly ValueInfo[]} inputs of the graph that will be fed
 * @param {number} batchSize of whole arrays
 * @param {string} [labelName] the input whose batches the metrics need
 * @param {FitOptions['classWeight']} [classWeight]
 * @param {boolean} [dropLast] leaves out a last batch that is smaller
 * @returns {Reader}
 */
export function openData(data, inputs, batchSize, labelName, classWeight, dropLast) {
  const wanted = { label: labelName, weight: inputs.find(({ sampleWeight }) => sampleWeight)?.name };
  if (isArrays(data)) return openArrays(tensorsOf(data, inputs, classWeight), batchSize, wanted, dropLast);
  const open = typeof data === 'function' ? data : () => data;
  return { read: () => /** @type {Batches} */ (stream(open(), inputs, wanted, classWeight)) };
}

/** @param {WholeArrays} data @param {readonly ValueInfo[]} inputs @param {FitOptions['classWeight']} [classWeight] */
export function tensorsOf(data, inputs, classWeight) {
  checkKeys('data set', data, ['inputs', 'labels', 'sampleWeight']);
  const feeds = byName(data, inputs);
  const [fed, labels] = [bindNumbers(feeds.inputs, inputs), bindNumbers(feeds.labels, inputs)];
  const twice = labels.find(([label]) => fed.some(([name]) => name === label));
  if (twice) throw bad(`'${twice[0]}' is both an input and a label`);
  const tensors = [...fed, ...labels];
  if (!tensors.length) throw bad('it has no tensors');
  const [
    [
      first,
      {
        dims: [examples],
      },
    ],
  ] = tensors;
  for (const [
    name,
    {
      dims: [n],
    },
  ] of tensors) {
    if (n === undefined) throw bad(`'${name}' is a scalar; wanted one row for each example`);
    if (n !== examples) throw bad(`'${name}' has ${n} examples, but '${first}' has ${examples}`);
  }
  if (!examples) throw bad('it has no examples');
  for (const [name, tensor] of tensors) {
    const stray = checkLabels(name, tensor, inputs.find((input) => input.name === name)?.labels);
    if (stray) throw bad(stray);
  }
  return weigh(tensors, inputs, { sampleWeight: data.sampleWeight, classWeight, whole: true });
}

/**
 * @param {[string, Taken][]} tensors
 * @param {number} batchSize
 * @param {Wanted} wanted
 * @param {boolean} [dropLast]
 * @param {() => number | undefined} [fingerprint]
 * @returns {Reader}
 */
function openArrays(tensors, batchSize, wanted, dropLast, fingerprint = once(() => fingerprintIfWhole(tensors))) {
  const examples = tensors[0][1].dims[0];
  const batches = dropLast ? Math.floor(examples / batchSize) : Math.ceil(examples / batchSize);
  if (!batches) throw bad(`dropLast leaves no batch of ${batchSize}: it has ${examples} examples`);

  /** @param {Uint32Array | undefined} order @param {number} from */
  function* read(order, from) {
    for (let i = from; i < batches; i++) {
      yield gather(tensors, order, i * batchSize, Math.min(examples, (i + 1) * batchSize), wanted);
    }
  }
  return {
    examples,
    batches,
    batchSize,
    bytes: tensors.reduce((sum, [, { data }]) => sum + data.byteLength, 0),
    get fingerprint() {
      return fingerprint();
    },
    feedsOf: (rows, room = roomFor(tensors, rows.length)) => gather(tensors, rows, 0, rows.length, {}, room).feeds,
    rows: (from, to) => tensors.map(([name, tensor]) => [name, wholeRows(name, tensor, from, to)]),
    exchange: (kept, more) =>
      openArrays(
        [...tensors.filter(([name]) => kept.includes(name)), ...more],
        batchSize,
        wanted,
        dropLast,
        fingerprint,
      ),
    read: (order, from) => /** @type {Batches} */ (read(order, from)),
  };
}

/** @param {string} name @param {Taken} tensor @param {number} from @param {number} to @returns {Taken} */
function wholeRows(name, tensor, from, to) {
  checkWhole(name, tensor);
  return sliceRows(tensor, from, to);
}

/** None where they were transferred meanwhile. @param {[string, Taken][]} tensors */
const fingerprintIfWhole = (tensors) =>
  tensors.every(([, tensor]) => isWhole(tensor)) ? fingerprintOf(tensors) : undefined;

/** @param {() => number | undefined} find */
function once(find) {
  /** @type {number | undefined} */
  let found;
  return () => {
    found ??= find();
    return found;
  };
}

/** @param {[string, Taken][]} tensors @param {number} examples of them */
export const roomFor = (tensors, examples) =>
  layout(
    tensors.map(([name, { type, data, dims }]) => ({
      name,
      type,
      dims: [examples, ...dims.slice(1)],
      bytes: (data.byteLength / dims[0]) * examples,
    })),
  );

/**
 * The rows from … to of the order, copied together.
 * @param {[string, Taken][]} tensors
 * @param {Uint32Array | undefined} order
 * @param {number} from
 * @param {number} to
 * @param {Wanted} wanted
 * @param {PackedFeeds} [feeds] where to
 * @returns {Batch}
 */
function gather(tensors, order, from, to, wanted, feeds = roomFor(tensors, to - from)) {
  for (const [name, tensor] of tensors) checkWhole(name, tensor);
  tensors.forEach(([, { data, dims }], i) => {
    const { offset, bytes } = feeds.tensors[i];
    const source = bytesOf(data);
    const target = new Uint8Array(feeds.buffer, offset, bytes);
    const each = bytes / (to - from);
    if (order) copyRows(source, dims[0], order.subarray(from, to), target);
    else target.set(source.subarray(from * each, to * each));
  });
  const copyOf = (/** @type {string | undefined} */ name) => {
    const at = tensors.findIndex((tensor) => tensor[0] === name);
    if (at < 0) return undefined;
    const { offset, bytes, dims } = feeds.tensors[at];
    const Data = /** @type {new (buffer: ArrayBuffer) => TypedArray} */ (tensors[at][1].data.constructor);
    return { data: new Data(feeds.buffer.slice(offset, offset + bytes)), dims };
  };
  const weight = sumOf(copyOf(wanted.weight)?.data);
  return { feeds, examples: to - from, ...(weight !== undefined && { weight }), labels: copyOf(wanted.label) };
}

/**
 * @param {AsyncIterable<Feeds> | Iterable<Feeds>} batches
 * @param {readonly ValueInfo[]} inputs
 * @param {Wanted} wanted
 * @param {FitOptions['classWeight']} classWeight
 * @returns {AsyncGenerator<Batch>}
 */
async function* stream(batches, inputs, wanted, classWeight) {
  const iterable = Object(batches) === batches && (Symbol.asyncIterator in batches || Symbol.iterator in batches);
  const came = Object(batches) === batches ? `{ ${Object.keys(batches).join(', ')} }` : nameOf(batches);
  if (!iterable)
    throw bad(`wanted { inputs, labels }, an iterable of feeds, or a function that returns one, not ${came}`);
  for await (const batch of batches) {
    const tensors = weigh(bindNumbers(batch, inputs), inputs, { classWeight });
    if (!tensors.length) throw bad('a batch has no tensors');
    const find = (/** @type {string | undefined} */ wanted) => tensors.find(([name]) => name === wanted)?.[1];
    const [labels, weight] = [find(wanted.label), sumOf(find(wanted.weight)?.data)];
    const examples = tensors[0][1].dims[0] ?? 1;
    if (!examples) throw bad('a batch has no examples');
    yield {
      given: batch,
      feeds: pack(tensors),
      examples,
      ...(weight !== undefined && { weight }),
      labels: labels && { data: labels.data.slice(), dims: labels.dims },
    };
  }
}

/** @param {TypedArray | undefined} weights */
function sumOf(weights) {
  if (!weights) return undefined;
  let sum = 0;
  for (let i = 0; i < weights.length; i++) sum += Number(weights[i]);
  return sum;
}

/**
 * The next batch; a stream that hangs is not waited for once the signal has come.
 * @param {Batches} batches @param {AbortSignal} [signal]
 */
export async function nextOf(batches, signal) {
  checkSignal(signal);
  let stop = () => {};
  const aborted = new Promise((_, reject) => {
    stop = () => reject(abortedBy(signal));
  });
  signal?.addEventListener('abort', stop);
  try {
    return await /** @type {ReturnType<Batches['next']>} */ (Promise.race([batches.next(), aborted]));
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

/** Lets a stream end early; it is not waited for, because it may hang. @param {Batches} batches */
export function close(batches) {
  Promise.resolve(batches.return?.()).catch(() => {}); // nothing more is read from it
}

/**
 * The order of an epoch: a Fisher–Yates shuffle that is the same for the same seed and epoch everywhere.
 * @param {number} length
 * @param {number} seed
 * @param {number} epoch
 */
export function permutation(length, seed, epoch) {
  const random = mulberry32((seed ^ Math.imul(epoch + 1, 0x9e3779b9)) >>> 0);
  const order = new Uint32Array(length).map((_, i) => i);
  for (let i = length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** Tommy Ettinger's generator: uniform in [0, 1), 32 bits of state. @param {number} state */
function mulberry32(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
