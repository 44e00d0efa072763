// The network: digits.onnx made trainable in a worker, its readings and scores, its saving and its export.
import { generateArtifacts, Tensor, TrainingSession } from '../js/index.js';
import { PIXELS, SIZE } from './preprocess.js';

const NAME = 'digits';
const AT_ONCE = 100; // images read in one message, so that a live reading never waits long behind a score

/** @typedef {import('./replay.js').Sample} Sample */

export class Network {
  session;

  constructor(session) {
    this.session = session;
  }

  /** As it was last saved, or else as it came. @param {import('../js/index.js').CheckpointStore | undefined} store */
  static async open(store) {
    const saved = await store?.load(NAME);
    const artifacts = await generateArtifacts(new URL('digits.onnx', import.meta.url), {
      loss: 'cross-entropy',
      optimizer: 'adam',
    });
    return new Network(
      await TrainingSession.create(saved ? { ...artifacts, checkpointState: saved.bytes } : artifacts),
    );
  }

  /**
   * @param {Uint8Array} pixels
   * @param {number} classes  how many of them to choose among
   * @returns {Promise<number[]>} probabilities
   */
  async read(pixels, classes) {
    const [logits] = await this.#logits([{ label: 0, pixels }]);
    return softmax(logits.subarray(0, classes));
  }

  /** The class read in each. @param {Sample[]} samples @param {number} classes */
  async readAll(samples, classes) {
    const read = [];
    for (let i = 0; i < samples.length; i += AT_ONCE)
      for (const logits of await this.#logits(samples.slice(i, i + AT_ONCE))) {
        const seen = logits.subarray(0, classes);
        read.push(seen.indexOf(Math.max(...seen)));
      }
    return read;
  }

  /** The share read correctly. @param {ReturnType<typeof feedsOf>} test */
  async score(test) {
    const { accuracy } = await this.session.evaluate(test, { batchSize: AT_ONCE, metrics: ['accuracy'] });
    return accuracy;
  }

  async #logits(samples) {
    const { logits } = await this.session.predict(feedsOf(samples).inputs);
    const data = /** @type {Float32Array} */ (logits.data),
      width = logits.dims[1];
    return samples.map((_, i) => data.subarray(i * width, (i + 1) * width));
  }

  /** Steps trained here; saved with the network, so that the two never disagree. */
  get steps() {
    return Number(this.session.properties.get('steps') ?? 0);
  }
  set steps(count) {
    this.session.properties.set('steps', BigInt(count));
  }

  checkpoint(store) {
    return store && { store, name: NAME };
  }
  export() {
    return this.session.exportModel();
  }
  release() {
    return this.session.release();
  }
  static async forget(store) {
    await store?.delete(NAME);
  }
}

/** @param {Sample[]} samples */
export function feedsOf(samples) {
  const input = new Float32Array(samples.length * PIXELS);
  samples.forEach(({ pixels }, i) =>
    input.set(
      Float32Array.from(pixels, (grey) => grey / 255),
      i * PIXELS,
    ),
  );
  return feeds(
    input,
    samples.map((s) => s.label),
  );
}

/** @param {Float32Array} input @param {number[]} labels */
export function feeds(input, labels) {
  return {
    inputs: { input: new Tensor('float32', input, [labels.length, 1, SIZE, SIZE]) },
    labels: { labels: new Tensor('int64', BigInt64Array.from(labels, BigInt), [labels.length]) },
  };
}

function softmax(logits) {
  const top = Math.max(...logits),
    powers = Array.from(logits, (v) => Math.exp(v - top));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((v) => v / sum);
}
