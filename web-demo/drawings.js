// The person's drawings: each is kept in a SampleStore as soon as it is added; every third of a class is kept aside to
// test with.
import { SampleStore, Tensor } from '../js/index.js';
import { rasterize, SIZE } from './preprocess.js';

const ASIDE_EVERY = 3;

/** @typedef {{ id: string, label: string, aside: boolean, strokes: import('./preprocess.js').Stroke[],
 *   pixels: Uint8Array, reads?: string }} Drawing  `reads` is what the network reads in it */

export class Drawings {
  /** Oldest first. @type {Drawing[]} */ list = [];
  #samples;

  /** @param {SampleStore | undefined} samples  without it, nothing outlives the page */
  constructor(samples) {
    this.#samples = samples;
  }

  static async open() {
    const samples = await SampleStore.open({ name: 'digits', maxSamples: 1000 }),
      drawings = new Drawings(samples);
    for (const { id } of await samples.list()) {
      const { label, meta, inputs } = await samples.get(id);
      drawings.list.push({ id, label, ...meta, pixels: inputs.input.data });
    }
    return drawings;
  }

  /** Their names, in the order in which they came. */
  get labels() {
    return [...new Set(this.list.map(({ label }) => label))];
  }
  get practised() {
    return this.list.filter(({ aside }) => !aside);
  }
  of(label) {
    return this.list.filter((drawing) => drawing.label === label);
  }

  /** @param {import('./preprocess.js').Stroke[]} strokes @param {string} label */
  async add(strokes, label) {
    const pixels = rasterize(strokes),
      aside = this.of(label).length % ASIDE_EVERY === ASIDE_EVERY - 1,
      meta = { aside, strokes: thinned(strokes) };
    const inputs = { input: new Tensor('uint8', pixels, [1, 1, SIZE, SIZE]) },
      id = (await this.#samples?.add({ inputs, label, meta })) ?? crypto.randomUUID();
    this.list.push({ id, label, ...meta, pixels });
    return this.list.at(-1);
  }

  /** @param {string} id */
  async forget(id) {
    await this.#samples?.delete(id);
    this.list = this.list.filter((drawing) => drawing.id !== id);
  }

  async forgetAll() {
    for (const { id } of [...this.list]) await this.forget(id);
  }
}

/** Three digits are enough, and a few hundred points. */
function thinned(strokes) {
  const points = strokes.reduce((sum, stroke) => sum + stroke.length, 0),
    every = Math.ceil(points / 600);
  return strokes.map((stroke) =>
    stroke.filter((_, i) => i % every === 0 || i === stroke.length - 1).map((point) => point.map((v) => +v.toFixed(3))),
  );
}
