// A person's life, in Node or in a page: samples are added, labelled and deleted, fineTune learns from them with a save
// after every step, one of them is forgotten, and all begins anew; it goes on from what it finds, until it is killed.
import { batchUnit } from '../support/recipe.js';
import { hex, KEEP } from './life.js';

export { KEEP };
export const NAME = 'person';
const CLASSES = ['ring', 'cross', 'bar'];
const EACH = 5;
const SAMPLES = CLASSES.length * EACH;
/** Number of people, one after the other. */
export const PEOPLE = 2;
/** The example that is forgotten, and one that is added by mistake. */
const [FORGOTTEN, MISTAKE] = [4, 90];
/** Samples without a label that say how far a life is. */
const MARKS = { forgetting: 91, clearing: 92 };

/** @param {number} who @param {number} n */
const pictureOf = (who, n) =>
  Float32Array.from(
    { length: 784 },
    (_, i) => batchUnit(7 + (n % CLASSES.length), i) / 2 + batchUnit(100 * who + n, i) / 2,
  );

/** @param {typeof import('../../js/index.js')} trainlet @param {number} who @param {number} n */
export const sampleOf = ({ Tensor }, who, n) => ({
  inputs: { input: new Tensor('float32', pictureOf(who, n), [1, 1, 28, 28]) },
  label: n < SAMPLES && n % 3 ? CLASSES[n % CLASSES.length] : null,
  meta: { who, n },
});

/** Options of fineTune. @param {object} checkpoint */
export const optionsOf = (checkpoint) => ({
  classes: CLASSES,
  epochs: 6,
  lastLayers: 1,
  batchSize: 4,
  engine: { threads: 1, reproducible: true },
  checkpoint,
});

/**
 * The samples that fineTune is to learn from. @param {object} trainlet @param {number} who @param {number} [without]
 */
export function dataOf({ Tensor }, who, without) {
  const all = Array.from({ length: SAMPLES }, (_, n) => n).filter((n) => n !== without);
  const input = new Float32Array(all.length * 784);
  all.forEach((n, i) => input.set(pictureOf(who, n), i * 784));
  return {
    inputs: { input: new Tensor('float32', input, [all.length, 1, 28, 28]) },
    labels: all.map((n) => CLASSES[n % CLASSES.length]),
  };
}
export const WITHOUT = FORGOTTEN;

/** Content of both stores. */
async function look(samples, checkpoints) {
  const listed = await samples.list();
  const there = [];
  for (const { id } of listed) {
    const { label, meta, inputs } = await samples.get(id);
    there.push({ id, label, ...meta, whole: pictureOf(meta.who, meta.n).every((x, i) => x === inputs.input.data[i]) });
  }
  const versions = [];
  for (const { version } of await checkpoints.versions(NAME)) {
    const { bytes, skipped } = await checkpoints.load(NAME, { version });
    versions.push({ version, hash: await hex(bytes), skipped: skipped.length });
  }
  return { there, versions };
}

/**
 * @typedef {object} Events what is told, in order; what may be lost is told before it is done
 * @property {Awaited<ReturnType<typeof look>>} [found]
 * @property {{ id?: string, n?: number, label?: string | null, gone?: boolean, version?: number, hash?: string,
 * isFirst?: boolean }} [saved] acknowledged; the first of a fineTune, or one that goes on
 * @property {{ id: string, to?: string | null }} [changing]
 * @property {true} [clearing] all checkpoints
 * @property {{ who: number, without?: number, hash: string, left?: string[] }} [tuned]
 */

/**
 * @param {typeof import('../../js/index.js')} trainlet
 * @param {{ model: Uint8Array, samples: any, checkpoints: any, tell: (event: Events) => Promise<void> }} place
 */
export async function livePerson(trainlet, { model, samples, checkpoints, tell }) {
  const found = await look(samples, checkpoints);
  await tell({ found });
  const store = {
    load: (...given) => checkpoints.load(...given),
    versions: (...given) => checkpoints.versions(...given),
    delete: (...given) => checkpoints.delete(...given),
    save: async (name, bytes, meta) => {
      const version = await checkpoints.save(name, bytes, meta);
      tell({ saved: { version, hash: await hex(bytes), isFirst: meta.step === 1 && !meta.fineTune.phase } });
      return version;
    },
  };
  const options = optionsOf({ store, name: NAME, everySteps: 1 });
  const add = async (who, n) => {
    const sample = sampleOf(trainlet, who, n);
    const id = await samples.add(sample);
    tell({ saved: { id, n, label: sample.label } });
  };
  const remove = async (id) => {
    await tell({ changing: { id } });
    await samples.delete(id);
    tell({ saved: { id, gone: true } });
  };
  const label = async (id, to) => {
    await tell({ changing: { id, to } });
    await samples.label(id, to);
    tell({ saved: { id, label: to } });
  };
  const told = async ({ session, report }, more) => {
    const hash = await hex(await session.saveCheckpoint());
    await session.release();
    await tell({ tuned: { hash, left: report.forgotten?.left, ...more } });
  };
  for (;;) {
    const listed = await samples.list();
    const who = listed[0]?.meta.who ?? Math.floor(Math.random() * PEOPLE);
    const by = new Map((await samples.list()).map((one) => [one.meta.n, one]));
    if (!by.has(MARKS.forgetting) && !by.has(MARKS.clearing)) {
      for (let n = 0; n < SAMPLES; n++) {
        if (!by.has(n)) await add(who, n);
        if (n === 8 && !by.has(MISTAKE)) await add(who, MISTAKE);
      }
      for (const { id, label: has, meta } of await samples.list()) {
        if (meta.n === MISTAKE) await remove(id);
        else if (has === null) await label(id, CLASSES[meta.n % CLASSES.length]);
      }
      await told(await trainlet.fineTune(model, await samples.dataset({ classes: CLASSES }), options), { who });
      await add(who, MARKS.forgetting);
    }
    const now = await samples.list();
    if (!by.has(MARKS.clearing)) {
      const { id } = now.find(({ meta }) => meta.n === FORGOTTEN) ?? { id: '0'.repeat(20) }; // it is gone already
      await tell({ clearing: true });
      await tell({ changing: { id } });
      await told(await trainlet.forgetSamples(model, samples, id, options), { who, without: FORGOTTEN });
      await add(who, MARKS.clearing);
    }
    await tell({ clearing: true });
    await checkpoints.delete(NAME);
    const last = Object.values(MARKS);
    const order = (await samples.list()).sort((a, b) => last.indexOf(a.meta.n) - last.indexOf(b.meta.n));
    for (const { id } of order) await remove(id);
  }
}
