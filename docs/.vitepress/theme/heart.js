/** The landing's network: it reads digits, and learns a heart from five drawings, with the modules of the demo. */

const HEART = '♥';
/** Less than the demo's lesson, at a higher rate: a second, in which it learns a heart and keeps its digits. */
const LESSON = { epochs: 3, batchSize: 32, seed: 1, schedule: { type: 'cosine', lr: 2e-3, warmup: 10 } };

/** The demo's modules, which the site holds beside its pages. @param {string} folder its address, with a slash */
export async function loadDemo(folder) {
  const files = ['pad.js', 'preprocess.js', 'trainer.js', 'replay.js'];
  const modules = await Promise.all(files.map((file) => import(/* @vite-ignore */ `${folder}${file}`)));
  return Object.assign({}, ...modules);
}

export class HeartLearner {
  /** Drawings of hearts, 28 × 28 greys each. @type {Uint8Array[]} */ drawings = [];
  #demo;
  #session;
  #wide;
  #digits;

  /** @param {Awaited<ReturnType<typeof loadDemo>>} demo */
  constructor(demo) {
    this.#demo = demo;
  }

  async open() {
    this.#session = await this.#demo.open();
  }

  /** The most probable class of a drawing, and its probability. @param {Uint8Array} pixels */
  async read(pixels) {
    const session = this.#session;
    const [shares] = await this.#demo.read(session, [{ label: '', pixels }]);
    const share = Math.max(...shares);
    return { name: session.classNames[shares.indexOf(share)], share };
  }

  /** The first drawing prepares the lesson: a network with one more class, and digits to rehearse. */
  add(pixels) {
    this.drawings.push(pixels);
    this.#prepare();
  }

  #prepare() {
    const { DIGITS, loadReplay, widen } = this.#demo;
    this.#wide ??= widen(this.#session, [...DIGITS, HEART]);
    this.#digits ??= loadReplay();
    for (const promise of [this.#wide, this.#digits]) promise.catch(() => {}); // learn() reports it
  }

  /** @param {(share: number) => void} progress @returns {Promise<number>} milliseconds that it took */
  async learn(progress) {
    const since = performance.now();
    this.#prepare();
    const [{ session }, { practice }] = await Promise.all([this.#wide, this.#digits]);
    const hearts = this.drawings.map((pixels) => ({ label: HEART, pixels }));
    const before = this.#session;
    this.#session = session; // what it reads changes while it learns
    await session.fit(this.#demo.practice(hearts, practice, session.classNames, {}), {
      ...LESSON,
      augment: this.#demo.HANDS,
      onBatch: ({ step, steps }) => progress(step / steps),
    });
    await before.release();
    return performance.now() - since;
  }

  async release() {
    const wide = await this.#wide?.catch(() => undefined);
    await Promise.all([...new Set([this.#session, wide?.session])].map((session) => session?.release().catch(() => {})));
  }
}
