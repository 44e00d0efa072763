// NumPy's arrays for a model: which are its inputs and which its labels, by their names, types and shapes.

import { Tensor } from '../js/index.js';
import { split } from './data.js';
import { make } from './dom.js';
import { Refusal } from './model.js';
import { parseNpy, parseNpz } from './npy.js';
import { labelText } from './table.js';
import { counted, numberText, shapeText } from './words.js';

/**
 * @typedef {import('./data.js').Data} Data
 * @typedef {import('./model.js').Model} Model
 * @typedef {{ type: string, data: any, dims: number[] }} Raw
 */

const LABELS = /^(y|labels?|targets?|classes|y_train|train_labels|train_y)$/i;
const INPUTS = /^(x|inputs?|images?|data|features|x_train|train_images|train_x)$/i;
/** Whole labels below this are classes. */
const MOST_CLASSES = 10_000;

/** @param {readonly File[]} files @param {Model} model @returns {Promise<Data>} */
export async function readArrays(files, model) {
  const found = /** @type {Record<string, Raw>} */ ({});
  for (const file of files) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    try {
      if (bytes[0] === 0x93) found[file.name.replace(/\.npy$/i, '')] = parseNpy(bytes);
      else Object.assign(found, await parseNpz(bytes));
    } catch (error) {
      throw new Refusal(`'${file.name}' ${error instanceof RangeError ? 'is cut off' : error.message}.`);
    }
  }
  const names = Object.keys(found);
  const listed = names.map((name) => `'${name}' ${found[name].type} ${shapeText(found[name].dims)}`).join(', ');
  const labels = names.find((name) => LABELS.test(name)) ?? names.find((name) => found[name].dims.length === 1);
  if (labels === undefined)
    throw new Refusal(`There are no labels among the arrays ${listed || '(none)'}: call them 'y', and the inputs 'x'.`);
  const pairs = model.onnx.inputs.map((input, i) => {
    const rest = names.filter((name) => name !== labels);
    const name =
      rest.find((one) => one === input.name) ?? (i ? undefined : (rest.find((one) => INPUTS.test(one)) ?? rest[0]));
    if (name === undefined)
      throw new Refusal(`There is no array for the model's input '${input.name}' among ${listed}: give it that name.`);
    return /** @type {const} */ ([input.name, name, fitted(found[name], name, input), found[name].type]);
  });
  const [count] = found[labels].dims;
  const odd = pairs.find(([, , tensor]) => tensor.dims[0] !== count);
  if (odd || !count)
    throw new Refusal(
      `'${labels}' has ${counted(count ?? 0, 'row')} and '${odd?.[1] ?? labels}' ${odd?.[2].dims[0] ?? 0}: ` +
        'each example needs one in both.',
    );
  return dataOf(files, labels, found[labels], pairs, listed);
}

/**
 * An array as the type and dims of an input.
 * @param {Raw} raw @param {string} name @param {import('./onnx-file.js').Value} input
 */
function fitted({ type, data, dims }, name, input) {
  const [count, ...inner] = dims;
  const wanted = input.dims.slice(1);
  const size = inner.reduce((a, b) => a * b, 1);
  const isFree = wanted.some((dim) => typeof dim === 'string');
  const fits = isFree
    ? inner.length === wanted.length && wanted.every((dim, i) => typeof dim === 'string' || dim === inner[i])
    : wanted.reduce((/** @type {number} */ a, b) => a * Number(b), 1) === size;
  if (!fits)
    throw new Refusal(
      `'${name}' has examples of ${shapeText(inner)}, and the input '${input.name}' takes ${shapeText(wanted)}: ` +
        'save the array in that shape, channels first if the model has them first.',
    );
  const shape = [count, ...(isFree ? inner : wanted.map(Number))];
  if (type === input.type) return new Tensor(/** @type {any} */ (type), data, shape);
  if (input.type === 'float32') {
    const scale = type === 'uint8' ? 255 : 1;
    return new Tensor(
      'float32',
      Float32Array.from(data, (value) => Number(value) / scale),
      shape,
    );
  }
  if (input.type === 'int64')
    return new Tensor(
      'int64',
      BigInt64Array.from(data, (v) => BigInt(Math.round(Number(v)))),
      shape,
    );
  throw new Refusal(
    `'${name}' is ${type}, and the model's input '${input.name}' takes ${input.type}: save it as that.`,
  );
}

/**
 * @param {readonly File[]} files @param {string} labels @param {Raw} raw
 * @param {(readonly [string, string, any, string])[]} pairs @param {string} listed @returns {Data}
 */
function dataOf(files, labels, raw, pairs, listed) {
  const isWhole = !raw.type.startsWith('float');
  const values = isWhole ? Array.from(raw.data, Number) : [];
  const [least, most] = values.reduce(
    ([a, b], value) => [Math.min(a, value), Math.max(b, value)],
    [Infinity, -Infinity],
  );
  if (isWhole && (least < 0 || most >= MOST_CLASSES))
    throw new Refusal(
      `'${labels}' has the label ${least < 0 ? least : most}: classes are whole numbers from 0 up. ` +
        'Numbers to predict are float32.',
    );
  const [count, ...inner] = raw.dims;
  const tensor = isWhole
    ? new Tensor('int64', BigInt64Array.from(values, BigInt), raw.dims)
    : new Tensor('float32', Float32Array.from(raw.data), [count, inner.reduce((a, b) => a * b, 1)]);
  const classes = isWhole ? Array.from({ length: most + 1 }, (_, i) => String(i)) : undefined;
  const kinds = classes ? counted(classes.length, 'class', 'classes') : 'numbers to predict';
  const first = /** @type {any} */ (pairs[0][2]);
  return {
    kind: 'arrays',
    words: `${counted(count, 'example')}: ${listed}; '${labels}' has ${kinds}.`,
    warnings: [],
    count,
    task: classes ? 'classes' : 'numbers',
    classes,
    ...split({ inputs: Object.fromEntries(pairs.map(([input, , t]) => [input, t])), labels: tensor }, Tensor),
    head: ['Example', pairs[0][1], labels],
    example: (i) => [String(i), partOf(first, i), labelText(tensor, i, classes)],
    read: {
      files: files.map(({ name }) => name),
      labels,
      pairs: pairs.map(([input, name, t, from]) => ({ input, name, from, dims: t.dims, type: t.type })),
      dims: tensor.dims,
      isWhole,
    },
  };
}

/**
 * An example as a picture where it has the shape of one, else its first numbers.
 * @param {any} tensor @param {number} row
 */
function partOf({ data, dims }, row) {
  const inner = dims.slice(1);
  const size = inner.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1);
  const numbers = data.subarray(row * size, (row + 1) * size);
  if (inner.length === 3 && inner[0] === 1) return greyOf(numbers, inner[1], inner[2]);
  return `${Array.from(numbers.subarray(0, 4), Number).map(numberText).join(', ')}${size > 4 ? ' …' : ''}`;
}

/** @param {ArrayLike<number>} numbers @param {number} height @param {number} width */
function greyOf(numbers, height, width) {
  const canvas = /** @type {HTMLCanvasElement} */ (make('canvas', { width, height, className: 'small' }));
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', 'the example as a grey picture');
  const [low, high] = Array.from(numbers).reduce(([a, b], n) => [Math.min(a, n), Math.max(b, n)], [0, 1e-9]);
  const image = new ImageData(width, height);
  for (let i = 0; i < width * height; i++) {
    const grey = (255 * (numbers[i] - low)) / (high - low);
    image.data.set([grey, grey, grey, 255], 4 * i);
  }
  canvas.getContext('2d')?.putImageData(image, 0, 0);
  return canvas;
}
