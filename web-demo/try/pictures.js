// Pictures in folders for a model: each folder is a class, and each picture becomes the model's input.

import { Tensor } from '../js/index.js';
import { split } from './data.js';
import { make } from './dom.js';
import { Refusal } from './model.js';
import { counted, inputsText, namesText, sizeText } from './words.js';

/**
 * @typedef {import('./data.js').Data} Data
 * @typedef {import('./model.js').Model} Model
 * @typedef {'unit' | 'signed' | 'imagenet'} Scale of the numbers of a pixel
 * @typedef {{ file: Blob, path: string }} Picture path: its folders and name
 */

/** @type {Record<Scale, { name: string, mean: number | number[], std: number | number[] }>} */
export const SCALES = {
  unit: { name: 'from 0 to 1', mean: 0, std: 1 },
  signed: { name: 'from -1 to 1', mean: 0.5, std: 0.5 },
  imagenet: { name: "ImageNet's mean and deviation", mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] },
};
/** The side of pictures for a model that takes any. */
const SIDE = 224;
/** A tab has room for them twice. */
const MOST_BYTES = 5e8;

/** The class of a picture: the folder in which it lies. @param {string} path */
export const classOf = (path) => path.split('/').at(-2) ?? '';

/** The size, channels and layout of pictures that a model takes. @param {Model} model */
export function imageOptions({ onnx, made }) {
  const [input, ...others] = onnx.inputs;
  if (made || !input || others.length || input.dims.length !== 4 || !['float32', 'uint8'].includes(input.type))
    throw new Refusal(
      `Pictures fill one input of four dims, and this model takes ${inputsText(onnx)}. ` +
        'Take the network for pictures, or drop one.',
    );
  const [, ...inner] = input.dims;
  const isLast = [1, 3].includes(Number(inner[2])) && ![1, 3].includes(Number(inner[0]));
  const [channels, height, width] = isLast ? [inner[2], inner[0], inner[1]] : inner;
  const count = Number(channels) || 3;
  if (count !== 1 && count !== 3)
    throw new Refusal(`The model's input '${input.name}' has ${count} channels, and pictures have 3, or 1 for grey.`);
  return /** @type {const} */ ({
    input: input.name,
    size: [Number(height) || SIDE, Number(width) || SIDE],
    channels: /** @type {1 | 3} */ (count),
    layout: isLast ? 'NHWC' : 'NCHW',
    dataType: /** @type {'float32' | 'uint8'} */ (input.type),
  });
}

/** The scale that a model probably wants: that of the example is known. @param {Model} model @returns {Scale} */
export function likelyScale({ name, onnx }) {
  if (name === 'pictures.onnx') return 'signed';
  const [, ...inner] = onnx.inputs[0].dims;
  return inner.includes(3) && (inner.includes(224) || inner.some((dim) => typeof dim === 'string'))
    ? 'imagenet'
    : 'unit';
}

/**
 * @param {readonly Picture[]} pictures @param {Scale} scale @param {Model} model
 * @param {(done: number) => void} onProgress @returns {Promise<Data>}
 */
export async function readPictures(pictures, scale, model, onProgress) {
  const { input, ...size } = imageOptions(model);
  const { mean, std } = SCALES[scale];
  const options = { ...size, ...(size.dataType === 'float32' && { mean, std }) };
  const classes = [...new Set(pictures.map(({ path }) => classOf(path)))].sort();
  if (classes.length < 2)
    throw new Refusal(
      `${counted(pictures.length, 'picture')} of one class alone, the folder '${classes[0] ?? ''}'. ` +
        'A network learns to tell classes apart: choose a folder with a subfolder for each of two classes or more.',
    );
  const each = options.size[0] * options.size[1] * options.channels;
  const bytes = each * (options.dataType === 'float32' ? 4 : 1);
  if (bytes * pictures.length > MOST_BYTES)
    throw new Refusal(
      `${counted(pictures.length, 'picture')} would take ${sizeText(bytes * pictures.length)}, and this page takes ` +
        `${sizeText(MOST_BYTES)}: choose at most ${Math.floor(MOST_BYTES / bytes)}.`,
    );
  const { kept, failed, data } = await decoded(pictures, options, each, onProgress);
  if (new Set(kept.map(({ path }) => classOf(path))).size < 2)
    throw new Refusal(`Too few pictures can be read: not ${namesText(failed)}.`);
  const dims = options.layout === 'NCHW' ? [options.channels, ...options.size] : [...options.size, options.channels];
  const tensor = /** @type {any} */ (new Tensor(options.dataType, data, [kept.length, ...dims]));
  const labels = new Tensor(
    'int64',
    BigInt64Array.from(kept, ({ path }) => BigInt(classes.indexOf(classOf(path)))),
  );
  return {
    kind: 'pictures',
    words:
      `${counted(kept.length, 'picture')} of ${counted(classes.length, 'class', 'classes')}, ${namesText(classes)}, ` +
      `each made ${options.size.join(' × ')} pixels, numbers ${SCALES[scale].name}.`,
    warnings: failed.length ? [`${counted(failed.length, 'file')} cannot be read: ${namesText(failed)}.`] : [],
    count: kept.length,
    task: 'classes',
    classes,
    ...split({ inputs: { [input]: tensor }, labels }, Tensor),
    head: ['Picture', 'File', 'Class'],
    example: (i) => [pictureOf(kept[i]), kept[i].path, classOf(kept[i].path)],
    read: { paths: kept.map(({ path }) => path), options, input },
  };
}

/**
 * One at a time, so that one that cannot be read leaves the others.
 * @param {readonly Picture[]} pictures @param {any} options @param {number} each
 * @param {(done: number) => void} onProgress
 */
async function decoded(pictures, options, each, onProgress) {
  const Numbers = options.dataType === 'float32' ? Float32Array : Uint8Array;
  const data = new Numbers(each * pictures.length);
  const kept = /** @type {Picture[]} */ ([]);
  const failed = /** @type {string[]} */ ([]);
  for (const [i, picture] of pictures.entries()) {
    try {
      const tensor = await Tensor.fromImage(picture.file, options);
      data.set(tensor.data, each * kept.length);
      kept.push(picture);
    } catch {
      failed.push(picture.path);
    }
    onProgress(i + 1);
  }
  return { kept, failed, data: data.subarray(0, each * kept.length) };
}

/** @param {Picture} picture */
function pictureOf({ file, path }) {
  const url = URL.createObjectURL(file);
  const image = make('img', { src: url, alt: path.split('/').at(-1), width: 48, height: 48, className: 'small' });
  image.addEventListener('load', () => URL.revokeObjectURL(url));
  return image;
}
