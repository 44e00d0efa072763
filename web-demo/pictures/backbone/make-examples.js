// Draws the page's built-in examples, three glyphs that the backbone never saw, one below the other, into examples.png.
//
//   node web-demo/pictures/backbone/glyphs.js && node web-demo/pictures/backbone/make-examples.js

import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { EXAMPLES } from '../examples.js';
import { SIDE } from '../views.js';
import { readGlyphs } from './glyphs.js';

const glyphs = EXAMPLES.map((wanted) => {
  const glyph = readGlyphs().find(({ name, aside }) => name === wanted && aside);
  if (!glyph) throw new Error(`'${wanted}' is none of the glyphs that were kept aside`);
  return glyph.pixels;
});
await sharp(Buffer.concat(glyphs), { raw: { width: SIDE, height: SIDE * glyphs.length, channels: 4 } })
  .png({ palette: true, compressionLevel: 9 })
  .toFile(fileURLToPath(new URL('../examples.png', import.meta.url)));
