// Examples for who has no camera at hand: views of three glyphs that the backbone never saw.

import { randomFrom, SIDE, viewOf } from './views.js';

export const EXAMPLES = ['cherries', 'penguin', 'wrench'];
/** Opaque nowhere: its views are backgrounds with nothing on them. */
const NOTHING = { kind: 'emoji', pixels: new Uint8ClampedArray(4 * SIDE * SIDE) };

/** @type {Promise<{ kind: string, pixels: Uint8ClampedArray }[]> | undefined} */
let glyphs;

async function load() {
  const response = await fetch(new URL('examples.png', import.meta.url));
  const bitmap = await createImageBitmap(await response.blob());
  const context = new OffscreenCanvas(SIDE, SIDE * EXAMPLES.length).getContext('2d', { willReadFrequently: true });
  if (!context) throw new Error('this browser has no canvas to read the examples with');
  context.drawImage(bitmap, 0, 0);
  return EXAMPLES.map((_, i) => ({ kind: 'emoji', pixels: context.getImageData(0, i * SIDE, SIDE, SIDE).data }));
}

/**
 * A picture of one of them, or behind the last of none; the same seed gives the same.
 * @param {number} which @param {number} seed
 */
export async function exampleOf(which, seed) {
  glyphs ??= load();
  const all = await glyphs;
  return new ImageData(viewOf(all[which] ?? NOTHING, randomFrom(seed), []), SIDE, SIDE);
}
