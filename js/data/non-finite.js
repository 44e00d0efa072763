/** Says what made a loss NaN or infinite: a parameter, an input or label of the data, else likely the learning rate. */

import { TrainletError } from '../base/errors.js';
import { numbersOf } from '../base/half-floats.js';
import { looksLikeTensor } from '../base/nested.js';
import { isArrays } from './dataset.js';
import { byName } from './unnamed.js';

/** @import { Dataset, Feeds, TensorLike } from '../types.js' */
/** @import { Ask, GraphInfo, SessionInfo } from '../engine/protocol.js' */

/** Inputs beyond it are often the reason. */
const LARGE = 100;
/** Errors whose reason is in their message. @type {WeakSet<TrainletError>} */
const explained = new WeakSet();

/**
 * Adds the reason to the message of an error of a loss that is not finite; others stay as they are.
 * @param {unknown} error @param {{ ask: Ask, info: SessionInfo }} session @param {Dataset | Feeds} given
 * @param {Feeds} [batch] of a stream
 * @returns {Promise<unknown>} the error
 */
export async function explain(error, { ask, info }, given, batch) {
  if (!(error instanceof TrainletError) || error.code !== 'non-finite-loss' || explained.has(error)) return error;
  explained.add(error);
  const { message } = error;
  const { inputs } = /** @type {GraphInfo} */ (info.train);
  const data = isArrays(given) ? { ...given, ...byName(given, inputs) } : given;
  error.message += `: ${await reasonOf(ask, info, data, batch)}`;
  error.stack = error.stack?.replace(message, () => error.message);
  return error;
}

/** @param {Ask} ask @param {SessionInfo} info @param {Dataset | Feeds} data @param {Feeds} [batch] of a stream */
async function reasonOf(ask, info, data, batch) {
  const isNegative = (/** @type {number} */ x) => x === -Infinity;
  const parameter = await oddParameter(ask, info);
  if (parameter) return parameter;
  for (const given of [data, ...(batch ? [batch] : [])]) {
    const tensor = oddTensor(given) ?? oddTensor(given, isNegative);
    if (tensor) return tensor;
  }
  return await advice(ask, data);
}

/** NaN, or infinity that is not −∞, which masks have. @param {number} x */
const isOdd = (x) => !(x < Infinity);

/** @param {Ask} ask @param {SessionInfo} info */
async function oddParameter(ask, { parameters }) {
  for (const [index, { name, trainable }] of parameters.entries()) {
    const value = /** @type {TensorLike | undefined} */ (await ask('getParameter', index).catch(() => undefined));
    const found = value && numbersIn(value).find(isOdd);
    if (found !== undefined) return `the ${trainable ? '' : 'frozen '}parameter '${name}' has ${found} in it`;
  }
  return undefined;
}

/**
 * Names the first tensor with such a number, and its row.
 * @param {Dataset | Feeds} data @param {(x: number) => boolean} [isSuch] default: NaN and infinity
 */
export function oddTensor(data, isSuch = isOdd) {
  for (const { where, name, tensor } of tensorsIn(data)) {
    const numbers = numbersIn(tensor);
    const at = numbers.findIndex(isSuch);
    if (at >= 0)
      return `'${name}' has ${numbers[at]} in ${where}row ${Math.floor(at / (numbers.length / tensor.dims[0]))}`;
  }
  return undefined;
}

/** @param {Ask} ask @param {Dataset | Feeds} data */
async function advice(ask, data) {
  const rate = await ask('getLearningRate', undefined).catch(() => undefined);
  const lower = `lower the learning rate${rate === undefined ? '' : `, ${rate}`}, or set clipGradNorm`;
  const tensors = tensorsIn(data).map(({ name, tensor }) => ({ name, size: sizeOf(tensor) }));
  if (!tensors.length) return `the parameters are finite: look for NaN in the data, ${lower}`;
  const largest = tensors.reduce((a, b) => (b.size > a.size ? b : a));
  const scale =
    largest.size > LARGE
      ? `scale '${largest.name}', which reaches ${Number(largest.size.toPrecision(3))}, to about 1, `
      : '';
  return `parameters and data are finite: ${scale}${lower}`;
}

/** The largest magnitude. @param {TensorLike} tensor */
const sizeOf = (tensor) => numbersIn(tensor).reduce((most, x) => Math.max(most, Math.abs(x)), 0);

/** Floats of any type; nothing of others. @param {TensorLike} tensor @returns {Float32Array} */
const numbersIn = ({ type, data }) =>
  /** @type {any} */ (
    /float/.test(type) && ArrayBuffer.isView(data) ? numbersOf(/** @type {any} */ ({ type, data })) : []
  );

/**
 * The tensors of whole arrays, of feeds or of a list of feeds; none of a stream.
 * @param {any} data @returns {{ where: string, name: string, tensor: TensorLike }[]}
 */
function tensorsIn(data) {
  if (isArrays(data)) return tensorsIn({ ...data.inputs, ...data.labels, sampleWeight: data.sampleWeight });
  if (Array.isArray(data))
    return data.flatMap((feeds, i) =>
      tensorsIn(feeds).map((found) => ({ ...found, where: `batch ${i}, ${found.where}` })),
    );
  return Object.entries(Object(data)).flatMap(([name, tensor]) =>
    looksLikeTensor(tensor) ? { where: '', name, tensor: /** @type {TensorLike} */ (tensor) } : [],
  );
}
