// Strokes become what MNIST would have made of them: fitted into 20×20, centred by mass, the same wherever and however
// large they are drawn.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bendInto } from '../../web-demo/bend.js';
import { PIXELS, rasterize, SIZE } from '../../web-demo/preprocess.js';
import { SHAPES } from './visitor.js';

const within = (a, b, difference) =>
  assert.ok(Math.abs(a - b) <= difference, `${a} is not within ${difference} of ${b}`);

function measure(image) {
  let mass = 0,
    x = 0,
    y = 0;
  const rows = new Set(),
    columns = new Set();
  image.forEach((grey, i) => {
    mass += grey;
    x += grey * ((i % SIZE) + 0.5);
    y += grey * (Math.floor(i / SIZE) + 0.5);
    if (grey < 128) return;
    rows.add(Math.floor(i / SIZE));
    columns.add(i % SIZE);
  });
  return { x: x / mass, y: y / mass, longest: Math.max(rows.size, columns.size) };
}

for (const [name, strokes] of Object.entries(SHAPES))
  test(`${name}: 20 pixels at the longest, its centre of mass in the middle`, () => {
    const { x, y, longest } = measure(rasterize(strokes));
    within(x, SIZE / 2, 0.25);
    within(y, SIZE / 2, 0.25);
    within(longest, 20, 1);
  });

test('small in a corner or large in the middle, the image is the same', () => {
  const small = SHAPES.star.map((stroke) => stroke.map(([x, y]) => [0.05 + x * 0.3, 0.6 + y * 0.3]));
  const [a, b] = [rasterize(SHAPES.star), rasterize(small)];
  a.forEach((grey, i) => within(grey, b[i], 1));
});

test('a dot, drawn by a tap, is a dot in the middle', () => {
  const image = rasterize([[[0.9, 0.1]]]);
  within(image[(SIZE / 2) * SIZE + SIZE / 2], 255, 5);
  assert.ok(image.filter((grey) => grey > 0).length < 16);
});

test('bent by nothing an image stays as it is, shifted it moves', () => {
  const image = rasterize(SHAPES.seven),
    out = new Float32Array(PIXELS),
    straight = { angle: 0, scale: 1, dx: 0, dy: 0 };
  bendInto(image, out, straight);
  out.forEach((v, i) => within(v, image[i] / 255, 1e-6));
  bendInto(image, out, { ...straight, dx: 2 });
  for (let i = 2; i < PIXELS; i++) if (i % SIZE >= 2) within(out[i], image[i - 2] / 255, 1e-6);
});
