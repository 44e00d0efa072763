// A picture as it is kept, 96 × 96 bytes of red, green and blue, as the backbone takes it, and as the page shows it.

import { Tensor } from '../../js/index.js';

export const SIDE = 96;
const PIXELS = SIDE * SIDE;

/** @typedef {import('../../js/types.js').Tensor<'uint8'>} Picture */

/**
 * The middle of an image, a file, or what a camera shows.
 * @param {import('../../js/types.js').ImageSource} source @returns {Promise<Picture>}
 */
export const pictureOf = (source) => Tensor.fromImage(source, { size: SIDE, layout: 'NHWC', dataType: 'uint8' });

/** A batch of them, (N, 3, 96, 96), from -1 to 1. @param {readonly Picture[]} pictures */
export function batchOf(pictures) {
  const numbers = new Float32Array(pictures.length * 3 * PIXELS);
  pictures.forEach(({ data }, n) => {
    for (let c = 0; c < 3; c++)
      for (let i = 0; i < PIXELS; i++) numbers[(3 * n + c) * PIXELS + i] = data[3 * i + c] / 127.5 - 1;
  });
  return new Tensor('float32', numbers, [pictures.length, 3, SIDE, SIDE]);
}

/** @param {Picture} picture */
export function canvasOf({ data }) {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = SIDE;
  const image = new ImageData(SIDE, SIDE);
  for (let i = 0; i < PIXELS; i++) image.data.set([data[3 * i], data[3 * i + 1], data[3 * i + 2], 255], 4 * i);
  canvas.getContext('2d')?.putImageData(image, 0, 0);
  return canvas;
}
