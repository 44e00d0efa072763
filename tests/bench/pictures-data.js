// Pictures of classes that the demo's backbone never saw, to learn and to test on, and how many of them are read right.

import { Tensor } from '../../js/index.js';
import { readGlyphs } from '../../web-demo/pictures/backbone/glyphs.js';
import { numbersOf, randomFrom, viewOf } from '../../web-demo/pictures/views.js';

export const [CLASSES, EXAMPLES, TESTS] = [3, 20, 40];
const glyphs = readGlyphs();
const aside = glyphs.filter((glyph) => glyph.aside);
const seen = glyphs.filter((glyph) => !glyph.aside);

/** Views of each class, one class after the other. */
export function picturesOf(classes, count, side, seed) {
  const random = randomFrom(seed);
  const image = 3 * side * side;
  const data = new Float32Array(classes.length * count * image);
  const labels = classes.flatMap((_, c) => Array(count).fill(c));
  labels.forEach((c, i) => {
    numbersOf(viewOf(classes[c], random, seen, side), data.subarray(i * image, (i + 1) * image));
  });
  return { data: new Tensor('float32', data, [labels.length, 3, side, side]), labels };
}

export function drawClasses(random) {
  const left = [...aside];
  return Array.from({ length: CLASSES }, () => left.splice(Math.floor(random() * left.length), 1)[0]);
}

export async function accuracyOf(session, input, { data, labels }, classes) {
  const { labels: read } = await session.predict({ [input]: data }, { labels: true });
  return read.data.filter((name, i) => name === classes[labels[i]]).length / labels.length;
}
