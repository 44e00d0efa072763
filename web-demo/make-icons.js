// Draws the icons of the installed page, icon-192.png and icon-512.png, from icon.svg.
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
for (const side of [192, 512])
  await sharp(here('icon.svg'), { density: 72 * (side / 32) })
    .resize(side, side)
    .png({ palette: true, compressionLevel: 9 })
    .toFile(here(`icon-${side}.png`));
