/**
 * Data sets of every form as batches, each packed in one buffer; whole arrays can be shuffled, entered in the middle
 * and split.
 */

import { checkKeys, TrainletError } from './errors.js';
import { fingerprintOf } from './fingerprint.js';
import { checkLabels } from './label-range.js';
import { bind, bytesOf, checkWhole, layout, pack, Tensor } from './tensor.js';

/** @import { Dataset, Feeds, TypedArray, ValueInfo } from './types.js' */
/** @import { PackedFeeds } from './protocol.js' */

/**
 * @typedef {import('./tensor.js').Taken<TypedArray>} Taken
 * @typedef {{ data: TypedArray, dims: readonly number[] }} Labels
 * @typedef {{ feeds: PackedFeeds, examples: number, labels?: Labels }} Batch the labels are a copy, for the metrics
 * @typedef {{ done?: boolean, value: Batch }} Next
 * @typedef {{ next(): Next | Promise<Next>, return?(value?: any): unknown }} Batches
 * @typedef {object} Reader
 * @property {number} [examples] unknown of a stream, like the next two
 * @property {number} [batches]
 * @property {number} [fingerprint]
 * @property {(order: Uint32Array | undefined, from: number) => Batches} read
 * @typedef {{ inputs: Feeds, labels?: Feeds }} Arrays
 */

/**
 * Those of a graph that trains, which are neither sequences nor strings.
 * @param {Feeds} feeds
 * @param {readonly ValueInfo[]} inputs
 */
const bindNumbers = (feeds, inputs) => /** @type {[string, Taken][]} */ (bind(feeds, inputs));

/** @param {string} message */
const bad = (message) => new TrainletError('invalid-feed', `data set: ${message}`);

/** @param {unknown} data @returns {data is Arrays} */
export const isArrays = (data) => typeof data === 'object' && data !== null && 'inputs' in data;

/**
 * @param {Dataset} data
 * @param {readonly ValueInfo[]} inputs of the graph that will be fed
 * @param {number} batchSize of whole arrays
 * @param {string} [labelName] the input whose batches the metrics need
 * @returns {Reader}
 */
export function openData(data, inputs, batchSize, labelName) {
  if (isArrays(data)) return openArrays(tensorsOf(data, inputs), batchSize, labelName);
  const open = typeof data === 'function' ? data : () => data;
  return { read: () => /** @type {Batches} */ (stream(open(), inputs, labelName)) };
}

/** @param {Arrays} data @param {readonly ValueInfo[]} inputs */
function tensorsOf(data, inputs) {
  checkKeys('data set', data, ['inputs', 'labels']);
  const [given, labels] = [bindNumbers(data.inputs, inputs), bindNumbers(data.labels ?? {}, inputs)];
  const twice = labels.find(([label]) => given.some(([name]) => name === label));
  if (twice) throw bad(`'${twice[0]}' is both an input and a label`);
  const tensors = [...given, ...labels];
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
  return tensors;
}

/**
 * @param {[string, Taken][]} tensors
 * @param {number} batchSize
 * @param {string | undefined} labelName
 * @returns {Reader}
 */
function openArrays(tensors, batchSize, labelName) {
  const examples = tensors[0][1].dims[0];
  const batches = Math.ceil(examples / batchSize);

  /** @param {Uint32Array | undefined} order @param {number} from */
  function* read(order, from) {
    for (let i = from; i < batches; i++) {
      yield gather(tensors, order, i * batchSize, Math.min(examples, (i + 1) * batchSize), labelName);
    }
  }
  const fingerprint = fingerprintOf(tensors);
  return { examples, batches, fingerprint, read: (order, from) => /** @type {Batches} */ (read(order, from)) };
}

/**
 * The rows from … to of the order, copied together.
 * @param {[string, Taken][]} tensors
 * @param {Uint32Array | undefined} order
 * @param {number} from
 * @param {number} to
 * @param {string | undefined} labelName
 * @returns {Batch}
 */
function gather(tensors, order, from, to, labelName) {
  for (const [name, tensor] of tensors) checkWhole(name, tensor);
  const rows = tensors.map(([, { data, dims }]) => data.byteLength / dims[0]);
  const feeds = layout(
    tensors.map(([name, { type, dims }], i) => ({
      name,
      type,
      dims: [to - from, ...dims.slice(1)],
      bytes: rows[i] * (to - from),
    })),
  );
  tensors.forEach(([, { data }], i) => {
    const row = rows[i];
    const source = bytesOf(data);
    const target = new Uint8Array(feeds.buffer, feeds.tensors[i].offset, row * (to - from));
    if (!order) target.set(source.subarray(from * row, to * row));
    else
      for (let k = from; k < to; k++)
        target.set(source.subarray(order[k] * row, (order[k] + 1) * row), (k - from) * row);
  });
  const labels = tensors.findIndex(([name]) => name === labelName);
  if (labels < 0) return { feeds, examples: to - from };
  const { offset, bytes, dims } = feeds.tensors[labels];
  const Data = /** @type {new (buffer: ArrayBuffer) => TypedArray} */ (tensors[labels][1].data.constructor);
  return { feeds, examples: to - from, labels: { data: new Data(feeds.buffer.slice(offset, offset + bytes)), dims } };
}

/**
 * @param {AsyncIterable<Feeds> | Iterable<Feeds>} batches
 * @param {readonly ValueInfo[]} inputs
 * @param {string | undefined} labelName
 * @returns {AsyncGenerator<Batch>}
 */
async function* stream(batches, inputs, labelName) {
  const iterable = Object(batches) === batches && (Symbol.asyncIterator in batches || Symbol.iterator in batches);
  if (!iterable) throw bad('wanted { inputs, labels }, an iterable of feeds, or a function that returns one');
  for await (const batch of batches) {
    const tensors = bindNumbers(batch, inputs);
    if (!tensors.length) throw bad('a batch has no tensors');
    const labels = tensors.find(([name]) => name === labelName)?.[1];
    const examples = tensors[0][1].dims[0] ?? 1;
    yield { feeds: pack(tensors), examples, labels: labels && { data: labels.data.slice(), dims: labels.dims } };
  }
}

/** Lets a stream end early; it is not waited for, because it may hang. @param {Batches} batches */
export function close(batches) {
  Promise.resolve(batches.return?.()).catch(() => {}); // nothing more is read from it
}

/**
 * Holds out the last share of whole arrays.
 * @param {Dataset} data
 * @param {number} share
 * @param {readonly ValueInfo[]} inputs of the graph that will be fed
 * @returns {[Arrays, Arrays]}
 */
export function splitData(data, share, inputs) {
  if (!isArrays(data)) throw bad('validation as a share needs whole arrays; give a validation data set');
  if (!(share > 0 && share < 1)) throw bad(`validation as a share must be between 0 and 1, not ${share}`);
  const tensors = tensorsOf(data, inputs);
  const [
    [
      ,
      {
        dims: [examples],
      },
    ],
  ] = tensors;
  const kept = examples - Math.round(examples * share);
  if (kept < 1 || kept === examples)
    throw bad(`a validation share of ${share} of ${examples} examples leaves one side empty`);
  return [rowsOf(tensors, 0, kept), rowsOf(tensors, kept, examples)];
}

/** @param {[string, Taken][]} tensors @param {number} from @param {number} to @returns {Arrays} */
function rowsOf(tensors, from, to) {
  return {
    inputs: Object.fromEntries(
      tensors.map(([name, { type, data, dims }]) => {
        const row = data.length / dims[0];
        return [name, new Tensor(type, data.subarray(from * row, to * row), [to - from, ...dims.slice(1)])];
      }),
    ),
  };
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
