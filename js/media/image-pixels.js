/** The pixels of a picture, whatever holds it: ImageData as it is, and in browsers all that a canvas can draw. */

import { invalid, nameOf, sentenceOf, TrainletError } from '../base/errors.js';
import { isKind, kindOf } from '../base/kind.js';

/** @import { ImageSource } from '../types.js' */
/** @typedef {{ data: Uint8Array | Uint8ClampedArray, width: number, height: number }} Pixels RGBA, as in ImageData */

/** @param {string} why @param {unknown} [cause] */
const unreadable = (why, cause) => new TrainletError('source-unreadable', why, { cause });

/** Classes that a canvas can draw, with the properties of their size. @type {Record<string, string[]>} */
const DRAWN = {
  ImageBitmap: ['width', 'height'],
  HTMLCanvasElement: ['width', 'height'],
  OffscreenCanvas: ['width', 'height'],
  HTMLImageElement: ['naturalWidth', 'naturalHeight'],
  HTMLVideoElement: ['videoWidth', 'videoHeight'],
  VideoFrame: ['displayWidth', 'displayHeight'],
};

/** @param {string} what @param {ImageSource} source @returns {Promise<Pixels>} */
export async function pixelsOf(what, source) {
  const kind = kindOf(source);
  const isAddress = typeof source === 'string' || isKind(source, 'URL');
  if (isAddress || isKind(source, 'Blob')) {
    checkDecoder(what);
    return await decode(what, isAddress ? await fetched(what, source) : source);
  }
  if (Object.hasOwn(DRAWN, kind)) return await draw(what, source, DRAWN[kind]);
  return checkPixels(what, source);
}

/** @param {string} what @param {any} source @returns {Pixels} */
function checkPixels(what, source) {
  const { data, width, height, colorSpace = 'srgb' } = source ?? {};
  if (data === undefined || width === undefined)
    throw invalid(
      `${what} must be an ImageData ({ data, width, height }), ImageBitmap, canvas, image, video, Blob or URL, ` +
        `not ${nameOf(source)}`,
    );
  if (!(isKind(data, 'Uint8ClampedArray') || isKind(data, 'Uint8Array')))
    throw invalid(`${what}: the data of its pixels must be a Uint8ClampedArray, not ${nameOf(data)}`);
  if (![width, height].every((side) => Number.isSafeInteger(side) && side > 0) || data.length !== 4 * width * height)
    throw invalid(
      `${what}: ${nameOf(width)} × ${nameOf(height)} pixels of red, green, blue and alpha are not ${data.length} bytes`,
    );
  if (colorSpace !== 'srgb') throw invalid(`${what}: its colours must be srgb, not ${colorSpace}`);
  return { data, width, height };
}

/** @param {string} what @param {string | URL} url */
async function fetched(what, url) {
  const response = await fetch(url).catch((error) => {
    throw unreadable(`${what} could not be loaded from ${url}: ${sentenceOf(error)}`, error);
  });
  if (!response.ok) throw unreadable(`${what} could not be loaded from ${url}: HTTP ${response.status}`);
  return await response.blob();
}

/** @param {string} what */
function checkDecoder(what) {
  if (typeof createImageBitmap !== 'undefined') return;
  throw unreadable(
    `${what}: only a browser decodes files of pictures; here give { data, width, height }, four bytes a pixel`,
  );
}

/** Decodes a picture in its Exif orientation. @param {string} what @param {Blob} blob */
async function decode(what, blob) {
  const bitmap = await createImageBitmap(blob).catch((error) => {
    const type = blob.type ? ` of type ${blob.type}` : '';
    throw unreadable(
      `${what}: the ${blob.size} bytes${type} are no picture that this browser knows: ${sentenceOf(error)}`,
      error,
    );
  });
  try {
    return await draw(what, bitmap, DRAWN.ImageBitmap);
  } finally {
    bitmap.close();
  }
}

/** @param {string} what @param {any} source @param {string[]} sides where it has its size */
async function draw(what, source, sides) {
  await settle(what, source);
  const [width, height] = sides.map((side) => source[side]);
  if (!width || !height) throw unreadable(`${what}: it has no pixels: it is empty, or was closed or transferred`);
  try {
    const context = newCanvas(width, height).getContext('2d', { willReadFrequently: true });
    if (!context) throw new Error('the browser has no canvas of that size');
    context.drawImage(source, 0, 0, width, height);
    return context.getImageData(0, 0, width, height);
  } catch (error) {
    const foreign = /** @type {Error} */ (error).name === 'SecurityError';
    const why = foreign
      ? 'it is from another site, which must allow its pixels to be read ' +
        "(crossOrigin = 'anonymous', and the site's CORS headers)"
      : `its ${width} × ${height} pixels could not be read: ${sentenceOf(error)}`;
    throw unreadable(`${what}: ${why}`, error);
  }
}

/** An image that is still loading is waited for. @param {string} what @param {any} source */
async function settle(what, source) {
  if (kindOf(source) === 'HTMLVideoElement' && source.readyState < 2)
    throw unreadable(`${what}: the video has no frame yet: wait for its event 'loadeddata'`);
  if (kindOf(source) !== 'HTMLImageElement') return;
  await source.decode().catch((/** @type {unknown} */ error) => {
    throw unreadable(`${what}: the image ${source.currentSrc || 'without a src'} could not be loaded`, error);
  });
}

/** @param {number} width @param {number} height @returns {any} */
function newCanvas(width, height) {
  if (typeof OffscreenCanvas !== 'undefined') return new OffscreenCanvas(width, height);
  if (typeof document === 'undefined') throw new Error('workers of this browser have no canvas');
  return Object.assign(document.createElement('canvas'), { width, height });
}
