/**
 * An engine of one number, for tests of what surrounds the engine: what it learns depends on every batch and on their
 * order.
 */

import { TrainletError } from '../../js/base/errors.js';
import { FitPosition } from '../../js/fit/position.js';

/** @typedef {import('../../js/engine/protocol.js').Methods} Methods */

export const INFO = {
  train: {
    inputs: [
      { name: 'input', type: 'float32', dims: ['N', 2] },
      { name: 'labels', type: 'int64', dims: ['N'] },
    ],
    outputs: [
      { name: 'loss', type: 'float32', dims: [] },
      { name: 'logits', type: 'float32', dims: ['N', 2] },
    ],
    losses: [],
  },
  eval: {
    inputs: [
      { name: 'input', type: 'float32', dims: ['N', 2] },
      { name: 'labels', type: 'int64', dims: ['N'] },
    ],
    outputs: [{ name: 'loss', type: 'float32', dims: [] }],
    losses: [],
  },
  model: null,
  parameters: [{ name: 'w', type: 'float32', dims: [1], trainable: true }],
  optimizer: { type: 'sgd' },
  predict: ['logits'],
  memory: { stateBytes: 4, arenaBytes: 4, peakBytes: 4, lowerBoundBytes: 4, packedBytes: 0 },
};

/** A loss that does not say what it counts. @param {number} loss */
const unknown = (loss) => [loss, -1, 0];

export class FakeEngine {
  w = 1;
  gradient = 0;
  lr = 0.1;
  done = 0;
  position = [0, 0, 0, 0, 0];
  /** The first input value of each example, a batch an entry. @type {number[][]} */
  seen = [];
  /** @type {number[]} */
  rates = [];
  /** @type {number[]} */
  evalLosses = [];
  resets = 0;
  fit = '';
  /** @type {number | undefined} */
  kept;
  /** The page's, of the session around it. */
  fitPosition = new FitPosition();

  open() {}
  load() {
    return { info: INFO, properties: [], limits: { propertyName: 1024, propertyText: 1 << 24 }, fit: this.fit };
  }
  /** It has no features, which is all that a fit asks for. */
  describe() {
    return { features: [], inputs: [], evaluates: false };
  }

  getPosition() {
    return this.position;
  }
  setPosition(position) {
    this.position = position;
  }
  getSeed() {
    return 0;
  }
  steps() {
    return this.done;
  }
  getLearningRate() {
    return this.lr;
  }
  tell() {}
  setLearningRate(lr) {
    this.lr = lr;
  }
  setProperty() {}
  deleteProperty() {}
  copyOut() {
    return new Float32Array([this.w]);
  }
  copyIn({ bytes }) {
    [this.w] = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + 4));
  }
  optimize() {
    this.#learn();
  }

  best(what) {
    if (what === 'restore') this.w = this.kept;
    else this.kept = what === 'keep' ? Math.fround(this.w) : undefined;
  }

  dropGrad() {
    this.resetGrad();
  }

  resetGrad() {
    this.resets++;
    this.gradient = 0;
  }

  learn(feeds) {
    return this.step({ feeds, optimize: true }).loss;
  }

  step({ feeds, optimize, lr = this.lr, position, fetches = [] }) {
    this.lr = lr;
    const values = [...input(feeds)].filter((_, i) => i % 2 === 0);
    const loss = values.reduce((sum, x, i) => sum + x * (i + 1) * this.w, 0) / values.length;
    if (!Number.isFinite(loss)) throw new TrainletError('non-finite-loss', `the loss is ${loss}`);
    this.seen.push(values);
    this.gradient += Math.sin(loss);
    if (optimize) this.#learn();
    if (position) this.position = position;
    return { loss, counted: unknown(loss), outputs: fetches.length ? { logits: logits(feeds) } : {} };
  }

  run({ feeds }) {
    return { loss: { type: 'float32', data: new Float32Array([this.w]), dims: [] }, logits: logits(feeds) };
  }

  measure({ feeds }) {
    const loss = this.evalLosses.length ? this.evalLosses.shift() : this.w;
    return { loss: Math.fround(loss), counted: unknown(Math.fround(loss)), outputs: { logits: logits(feeds) } };
  }

  save({ fit = this.fitPosition.text } = {}) {
    return new TextEncoder().encode(
      JSON.stringify({ w: this.w, done: this.done, lr: this.lr, position: this.position, kept: this.kept, fit }),
    );
  }

  restore(bytes) {
    Object.assign(this, JSON.parse(new TextDecoder().decode(bytes)));
    this.fitPosition = new FitPosition(this.fit);
  }

  #learn() {
    this.w -= this.lr * this.gradient;
    this.gradient = 0;
    this.done++;
    this.rates.push(this.lr);
  }
}

/** @param {import('../../js/engine/protocol.js').PackedFeeds} feeds */
function input({ tensors, buffer }) {
  const { offset, bytes } = tensors.find(({ name }) => name === 'input');
  return new Float32Array(buffer, offset, bytes / 4);
}

/** The input itself. */
const logits = (feeds) => {
  const data = input(feeds);
  return { type: 'float32', data, dims: [data.length / 2, 2] };
};

/** A session as fit wants it, without worker. @param {FakeEngine} engine */
export const sessionOf = (engine, info = INFO) => ({
  ask: async (method, args) => engine[method](args),
  info,
  position: engine.fitPosition,
});

/** Examples (i + 1, −i − 1): class 0 by the logits. */
export function examples(n, labelOf = () => 0n) {
  return {
    inputs: {
      input: {
        type: 'float32',
        dims: [n, 2],
        data: Float32Array.from({ length: 2 * n }, (_, i) => (i % 2 ? -1 : 1) * (Math.floor(i / 2) + 1)),
      },
    },
    labels: { labels: { type: 'int64', dims: [n], data: BigInt64Array.from({ length: n }, (_, i) => labelOf(i)) } },
  };
}
