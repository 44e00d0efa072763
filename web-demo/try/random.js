// Random numbers in the place of data: to see the speed of a step, and whether training runs at all.

import { split } from './data.js';

/** @typedef {import('../js/types.js').ValueInfo} ValueInfo */

const SEED = 1;
const EXAMPLES = 256;
/** A free dim that is not the batch: steps of a sequence, or the side of a picture. */
const STEPS = 16;
const SIDE = 64;

/** The same numbers each time, from 0 to 1 (mulberry32). @param {number} seed */
export function randomFrom(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * The shape of each input, labels too, at a batch size: free dims of one name are one number.
 * @param {readonly Pick<ValueInfo, 'name' | 'dims'>[]} inputs @param {number} batch @returns {Record<string, number[]>}
 */
export function shapesOf(inputs, batch) {
  const sizes = new Map();
  for (const { dims } of inputs) if (typeof dims[0] === 'string' && !sizes.has(dims[0])) sizes.set(dims[0], batch);
  const sizeOf = (/** @type {string | number} */ dim, /** @type {number} */ rank) => {
    if (typeof dim === 'number') return dim;
    if (!sizes.has(dim)) sizes.set(dim, rank === 4 ? SIDE : STEPS);
    return sizes.get(dim);
  };
  return Object.fromEntries(inputs.map(({ name, dims }) => [name, dims.map((dim) => sizeOf(dim, dims.length))]));
}

/**
 * @param {readonly ValueInfo[]} inputs of a training session @param {number} batch
 * @param {number} vocabulary the most that a token may be, not included
 * @param {typeof import('../js/index.js').Tensor} Tensor
 */
export function randomFeeds(inputs, batch, vocabulary, Tensor) {
  const random = randomFrom(SEED);
  const shapes = shapesOf(inputs, batch);
  return Object.fromEntries(
    inputs.map(({ name, type, labels }) => {
      const most = labels?.classes ?? mostOf(type, vocabulary);
      return [name, randomTensor(type, shapes[name], most, random, Tensor)];
    }),
  );
}

/** Whole numbers of inputs are below it. @param {string} type @param {number} vocabulary */
const mostOf = (type, vocabulary) => (type === 'int64' || type === 'int32' ? vocabulary : 2);

/**
 * Floats from -1 to 1, whole numbers from 0 up.
 * @param {string} type @param {number[]} dims @param {number} most @param {() => number} random
 * @param {typeof import('../js/index.js').Tensor} Tensor
 */
function randomTensor(type, dims, most, random, Tensor) {
  const length = dims.reduce((a, b) => a * b, 1);
  const next = /float/.test(type) ? () => 2 * random() - 1 : () => Math.floor(most * random());
  const values = Array.from({ length }, type === 'int64' ? () => BigInt(next()) : next);
  return new Tensor(/** @type {any} */ (type), /** @type {any} */ (values), dims);
}

/**
 * Data of random numbers for a model: nothing can be learned from them but by heart.
 * @param {readonly ValueInfo[]} trainingInputs the model's, and its labels behind them @param {number} vocabulary
 * @param {typeof import('../js/index.js').Tensor} Tensor @returns {import('./data.js').Data}
 */
export function randomData(trainingInputs, vocabulary, Tensor) {
  const random = randomFrom(SEED);
  const shapes = shapesOf(trainingInputs, EXAMPLES);
  const wanted = trainingInputs[trainingInputs.length - 1];
  const width = wanted.labels ? (wanted.labels.classes ?? 2) : 0;
  const labels = { type: wanted.type, dims: shapes[wanted.name], most: width };
  const inputs = trainingInputs.slice(0, -1).map(({ name, type }) => ({
    name,
    type,
    dims: shapes[name],
    most: mostOf(type, vocabulary),
  }));
  const tensors = inputs.map(({ name, type, dims, most }) => [name, randomTensor(type, dims, most, random, Tensor)]);
  const tensor = randomTensor(labels.type, labels.dims, labels.most, random, Tensor);
  const classes = wanted.labels ? Array.from({ length: width }, (_, i) => String(i)) : undefined;
  return {
    kind: 'random',
    words: `${EXAMPLES} examples of random numbers: to see the speed. There is nothing to learn but by heart.`,
    warnings: [],
    count: EXAMPLES,
    task: classes ? 'classes' : 'numbers',
    classes,
    ...split({ inputs: Object.fromEntries(tensors), labels: tensor }, Tensor),
    head: ['Example', 'Label'],
    example: (i) => [String(i), String(tensor.data[i])],
    read: { source: String(randomFrom), seed: SEED, inputs, labels },
  };
}
