// Random numbers in the place of data: to see the speed of a step, and whether training runs at all.

/** @typedef {import('../js/types.js').ValueInfo} ValueInfo */

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
  const random = randomFrom(batch);
  const shapes = shapesOf(inputs, batch);
  return Object.fromEntries(
    inputs.map((input) => {
      const { name, type, labels } = input;
      const count = shapes[name].reduce((a, b) => a * b, 1);
      const most = labels?.classes ?? (/^(input_ids|tokens?)/.test(name) || type === 'int64' ? vocabulary : 2);
      const next = /float/.test(type) ? () => 2 * random() - 1 : () => Math.floor(most * random());
      const values = Array.from({ length: count }, next);
      const isBig = type === 'int64' || type === 'uint64';
      return [name, new Tensor(/** @type {any} */ (type), isBig ? values.map(BigInt) : values, shapes[name])];
    }),
  );
}
