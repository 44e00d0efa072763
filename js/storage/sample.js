/** One sample: its tensors in one buffer, and beside them a record of JSON that says what they are. */

import { checkKeys, invalid, nameOf } from '../base/errors.js';
import { arrayOf, check, pack, sizeOf, Tensor } from '../base/tensor.js';

/** @import { NumberType, Sample, TensorLike } from '../types.js' */
/** @import { Taken } from '../base/tensor.js' */

/**
 * @typedef {{ name: string, type: NumberType, dims: number[], offset: number, bytes: number }} Part
 * @typedef {{ label: string | null, meta: Record<string, unknown>, inputs: Part[] }} Noted
 */

export const ID = /^[0-9a-f]{20}$/;
/** Limits of a label, and of a sample's meta as JSON, in characters. */
const [LABEL_MOST, META_MOST] = [200, 65_536];

let last = 0;

/** Ids sort as they were made: the time, of which each moment is given once here, and what tells two makers apart. */
export function newId() {
  last = Math.max(Date.now(), last + 1);
  const random = crypto.getRandomValues(new Uint32Array(1))[0];
  return last.toString(16).padStart(12, '0') + random.toString(16).padStart(8, '0');
}

/** @param {string} id */
export const timeOf = (id) => new Date(Number.parseInt(id.slice(0, 12), 16));

/** @param {unknown} id */
export function checkId(id) {
  if (typeof id !== 'string' || !ID.test(id)) throw invalid(`a sample's id is what add gave, not ${nameOf(id)}`);
}

/** @param {unknown} label @returns {string | null} */
export function checkLabel(label) {
  if (label === undefined || label === null) return null;
  const fits = typeof label === 'string' && label !== '' && label.length <= LABEL_MOST && !/\p{Cs}/u.test(label);
  if (fits) return label;
  throw invalid(
    `a label is the name of a class, a string of 1 to ${LABEL_MOST} characters, or null, not ${nameOf(label)}`,
  );
}

/** @param {unknown} meta @returns {Record<string, unknown>} a copy */
function checkMeta(meta) {
  checkKeys('meta', /** @type {object} */ (meta), Object.keys(meta ?? {}));
  try {
    const text = JSON.stringify(meta);
    if (text.length > META_MOST) throw new Error(`it has ${text.length} characters, and may have ${META_MOST}`);
    return JSON.parse(text);
  } catch (error) {
    throw invalid(`meta must be what JSON can hold: ${/** @type {Error} */ (error).message}`);
  }
}

/**
 * A copy of what is to be kept, made at once.
 * @param {Sample} sample
 * @returns {{ record: Noted, bytes: Uint8Array<ArrayBuffer> }}
 */
export function packSample(sample) {
  checkKeys('SampleStore.add', sample, ['inputs', 'label', 'meta']);
  const { inputs, label, meta = {} } = sample ?? {};
  if (typeof inputs !== 'object' || inputs === null || !Object.keys(inputs).length)
    throw invalid('a sample needs inputs, tensors by name, as { inputs: { x: await Tensor.fromImage(picture) } }');
  const taken = Object.entries(inputs).map(([name, value]) => takeInput(name, value));
  const { tensors, buffer } = pack(taken);
  const record = { label: checkLabel(label), meta: checkMeta(meta), inputs: /** @type {Part[]} */ (tensors) };
  return { record, bytes: new Uint8Array(buffer) };
}

/** @param {string} name @param {TensorLike} value @returns {[string, Taken]} */
function takeInput(name, value) {
  const taken = check(`input '${name}' of the sample`, value);
  if (taken.type === 'string') throw invalid(`input '${name}' of the sample is of strings; samples are numbers`);
  if (taken.dims[0] === 1) return [name, taken];
  throw invalid(
    `input '${name}' of the sample is [${taken.dims}]; one sample has 1 as its first dim, as Tensor.fromImage gives it`,
  );
}

/** @param {Noted} record @param {Uint8Array} bytes */
export function unpackSample({ inputs }, bytes) {
  const copy = new Uint8Array(bytes);
  const tensors = inputs.map(({ name, type, dims, offset }) => {
    const data = new (arrayOf(type))(copy.buffer, offset, sizeOf(dims));
    return [name, new Tensor(type, data, dims)];
  });
  return Object.fromEntries(tensors);
}

/**
 * True if an untrusted record describes so many bytes.
 * @param {any} record
 * @param {number} bytes
 * @returns {record is Noted}
 */
export function isRecord(record, bytes) {
  try {
    checkLabel(record.label);
    checkMeta(record.meta);
    /** @type {Part[]} */
    const parts = record.inputs;
    return parts.length > 0 && parts.every((part) => isPart(part, bytes)) && areApart(parts);
  } catch {
    return false;
  }
}

/** Inputs with names of their own, whose bytes do not overlap. @param {Part[]} parts */
function areApart(parts) {
  const endOf = (/** @type {Part} */ { offset, type, dims }) => offset + arrayOf(type).BYTES_PER_ELEMENT * sizeOf(dims);
  const sorted = [...parts].sort((a, b) => a.offset - b.offset || endOf(a) - endOf(b));
  const overlap = sorted.some((part, i) => i > 0 && endOf(sorted[i - 1]) > part.offset);
  return !overlap && new Set(parts.map(({ name }) => name)).size === parts.length;
}

/** @param {any} part @param {number} end */
function isPart({ name, type, dims, offset }, end) {
  if (typeof name !== 'string' || !arrayOf(type) || dims[0] !== 1) return false;
  const width = arrayOf(type).BYTES_PER_ELEMENT;
  const whole = [...dims, offset].every((value) => Number.isSafeInteger(value) && value >= 0);
  return whole && offset % width === 0 && offset + width * sizeOf(dims) <= end;
}
