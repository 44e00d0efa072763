/** A folder of pictures: each folder in it is a class by its name, as for torchvision's ImageFolder. */

import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { sentenceOf, TrainletError } from '../base/errors.js';
import { Tensor } from '../index.js';
import { indicesOf } from './classes.js';
import { say } from './terminal.js';

/** @import { ImageOptions, ValueInfo } from '../types.js' */
/** @import { Columns, Reading } from './arrays.js' */
/** @import { Raw } from './npy.js' */
/** @typedef {{ file: string, name: string }} Picture and the name of its class */

const ENDINGS = /\.(jpe?g|png|webp|gif|avif|tiff?)$/i;
/** The address space of an engine. */
const MOST_BYTES = 2 ** 32;

/** @param {string} message @param {unknown} [cause] */
const bad = (message, cause) => new TrainletError('source-unreadable', message, { cause });

/**
 * @param {string} folder
 * @param {readonly ValueInfo[]} wanted
 * @param {Reading} reading
 * @returns {Promise<Columns>}
 */
export async function readPictures(folder, wanted, reading) {
  const { image = {} } = reading;
  const [input, label] = wanted;
  if (wanted.length !== 2 || input.dims.length !== 4)
    throw bad(
      `${folder}: pictures are for a model of one input of four dims, ` +
        '(N, channels, height, width) or (N, height, width, channels)',
    );
  const options = imageOptions(folder, input, image);
  const pictures = mixed(await picturesIn(folder));
  const labels = indicesOf(
    folder,
    pictures.map(({ name }) => name),
    reading,
  );
  const decode = decoder();
  return {
    [input.name]: { from: folder, raw: await decoded(folder, pictures, options, decode) },
    [label.name]: { from: folder, raw: labels },
  };
}

/** The files, by class. @param {string} folder @returns {Promise<Picture[]>} */
async function picturesIn(folder) {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map(({ name }) => name);
  let others = 0;
  const pictures = [];
  for (const name of names.sort()) {
    const files = await readdir(path.join(folder, name), { recursive: true, withFileTypes: true });
    const visible = files.filter((file) => file.isFile() && !file.name.startsWith('.'));
    const known = visible.filter((file) => ENDINGS.test(file.name));
    others += visible.length - known.length;
    pictures.push(...known.map((file) => ({ file: path.join(file.parentPath ?? file.path, file.name), name })));
  }
  if (!pictures.length)
    throw bad(`${folder} has no folders with pictures: wanted is one for each class, as ${folder}/cat/1.jpg`);
  if (others) say(`${folder}: ${others} files that are no pictures are left out`);
  return pictures;
}

/**
 * In an order that the classes do not decide, so that a share at the end has some of each; the same every time.
 * @param {Picture[]} pictures
 */
function mixed(pictures) {
  const key = (/** @type {Picture} */ { file, name }) =>
    createHash('sha256')
      .update(`${name}/${path.basename(file)}`)
      .digest('hex');
  const keyed = pictures.map((picture) => ({ picture, key: key(picture) }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ picture }) => picture);
}

/**
 * Fills in missing options from the model's input.
 * @param {string} folder
 * @param {ValueInfo} input
 * @param {ImageOptions<any>} image
 * @returns {ImageOptions<any>}
 */
function imageOptions(folder, { name, dims, type }, image) {
  const isChannels = (/** @type {number | string} */ dim) => dim === 1 || dim === 3;
  const layout = image.layout ?? (isChannels(dims[3]) && !isChannels(dims[1]) ? 'NHWC' : 'NCHW');
  const [channels, height, width] = layout === 'NHWC' ? [dims[3], dims[1], dims[2]] : dims.slice(1);
  const resized =
    typeof height === 'number' && typeof width === 'number' ? /** @type {const} */ ([height, width]) : undefined;
  const size = image.size ?? resized;
  if (!size)
    throw bad(
      `${folder}: the model's input '${name}' is [${dims.join(', ')}], which leaves the size open: give --size`,
    );
  return { ...image, layout, size, channels: channels === 1 ? 1 : 3, dataType: type === 'uint8' ? 'uint8' : 'float32' };
}

/**
 * @param {string} folder
 * @param {Picture[]} pictures
 * @param {ImageOptions<any>} options
 * @param {ReturnType<typeof decoder>} decode
 * @returns {Promise<Raw>}
 */
async function decoded(folder, pictures, options, decode) {
  /** @type {{ data: any, dims: number[] } | undefined} */
  let all;
  for (const [i, { file }] of pictures.entries()) {
    const { data, dims } = await Tensor.fromImage(await decode(file), options);
    const bytes = data.byteLength * pictures.length;
    if (bytes > MOST_BYTES)
      throw bad(
        `${folder}: its ${pictures.length} pictures would take ${(bytes / 1e9).toFixed(1)} GB; 4.3 are possible`,
      );
    all ??= {
      data: new /** @type {any} */ (data.constructor)(data.length * pictures.length),
      dims: [pictures.length, ...dims.slice(1)],
    };
    all.data.set(data, i * data.length);
  }
  const { data, dims } = /** @type {NonNullable<typeof all>} */ (all);
  return { type: options.dataType ?? 'float32', dims, data };
}

/** The pixels of a file by npm's sharp, which whoever trains on pictures installs beside trainlet. */
function decoder() {
  const sharp = loadSharp();
  return async (/** @type {string} */ file) => {
    try {
      const upright = sharp(file, { failOn: 'error' }).rotate().toColourspace('srgb').ensureAlpha();
      const { data, info } = await upright.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true });
      return {
        data: new Uint8Array(data.buffer, data.byteOffset, data.length),
        width: info.width,
        height: info.height,
      };
    } catch (error) {
      throw bad(`${file} is no picture that can be read: ${sentenceOf(error)}`, error);
    }
  };
}

/** @returns {(file: string, options: object) => any} */
function loadSharp() {
  for (const place of [import.meta.url, pathToFileURL(path.join(process.cwd(), 'here'))]) {
    try {
      return createRequire(place)('sharp');
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'MODULE_NOT_FOUND')
        throw bad(`sharp could not be loaded: ${sentenceOf(error)}`, error);
    }
  }
  throw bad("pictures need the npm package sharp: 'npm install sharp'");
}
