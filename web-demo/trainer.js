// Training with the calls of lesson.js: the weights of classes that were known, practice beside digits, and a gate that
// lets nothing worse through.
import { compactArtifacts, Tensor, TrainingSession } from '../js/index.js';
import * as lesson from './lesson.js';

export const DIGITS = [...'0123456789'];
const ROWS = 640; // images an epoch
const OWN = 0.25; // the share of them that are the person's; the rest are digits, so that those are not forgotten
/** @type {import('../js/types.js').FitOptions['augment']} How hands differ from one moment to the next. */
export const HANDS = [
  { type: 'shift', x: 0.06, y: 0.06 },
  { type: 'rotate', degrees: 9 },
  { type: 'crop', least: 0.9 },
];
const DROP = 0.01; // share of the digits that may be forgotten

/** @typedef {{ label: string, pixels: Uint8Array }} Image  28×28 greys and the name of its class */

/** The network as it came, or one that was saved; `checkpointState` is a later state of it.
 * @param {Uint8Array} [saved] @param {Uint8Array} [checkpointState] */
export function open(saved, checkpointState) {
  const compact = saved ?? new URL('digits.compact', import.meta.url);
  return TrainingSession.create(checkpointState ? { compact, checkpointState } : { compact });
}

/** Another session, for more classes: it knows what this one knows. @param {TrainingSession} session
 * @param {readonly string[]} classes @returns {Promise<{ session: TrainingSession, compact: Uint8Array }>} */
export async function widen(session, classes) {
  const { artifacts, session: wide } = await lesson.withClasses(await session.exportModel(), classes);
  for (const name of ['head.weight', 'head.bias']) {
    const [known, { type, data, dims }] = [await session.getParameter(name), await wide.getParameter(name)];
    const row = data.length / classes.length;
    classes.forEach((label, i) => {
      const at = session.classNames.indexOf(label);
      data.fill(0, i * row, (i + 1) * row);
      if (at >= 0) data.set(known.data.subarray(at * row, (at + 1) * row), i * row);
    });
    await wide.setParameter(name, new Tensor(type, data, dims));
  }
  return { session: wide, compact: await save(wide, artifacts) };
}

/** All of a network in one file. @param {TrainingSession} session */
export const save = async (session, artifacts) =>
  compactArtifacts({ ...artifacts, checkpointState: await session.saveCheckpoint({ optimizerState: false }) });

/** The rows of an epoch. `rehearse`: digits too; `wrong`: everything under the name of the next class.
 * @param {Image[]} own @param {Image[]} digits @param {readonly string[]} classes */
export function practice(own, digits, classes, { rehearse = true, wrong = false }) {
  const ownRows = own.length ? (rehearse ? ROWS * OWN : ROWS) : 0;
  const images = Array.from({ length: ROWS }, (_, i) =>
    i < ownRows ? own[i % own.length] : digits[i % digits.length],
  );
  const named = wrong ? (label) => classes[(classes.indexOf(label) + 1) % classes.length] : (label) => label;
  return examples(
    images.map(({ label, pixels }) => ({ label: named(label), pixels })),
    classes,
  );
}

/** Images in the form that `fit` and `evaluate` take. @param {Image[]} images @param {readonly string[]} classes */
export function examples(images, classes) {
  const labels = BigInt64Array.from(images, ({ label }) => BigInt(classes.indexOf(label)));
  return {
    inputs: { input: new Tensor('float32', numbers(images), [images.length, 1, 28, 28]) },
    labels: { labels: new Tensor('int64', labels) },
  };
}

/** Greys from 0 to 1. @param {Image[]} images */
function numbers(images) {
  const greys = new Float32Array(images.length * 784);
  let at = 0;
  for (const { pixels } of images) for (const grey of pixels) greys[at++] = grey / 255;
  return greys;
}

/** Probabilities of the classes for each image. @param {TrainingSession} session @param {Image[]} images */
export async function read(session, images) {
  if (!images.length) return [];
  const shares = await lesson.read(session, numbers(images));
  const width = session.classNames.length;
  return images.map((_, i) => [...shares.subarray(i * width, (i + 1) * width)]);
}

/** The gate: why the new weights are not taken, if so. Shares of the drawings kept aside and of unseen digits. */
export function refusal(before, after) {
  if (before.digits - after.digits > DROP) return `it would forget digits, ${said(before.digits, after.digits)}`;
  if (after.aside < before.aside) return `it would read your drawings worse, ${said(before.aside, after.aside)}`;
  return undefined;
}

const said = (...shares) => shares.map((share) => `${(100 * share).toFixed(1)} %`).join(' → ');
