/** A person's examples: which class each is of, which are held out, and what of other samples goes beside them. */

import { invalid } from '../base/errors.js';
import { concatRows, takeRows } from '../base/rows.js';
import { Tensor } from '../base/tensor.js';
import { permutation } from './dataset.js';
import { oddTensor } from './non-finite.js';
import { drawRows } from './split.js';
import { nameAlone, nameInputs, tensorsIn } from './unnamed.js';

/** @import { Feeds, FineTuneData, FineTuneOptions, TensorLike } from '../types.js' */
/** @import { TrainingSession } from '../session/training.js' */
/** @typedef {{ inputs: Record<string, TensorLike>, labels: number[] }} Examples labels are indices of classes */

/** The most samples of `replay` on which old and new weights are compared. */
const JUDGED = 500;
/** Examples of an epoch with replay; a user's example is repeated REPEATS times at most. */
const EPOCH = 640;
const REPEATS = 8;

/**
 * The classes of a model that keeps its outputs.
 * @param {TrainingSession} session @param {readonly string[]} [named]
 */
export function ownClasses({ classNames, trainingInputs }, named) {
  const count = trainingInputs.find(({ labels }) => labels)?.labels?.classes;
  if (named && named.length !== (count ?? named.length))
    throw invalid(`fineTune: the model has ${count} classes, and classes are ${named.join(', ')}`);
  if (!named && !classNames && !count)
    throw invalid('fineTune: how many classes the model has must be said by classes');
  return named ?? classNames ?? Array.from({ length: Number(count) }, (_, i) => String(i));
}

/** @param {FineTuneData} data @param {readonly string[]} [classes] */
export function classesOf(data, classes) {
  const names = classes ?? [...new Set(labelsIn('fineTune: data', data))];
  const areNames = Array.isArray(names) && names.every((name) => typeof name === 'string');
  if (!areNames) throw invalid('fineTune: labels are names, or indices of the classes that the option classes names');
  if (names.length < 2)
    throw invalid(`fineTune: there must be two classes at least, there is ${names.join() || 'none'}`);
  return /** @type {string[]} */ ([...names]);
}

/** @param {string} where @param {FineTuneData} data @returns {(string | number)[]} */
function labelsIn(where, data) {
  const labels = data?.labels;
  const values =
    Array.isArray(labels) || ArrayBuffer.isView(labels) ? labels : tensorIn(/** @type {Feeds | undefined} */ (labels));
  const list = ArrayBuffer.isView(values) ? Array.from(/** @type {any} */ (values), Number) : values;
  if (!Array.isArray(list) || !list.length)
    throw invalid(`${where} are { inputs, labels }, with a list of one label for each example`);
  return list.map((label) => (typeof label === 'bigint' ? Number(label) : label));
}

/** The elements of the one tensor of a data set's labels. @param {Feeds} [labels] */
function tensorIn(labels) {
  const tensors = tensorsIn(labels);
  return tensors.length === 1 ? tensors[0]?.data : undefined;
}

/**
 * @param {string} where @param {FineTuneData} data @param {readonly string[]} classes @param {TrainingSession} session
 * @returns {Examples}
 */
export function examplesOf(where, data, classes, session) {
  const labels = labelsIn(where, data).map((label, row) => {
    const at = typeof label === 'string' ? classes.indexOf(label) : label;
    if (Number.isInteger(at) && at >= 0 && at < classes.length) return at;
    throw invalid(`${where}: the label ${JSON.stringify(label)} in row ${row} is none of ${classes.join(', ')}`);
  });
  const inputs = nameInputs(session, data.inputs ?? {});
  for (const [name, tensor] of Object.entries(inputs))
    if (tensor?.dims?.[0] !== labels.length)
      throw invalid(
        `${where}: input '${name}' has ${tensor?.dims?.[0] ?? 'no'} rows, and there are ${labels.length} labels`,
      );
  if (!Object.keys(inputs).length) throw invalid(`${where} have no inputs`);
  const odd = oddTensor(inputs);
  if (odd) throw invalid(`${where}: ${odd}`);
  return { inputs, labels };
}

/** @param {Examples} examples @param {ArrayLike<number>} rows @returns {Examples} */
function pick({ inputs, labels }, rows) {
  const tensors = Object.entries(inputs).map(([name, tensor]) => [name, takeRows(tensor, rows)]);
  return { inputs: Object.fromEntries(tensors), labels: Array.from(rows, (row) => labels[row]) };
}

/**
 * Leaves out the examples that equal one of these samples; `rows` counts them.
 * @param {string} where @param {FineTuneData} data @param {readonly { inputs: Record<string, TensorLike> }[]} samples
 */
export function leaveOut(where, data, samples) {
  const [labels, { inputs: given, ...rest }] = [labelsIn(where, data), /** @type {any} */ (data)];
  const names = Object.keys(samples[0]?.inputs ?? {});
  const inputs = samples.length ? nameAlone('inputs', given, names) : given;
  const stay = labels.flatMap((_, row) => (samples.some((sample) => isRow(inputs, row, sample.inputs)) ? [] : row));
  const rows = labels.length - stay.length;
  return {
    rows,
    data: stay.length ? { ...rest, ...pick({ inputs, labels: /** @type {any} */ (labels) }, stay) } : undefined,
  };
}

/**
 * @param {Record<string, TensorLike>} inputs @param {number} row @param {Record<string, TensorLike>} sample of one row
 */
const isRow = (inputs, row, sample) =>
  Object.entries(inputs).every(([name, { data }]) => {
    const [all, own] = [/** @type {any} */ (data), /** @type {any} */ (sample[name]?.data)];
    return own?.every((/** @type {unknown} */ x, /** @type {number} */ i) => Object.is(x, all[row * own.length + i]));
  });

/** @param {Examples} a @param {Examples} b @returns {Examples} */
export function join(a, b) {
  const tensors = Object.entries(a.inputs).map(([name, tensor]) => {
    const other = b.inputs[name];
    if (!other || String(other.dims.slice(1)) !== String(tensor.dims.slice(1)) || other.type !== tensor.type)
      throw invalid(`fineTune: replay: input '${name}' is not of the type and shape that the data have`);
    return [name, concatRows([tensor, other])];
  });
  return { inputs: Object.fromEntries(tensors), labels: [...a.labels, ...b.labels] };
}

/**
 * Holds out a random share of each class; fewer than five examples are all kept.
 * @param {Examples} all @param {number} share @param {number} seed
 * @returns {[Examples, Examples | undefined]}
 */
export function split(all, share, seed) {
  const [kept, held] = drawRows(all.labels, share, seed);
  return [pick(all, kept), held.length ? pick(all, held) : undefined];
}

/**
 * Splits the replay samples: some are learned beside the user's, the others judge. With the model's own outputs,
 * both are repeated if an epoch would be short, for augmentation changes them; with a new head
 * their features would be the same.
 * @param {FineTuneOptions} options @param {readonly string[]} classes @param {Examples} train @param {number} seed
 * @param {TrainingSession} session
 */
export function replayOf({ replay, head }, classes, train, seed, session) {
  const { ratio = 0.5, ...data } = /** @type {NonNullable<FineTuneOptions['replay']>} */ (replay);
  if (!(ratio >= 0 && ratio < 1)) throw invalid(`fineTune: replay: ratio is a number below 1, not ${ratio}`);
  const all = examplesOf('fineTune: replay', data, classes, session);
  const order = permutation(all.labels.length, seed, 1);
  const judged = Math.min(JUDGED, Math.ceil(all.labels.length / 2));
  const rest = order.subarray(judged);
  const mine = train.labels.length;
  const goesOn = head === false;
  const repeats = goesOn ? Math.min(REPEATS, Math.max(1, Math.round((EPOCH * (1 - ratio)) / mine))) : 1;
  const wanted = Math.round((repeats * mine * ratio) / (1 - ratio));
  const count = goesOn && rest.length ? wanted : Math.min(wanted, rest.length);
  const repeated = Int32Array.from({ length: repeats * mine }, (_, i) => i % mine);
  const known = Int32Array.from({ length: count }, (_, i) => rest[i % rest.length]);
  return { judged: pick(all, order.subarray(0, judged)), learned: join(pick(train, repeated), pick(all, known)) };
}

/** Converts examples to the data set that `fit` and `evaluate` take. @param {Examples} examples */
export const fed = ({ inputs, labels }) => ({
  inputs: /** @type {Feeds} */ (inputs),
  labels: { labels: new Tensor('int64', BigInt64Array.from(labels, BigInt)) },
});
