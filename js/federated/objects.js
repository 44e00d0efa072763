/**
 * Flower's objects: records and arrays as bytes that are named by their SHA-256. An object is
 * `Class SPACE ids of its children, with commas, SPACE length of the body`, a zero byte, and the body.
 */

import { checksum } from '../base/checksum.js';
import { invalid, TrainletError } from '../base/errors.js';
import { concatBytes } from '../base/rows.js';
import {
  ConfigRecord as ConfigFields,
  decode,
  encode,
  Message as MessageFields,
  MetricRecord as MetricFields,
} from './messages.js';
import { readNpy, writeNpy } from './npy.js';

/** @typedef {{ dims: readonly number[], data: Float32Array }} Values */
/** @typedef {Map<string, Values>} Arrays by name */
/** @typedef {Record<string, number | bigint | string | boolean>} Config */
/** @typedef {{ id: string, bytes: Uint8Array, children: Sealed[] }} Sealed */
/** @typedef {Map<string, Uint8Array>} Contents the bytes of objects by id */

/** Flower cuts the bytes of arrays in such pieces. */
const CHUNK = 5 * 1024 * 1024;
const NUMPY = 'numpy.ndarray';
const ID = /^[0-9a-f]{64}$/;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

/** @param {string} message */
const bad = (message) => new TrainletError('source-unreadable', `the SuperLink sent ${message}`);

/** @param {unknown} id @returns {id is string} */
export const isId = (id) => typeof id === 'string' && ID.test(id);

/** The id of an object. @param {Uint8Array} bytes */
export async function idOf(bytes) {
  const sum = await checksum(bytes);
  if (!sum)
    throw new TrainletError('unsupported-browser', 'crypto.subtle is missing: a page needs HTTPS, or localhost');
  return Array.from(sum, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** JSON with the spaces and escapes of Python's json.dumps. @param {unknown} value @returns {string} */
function pythonJson(value) {
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(', ')}]`;
  if (value && typeof value === 'object')
    return `{${Object.entries(value)
      .map(([key, inner]) => `${pythonJson(key)}: ${pythonJson(inner)}`)
      .join(', ')}}`;
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** @param {[string, unknown][]} entries whose order stays, also of names that are numbers */
const pythonDict = (entries) =>
  encoder.encode(`{${entries.map(([key, value]) => `${pythonJson(key)}: ${pythonJson(value)}`).join(', ')}}`);

/** @param {string} type @param {Sealed[]} children @param {Uint8Array} body @returns {Promise<Sealed>} */
export async function seal(type, children, body) {
  const unique = [...new Map(children.map((child) => [child.id, child])).values()];
  const head = encoder.encode(`${type} ${unique.map(({ id }) => id).join(',')} ${body.length}\0`);
  const bytes = concatBytes([head, body]);
  return { id: await idOf(bytes), bytes, children: unique };
}

/** @param {Values} values @param {'float32' | 'float16'} type @returns {Promise<Sealed>} */
export async function sealArray({ dims, data }, type) {
  const file = await writeNpy(dims, data, type);
  const chunks = [];
  for (let at = 0; at < file.length; at += CHUNK)
    chunks.push(await seal('ArrayChunk', [], file.subarray(at, at + CHUNK)));
  const ids = [...new Set(chunks.map(({ id }) => id))];
  const body = pythonDict([
    ['dtype', type],
    ['shape', dims],
    ['stype', NUMPY],
    ['arraychunk_ids', chunks.map(({ id }) => ids.indexOf(id))],
  ]);
  return await seal('Array', chunks, body);
}

/** @param {'ArrayRecord' | 'RecordDict'} type @param {[string, Sealed][]} named @returns {Promise<Sealed>} */
const sealNamed = (type, named) =>
  seal(
    type,
    named.map(([, sealed]) => sealed),
    pythonDict(named.map(([name, { id }]) => [name, id])),
  );

/** @param {Arrays} arrays @param {'float32' | 'float16'} type @returns {Promise<Sealed>} */
export async function sealArrays(arrays, type) {
  /** @type {[string, Sealed][]} */
  const named = [];
  for (const [name, values] of arrays) named.push([name, await sealArray(values, type)]);
  return await sealNamed('ArrayRecord', named);
}

/**
 * A bigint is a whole number, as Python's int; a number is a float.
 * @param {Record<string, number | bigint>} metrics
 */
export function sealMetrics(metrics) {
  const items = Object.entries(metrics).map(([key, value]) => ({
    key,
    value: typeof value === 'bigint' ? { sint64: value } : { double: value },
  }));
  return seal('MetricRecord', [], encode(MetricFields, { items }));
}

/** @param {[string, Sealed][]} records @returns {Promise<Sealed>} */
export const sealRecords = (records) => sealNamed('RecordDict', records);

/** @param {Record<string, any>} message its metadata, and its error if it has one @param {Sealed[]} content */
export const sealMessage = (message, content) => seal('Message', content, encode(MessageFields, message));

/** @param {Sealed} sealed @returns {Record<string, any>} the ObjectTree of an object */
export const treeOf = ({ id, children }) => ({ object_id: id, children: children.map(treeOf) });

/** An object and all below it, each once. @param {Sealed} sealed @param {Contents} [found] */
export function contentsOf(sealed, found = new Map()) {
  for (const child of sealed.children) contentsOf(child, found);
  found.set(sealed.id, sealed.bytes);
  return found;
}

/**
 * The parts of an object, whose class must be one of those wanted.
 * @param {Contents} contents @param {string} id @param {RegExp} wanted
 */
function open(contents, id, wanted) {
  const bytes = contents.get(id);
  if (!bytes) throw bad('an object that refers to one it did not send');
  const end = bytes.indexOf(0);
  const [type, children, length, ...rest] = end < 0 ? [] : textOf(bytes.subarray(0, end)).split(' ');
  const ids = children ? children.split(',') : [];
  const body = bytes.subarray(end + 1);
  if (length !== String(body.length) || rest.length || !ids.every(isId)) throw bad('an object with a damaged head');
  if (!wanted.test(type)) throw bad(`an object of class ${shown(type)}, where ${wanted.source} was wanted`);
  return { type, ids, body };
}

/** @param {unknown} value a name from outside, for a message */
const shown = (value) => JSON.stringify(value)?.slice(0, 80);

/** @param {Uint8Array} bytes */
function textOf(bytes) {
  try {
    return decoder.decode(bytes);
  } catch {
    throw bad('text that is no UTF-8');
  }
}

/** @param {Uint8Array} body @returns {unknown} */
function jsonOf(body) {
  try {
    return JSON.parse(textOf(body));
  } catch (error) {
    throw bad(`an object with damaged JSON: ${error}`);
  }
}

/**
 * Names and ids, of which each must be a child, in the order of the text: an object has names that are numbers first.
 * @param {{ ids: string[], body: Uint8Array }} object
 */
function namedIn({ ids, body }) {
  const values = Object(jsonOf(body));
  const names = [...textOf(body).matchAll(/"(?:[^"\\]|\\.)*"(?=\s*:)/g)].map(([name]) => JSON.parse(name));
  const named = [...new Set(names)].map((name) => [name, values[name]]);
  const unknown = named.find(([, id]) => !ids.includes(id));
  if (unknown) throw bad(`a record in which ${shown(unknown[0])} is no child of it`);
  return /** @type {[string, string][]} */ (named);
}

/**
 * The records of a pulled message.
 * @param {Contents} contents whose hashes were checked
 * @param {string} id of the message
 * @param {ReadonlyMap<string, { readonly dims: readonly number[] }>} wanted arrays
 * @returns {{ arrays: Arrays, config: Config }}
 */
export function openMessage(contents, id, wanted) {
  const { ids } = open(contents, id, /^Message$/);
  if (ids.length !== 1) throw bad(`a message with ${ids.length} records of records, where one was wanted`);
  const records = namedIn(open(contents, ids[0], /^RecordDict$/)).map(([, record]) =>
    open(contents, record, /^(Array|Config|Metric)Record$/),
  );
  const arrays = records.filter(({ type }) => type === 'ArrayRecord');
  const configs = records.filter(({ type }) => type === 'ConfigRecord');
  if (arrays.length !== 1 || configs.length > 1)
    throw bad(`${arrays.length} records of arrays and ${configs.length} of config, where one of each was wanted`);
  return { arrays: openArrays(contents, arrays[0], wanted), config: configs.length ? openConfig(configs[0].body) : {} };
}

/**
 * @param {Contents} contents @param {{ ids: string[], body: Uint8Array }} record
 * @param {ReadonlyMap<string, { readonly dims: readonly number[] }>} wanted
 * @returns {Arrays}
 */
function openArrays(contents, record, wanted) {
  const named = namedIn(record);
  const foreign = named.find(([name]) => !wanted.has(name));
  if (foreign) throw invalid(`the SuperLink's model has ${shown(foreign[0])}, which this session does not exchange`);
  const missing = [...wanted.keys()].find((name) => !named.some(([other]) => other === name));
  if (missing !== undefined) throw invalid(`the SuperLink's model lacks '${missing}', which this session exchanges`);
  return new Map(named.map(([name, id]) => [name, openArray(contents, id, name, wanted.get(name)?.dims ?? [])]));
}

/**
 * @param {Contents} contents @param {string} id @param {string} name @param {readonly number[]} dims
 * @returns {Values}
 */
function openArray(contents, id, name, dims) {
  const { ids, body } = open(contents, id, /^Array$/);
  const { dtype, shape, stype, arraychunk_ids: order } = Object(jsonOf(body));
  if (stype !== NUMPY) throw bad(`'${name}' as ${shown(stype)}, where ${NUMPY} was wanted`);
  if (!Array.isArray(shape) || String(shape) !== String(dims))
    throw invalid(`the SuperLink's '${name}' has the shape ${shown(shape)}, this session's [${dims}]`);
  if (!Array.isArray(order) || !order.every((at) => Number.isInteger(at) && at >= 0 && at < ids.length))
    throw bad(`'${name}' with a damaged list of chunks`);
  const chunks = ids.map((chunk) => open(contents, chunk, /^ArrayChunk$/).body);
  return { dims, data: readNpy(name, order, chunks, dtype, dims) };
}

/** The values that are one number, text or truth; others are left out. @param {Uint8Array} body @returns {Config} */
function openConfig(body) {
  const { items } = decode(ConfigFields, body);
  return Object.fromEntries(
    items
      .map((/** @type {any} */ { key, value }) => [key, Object.values(value ?? {}).find((one) => one !== undefined)])
      .filter((/** @type {any} */ [, value]) => value !== undefined),
  );
}
