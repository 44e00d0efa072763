/** Tensors of pictures: pixels become numbers as torchvision's Resize, CenterCrop, ToTensor and Normalize make them. */

import { checkKeys, checkWhole, invalid, nameOf } from '../base/errors.js';
import { Tensor } from '../base/tensor.js';
import { pixelsOf } from './image-pixels.js';
import { resize } from './image-resize.js';

/** @import { ImageOptions, ImageSource } from '../types.js' */
/** @import { Pixels } from './image-pixels.js' */
/** @import { Picture } from './image-resize.js' */

export const IMAGE_KEYS = /** @type {const} */ ([
  'size',
  'crop',
  'channels',
  'layout',
  'tensorLayout',
  'tensorFormat',
  'mean',
  'std',
  'norm',
  'dataType',
  'background',
]);
/** Larger sides are a slip: a size in bytes, or width times height. */
const SIDE_MOST = 16_384;
/** The channel of red, green and blue. @type {Record<string, number[]>} */
const FORMATS = { RGB: [0, 1, 2], BGR: [2, 1, 0], RBG: [0, 2, 1] };

/**
 * @typedef {object} Wish what the options say
 * @property {number[]} [size] height, width
 * @property {boolean} crops
 * @property {number} channels
 * @property {boolean} last the channels: NHWC
 * @property {number[]} order
 * @property {ArrayLike<number>[]} tables for each channel, what its 256 values become
 * @property {readonly number[]} background
 */

/** @param {ImageSource | readonly ImageSource[]} source @param {ImageOptions<any>} [options] */
export async function fromImage(source, options = {}) {
  const wish = wishOf(options);
  const sources = Array.isArray(source) ? source : [source];
  if (!sources.length) throw invalid('Tensor.fromImage: there is no picture in the array');
  /** @type {Picture[]} */
  const pictures = [];
  for (const [i, picture] of sources.entries()) {
    const what = Array.isArray(source) ? `picture ${i}` : 'the picture';
    pictures.push(fit(flatten(await pixelsOf(what, picture), wish), wish));
    checkSame(what, pictures[0], pictures[i]);
  }
  const type = options.dataType ?? 'float32';
  return new Tensor(type, fill(pictures, wish, type), dimsOf(pictures, wish));
}

/** @param {string} what @param {Picture} first @param {Picture} picture */
function checkSame(what, first, { width, height }) {
  if (first.width === width && first.height === height) return;
  throw invalid(
    `${what} has ${width} × ${height} pixels, and picture 0 ${first.width} × ${first.height}: give a size for all`,
  );
}

/** @param {ImageOptions<any>} options @returns {Wish} */
function wishOf(options) {
  checkKeys('Tensor.fromImage', options, IMAGE_KEYS);
  const {
    crop = 'center',
    channels = 3,
    tensorFormat = 'RGB',
    dataType = 'float32',
    background = [255, 255, 255],
  } = options;
  const layout = layoutOf(options);
  if (crop !== 'center' && crop !== false) throw invalid(`crop must be 'center' or false, not ${nameOf(crop)}`);
  if (channels !== 1 && channels !== 3) throw invalid(`channels must be 3, or 1 for grey, not ${nameOf(channels)}`);
  if (typeof tensorFormat !== 'string' || !Object.hasOwn(FORMATS, tensorFormat))
    throw invalid(`tensorFormat must be 'RGB', 'BGR' or 'RBG', not ${nameOf(tensorFormat)}; grey is channels: 1`);
  if (dataType !== 'float32' && dataType !== 'uint8')
    throw invalid(`dataType must be 'float32' or 'uint8', not ${nameOf(dataType)}`);
  return {
    size: options.size === undefined ? undefined : sizeOf(options.size),
    crops: crop === 'center',
    channels,
    last: layout === 'NHWC',
    order: channels === 1 ? [0] : FORMATS[tensorFormat],
    tables: tablesOf(options, channels),
    background: numbers('background', background, 3, (value) => value >= 0 && value <= 255, 'from 0 to 255'),
  };
}

/** Ours, or ONNX Runtime's name for it. @param {ImageOptions<any>} options */
function layoutOf({ layout, tensorLayout = layout ?? 'NCHW' }) {
  if (layout !== undefined && layout !== tensorLayout)
    throw invalid(
      `layout is ${nameOf(layout)} and tensorLayout ${nameOf(tensorLayout)}: they are two names of one option`,
    );
  if (tensorLayout === 'NCHW' || tensorLayout === 'NHWC') return tensorLayout;
  throw invalid(`layout must be 'NCHW' or 'NHWC', not ${nameOf(tensorLayout)}`);
}

/** @param {number | readonly number[]} size @returns {number[]} */
function sizeOf(size) {
  const sides = Array.isArray(size) ? [...size] : [size, size];
  if (sides.length !== 2) throw invalid(`size must be a number or [height, width], not ${sides.length} numbers`);
  for (const side of sides) {
    checkWhole('size: a side', side, 1);
    if (side > SIDE_MOST) throw invalid(`size: a side can have ${SIDE_MOST} pixels at most, not ${side}`);
  }
  return sides;
}

/**
 * One number for each, or one for all.
 * @param {string} option
 * @param {unknown} value
 * @param {number} count
 * @param {(value: number) => boolean} [fits]
 * @param {string} [wanted]
 * @returns {number[]}
 */
function numbers(option, value, count, fits = () => true, wanted = 'that are finite') {
  const list = Array.isArray(value) ? [...value] : Array(count).fill(value);
  if (list.length === count && list.every((value) => Number.isFinite(value) && fits(value))) return list;
  const came = typeof value === 'bigint' ? nameOf(value) : JSON.stringify(value);
  throw invalid(`${option} must be a number or an array of ${count} numbers ${wanted}, not ${came}`);
}

/**
 * The value of each byte, in the float32 arithmetic of PyTorch.
 * @param {ImageOptions<any>} options
 * @param {number} channels
 */
function tablesOf({ dataType, mean, std, norm }, channels) {
  if (dataType === 'uint8' && (mean ?? std ?? norm) !== undefined)
    throw invalid("mean, std and norm are for dataType 'float32'; uint8 are the pixels as they are");
  if (norm !== undefined && (mean ?? std) !== undefined)
    throw invalid('mean and std, of pixels from 0 to 1, or norm, of pixels from 0 to 255, but not both');
  checkKeys('norm', norm, ['mean', 'bias']);
  const nonzero = (/** @type {number} */ value) => value !== 0;
  const [centers, spreads] = [
    numbers('mean', mean ?? 0, channels),
    numbers('std', std ?? 1, channels, nonzero, 'other than 0'),
  ];
  const [divisors, biases] = [
    numbers('norm.mean', norm?.mean ?? 255, channels, nonzero, 'other than 0'),
    numbers('norm.bias', norm?.bias ?? 0, channels),
  ];
  const f = Math.fround;
  return Array.from({ length: channels }, (_, c) =>
    Float32Array.from({ length: 256 }, (_, byte) => {
      if (dataType === 'uint8') return byte;
      return norm ? (byte + biases[c]) / divisors[c] : f(f(byte / 255) - f(centers[c])) / f(spreads[c]);
    }),
  );
}

/**
 * In the channels wanted, without alpha: what is transparent shows the background. Grey as in Pillow and ITU-R 601.
 * @param {Pixels} pixels
 * @param {Wish} wish
 * @returns {Picture}
 */
function flatten({ data, width, height }, { channels, background }) {
  const made = new Uint8Array(width * height * channels);
  const [red, green, blue] = background;
  for (let from = 0, to = 0; from < data.length; from += 4, to += channels) {
    const alpha = data[from + 3];
    const r = over(data[from], red, alpha);
    const g = over(data[from + 1], green, alpha);
    const b = over(data[from + 2], blue, alpha);
    if (channels === 1) made[to] = (19595 * r + 38470 * g + 7471 * b + 0x8000) >> 16;
    else {
      made[to] = r;
      made[to + 1] = g;
      made[to + 2] = b;
    }
  }
  return { data: made, width, height, channels };
}

/** @param {number} value @param {number} behind @param {number} alpha */
const over = (value, behind, alpha) =>
  alpha === 255 ? value : Math.round((value * alpha + behind * (255 - alpha)) / 255);

/** @param {Picture} picture @param {Wish} wish */
function fit(picture, { size, crops }) {
  if (!size) return picture;
  const [height, width] = size;
  const { across, down } = crops ? covering(picture, width, height) : { across: width, down: height };
  const [left, top] = [halfEven(across - width), halfEven(down - height)];
  return resize(picture, { across, down, left, top, width, height });
}

/**
 * The least size of the same proportions that covers another.
 * @param {Picture} picture
 * @param {number} width
 * @param {number} height
 */
function covering(picture, width, height) {
  if (width * picture.height >= height * picture.width)
    return { across: width, down: Math.max(height, Math.floor((width * picture.height) / picture.width)) };
  return { across: Math.max(width, Math.floor((height * picture.width) / picture.height)), down: height };
}

/** Half of it, to the even one of two that are as near, as Python rounds. @param {number} value */
function halfEven(value) {
  const low = Math.floor(value / 2);
  return value % 2 === 0 || low % 2 === 0 ? low : low + 1;
}

/** @param {Picture[]} pictures @param {Wish} wish */
function dimsOf([{ width, height }, ...more], { channels, last }) {
  const count = more.length + 1;
  return last ? [count, height, width, channels] : [count, channels, height, width];
}

/** @param {Picture[]} pictures @param {Wish} wish @param {string} type */
function fill(pictures, { channels, last, order, tables }, type) {
  const pixels = pictures[0].width * pictures[0].height;
  const filled = new (type === 'uint8' ? Uint8Array : Float32Array)(pictures.length * pixels * channels);
  pictures.forEach(({ data }, n) => {
    for (let c = 0; c < channels; c++) {
      const table = tables[c];
      const [start, step] = last ? [order[c], channels] : [order[c] * pixels, 1];
      let to = n * pixels * channels + start;
      for (let from = c; from < data.length; from += channels, to += step) filled[to] = table[data[from]];
    }
  });
  return filled;
}
