// Bends an image a little, as hands differ from one moment to the next: for make-digits.js.
import { SIZE } from './preprocess.js';

/** Writes `image`, turned, scaled and shifted about its middle, as 0..1 into `out`; bilinear.
 * @param {Uint8Array} image @param {Float32Array} out @param {{ angle: number, scale: number, dx: number, dy: number }}
 * bend */
export function bendInto(image, out, { angle, scale, dx, dy }) {
  const cos = Math.cos(angle) / scale,
    sin = Math.sin(angle) / scale,
    middle = (SIZE - 1) / 2;
  for (let y = 0, at = 0; y < SIZE; y++)
    for (let x = 0; x < SIZE; x++, at++) {
      const u = x - middle - dx,
        v = y - middle - dy;
      out[at] = sample(image, middle + cos * u + sin * v, middle - sin * u + cos * v);
    }
}

function sample(image, x, y) {
  const x0 = Math.floor(x),
    y0 = Math.floor(y),
    fx = x - x0,
    fy = y - y0;
  const grey = (gx, gy) => (gx < 0 || gy < 0 || gx >= SIZE || gy >= SIZE ? 0 : image[gy * SIZE + gx]);
  const top = grey(x0, y0) * (1 - fx) + grey(x0 + 1, y0) * fx;
  const bottom = grey(x0, y0 + 1) * (1 - fx) + grey(x0 + 1, y0 + 1) * fx;
  return (top * (1 - fy) + bottom * fy) / 255;
}

/** A small random bend, as hands differ from one moment to the next. */
export function randomBend(random = Math.random) {
  const around = (width) => (random() * 2 - 1) * width;
  return { angle: around(0.15), scale: 1 + around(0.1), dx: around(1.5), dy: around(1.5) };
}
