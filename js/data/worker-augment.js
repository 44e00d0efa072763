/**
 * The worker that changes batches before they train: a file of its own without imports, so that a page or a bundler can
 * serve it as it is. What it does depends on the seed, the epoch, the batch and the row alone.
 */

/**
 * @typedef {{ name: string, type: string, dims: readonly number[], offset: number, bytes: number }} Part of a batch
 * @typedef {{ type: string, [option: string]: any }} Step with all its numbers
 * @typedef {{ module: string, options?: unknown }} Own
 * @typedef {object} Question
 * @property {Part[]} tensors
 * @property {ArrayBuffer} buffer
 * @property {string} input
 * @property {boolean} last where the channels are: NHWC
 * @property {readonly (Step | Own)[]} steps
 * @property {readonly [seed: number, epoch: number, batch: number]} position
 */
/**
 * @typedef {{ data: Float32Array | Uint8Array, channels: number, height: number, width: number, across: number, down:
 * number, deep: number, flat: boolean }} Example one picture, or a signal of height 1, and how far its neighbours are
 * @typedef {() => number} Random from 0 up to 1
 */

/** The value beyond the edge: a picture repeats its edge, a signal has silence. */
const BEYOND = 0;

/** Mulberry32, begun by mixing all numbers. @param {readonly number[]} numbers @returns {Random} */
function randomOf(numbers) {
  let state = numbers.reduce((hash, n) => Math.imul((hash ^ n) + 0x9e3779b9, 0x85ebca6b) ^ (hash >>> 13), 1);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** From −1 to 1. @param {Random} random */
const either = (random) => 2 * random() - 1;

/** @param {Random} random */
const normal = (random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/**
 * Each pixel from where `from` says, between four of them in proportion.
 * @param {Example} example
 * @param {(x: number, y: number) => readonly [x: number, y: number]} from
 */
function warp({ data, channels, height, width, across, down, deep, flat }, from) {
  const old = data.slice();
  const at = (/** @type {number} */ c, /** @type {number} */ x, /** @type {number} */ y) => {
    const inside = x >= 0 && x < width && y >= 0 && y < height;
    if (flat && !inside) return BEYOND;
    const [near, close] = [Math.min(Math.max(x, 0), width - 1), Math.min(Math.max(y, 0), height - 1)];
    return old[c * deep + close * down + near * across];
  };
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const [u, v] = from(x, y);
      const [left, top] = [Math.floor(u), Math.floor(v)];
      const [right, low] = [u - left, v - top];
      for (let c = 0; c < channels; c++) {
        const upper = at(c, left, top) + (right ? right * (at(c, left + 1, top) - at(c, left, top)) : 0);
        const lower = low
          ? at(c, left, top + 1) + (right ? right * (at(c, left + 1, top + 1) - at(c, left, top + 1)) : 0)
          : upper;
        put(data, c * deep + y * down + x * across, upper + low * (lower - upper));
      }
    }
  }
}

/** Bytes are rounded and stay bytes. @param {Float32Array | Uint8Array} data @param {number} i @param {number} value */
function put(data, i, value) {
  data[i] = data instanceof Uint8Array ? Math.min(255, Math.max(0, Math.round(value))) : value;
}

/** @param {Float32Array | Uint8Array} data @param {(value: number, i: number) => number} work */
function each(data, work) {
  for (let i = 0; i < data.length; i++) put(data, i, work(data[i], i));
}

/** The input's value for an option's 1. @param {Example} example */
const unit = ({ data }) => (data instanceof Uint8Array ? 255 : 1);

/** @type {Record<string, (example: Example, step: Step, random: Random) => void>} */
const WORK = {
  flip(example, { p, axis }, random) {
    if (random() >= p) return;
    const { width, height } = example;
    warp(example, (x, y) => (axis === 'vertical' ? [x, height - 1 - y] : [width - 1 - x, y]));
  },
  shift(example, step, random) {
    const [dx, dy] = [
      Math.round(either(random) * step.x * example.width),
      Math.round(either(random) * step.y * example.height),
    ];
    if (dx || dy) warp(example, (x, y) => [x - dx, y - dy]);
  },
  rotate(example, { degrees }, random) {
    const angle = (either(random) * degrees * Math.PI) / 180;
    const [cos, sin, cx, cy] = [Math.cos(angle), Math.sin(angle), (example.width - 1) / 2, (example.height - 1) / 2];
    warp(example, (x, y) => [cx + cos * (x - cx) + sin * (y - cy), cy - sin * (x - cx) + cos * (y - cy)]);
  },
  crop(example, { least }, random) {
    const share = least + (1 - least) * random();
    const [left, top] = [random() * (1 - share) * (example.width - 1), random() * (1 - share) * (example.height - 1)];
    warp(example, (x, y) => [left + share * x, top + share * y]);
  },
  noise(example, { std }, random) {
    const size = std * unit(example);
    each(example.data, (value) => value + size * normal(random));
  },
  colour(example, { brightness, contrast, tint }, random) {
    const { data, channels, deep, height, width, across, down } = example;
    const [more, factor] = [either(random) * brightness * unit(example), 1 + either(random) * contrast];
    let sum = 0;
    for (const value of data) sum += value;
    const mean = sum / data.length;
    for (let c = 0; c < channels; c++) {
      const tinted = 1 + (channels > 1 ? either(random) * tint : 0);
      for (let y = 0; y < height; y++)
        for (let x = 0; x < width; x++) {
          const i = c * deep + y * down + x * across;
          put(data, i, tinted * (mean + factor * (data[i] - mean) + more));
        }
    }
  },
  scale({ data }, { by }, random) {
    const factor = 1 + either(random) * by;
    each(data, (value) => value * factor);
  },
};

/** @param {ArrayBuffer} buffer @param {Part} part */
function arrayOf(buffer, { type, offset, bytes }) {
  return type === 'uint8' ? new Uint8Array(buffer, offset, bytes) : new Float32Array(buffer, offset, bytes / 4);
}

/**
 * One row of a batch.
 * @param {Float32Array | Uint8Array} data
 * @param {readonly number[]} dims
 * @param {boolean} last
 * @returns {Example}
 */
function exampleOf(data, [, ...dims], last) {
  if (dims.length < 3) {
    const [channels, width] = dims.length === 2 ? dims : [1, dims[0]];
    return { data, channels, height: 1, width, across: 1, down: 0, deep: width, flat: true };
  }
  const [channels, height, width] = last ? [dims[2], dims[0], dims[1]] : dims;
  const [across, down, deep] = last ? [channels, channels * width, 1] : [1, width, width * height];
  return { data, channels, height, width, across, down, deep, flat: false };
}

/** @param {Question} question */
async function augment({ tensors, buffer, input, last, steps, position }) {
  const part = /** @type {Part} */ (tensors.find(({ name }) => name === input));
  const data = arrayOf(buffer, part);
  const rows = part.dims[0];
  const size = data.length / rows;
  for (const [i, step] of steps.entries()) {
    if ('module' in step) {
      const { default: work } = await import(/* webpackIgnore: true */ /* @vite-ignore */ step.module);
      if (typeof work !== 'function') throw new Error(`${step.module} has no function as its default export`);
      await work({
        data,
        dims: part.dims,
        random: randomOf([...position, -1, i]),
        epoch: position[1],
        batch: position[2],
        options: step.options,
      });
    } else {
      for (let row = 0; row < rows; row++) {
        const example = exampleOf(data.subarray(row * size, (row + 1) * size), part.dims, last);
        WORK[step.type](example, step, randomOf([...position, row, i]));
      }
    }
  }
  return buffer;
}

/** @param {Question} question @param {(answer: object, transfer: ArrayBuffer[]) => void} tell */
async function answer(question, tell) {
  try {
    const buffer = await augment(question);
    tell({ buffer }, [buffer]);
  } catch (error) {
    tell({ error: error instanceof Error ? error.message : String(error) }, []);
  }
}

if ('WorkerGlobalScope' in globalThis)
  globalThis.onmessage = ({ data }) =>
    answer(data, (message, transfer) => globalThis.postMessage(message, { transfer }));
else
  import(/* webpackIgnore: true */ /* @vite-ignore */ `node:${'worker_threads'}`).then(({ parentPort }) => {
    parentPort.on('message', (/** @type {Question} */ data) =>
      answer(data, (message, transfer) => parentPort.postMessage(message, transfer)),
    );
  });
