// Examples for who has no data at hand: a table of flowers, drawn by chance, and pictures of three things.

import { randomFrom } from './random.js';

const KINDS = [
  { kind: 'daisy', petal: 2.1, stem: 11, colours: ['white', 'white', 'yellow'] },
  { kind: 'poppy', petal: 3.4, stem: 34, colours: ['red', 'red', 'orange'] },
  { kind: 'tulip', petal: 4.6, stem: 28, colours: ['red', 'yellow', 'white'] },
];
const FLOWERS = 150;
const EACH = 20;

/** 150 flowers of three kinds: petal, stem, colour and kind. @returns {File} */
export function flowers() {
  const random = randomFrom(7);
  const bell = () => random() + random() + random() - 1.5;
  const rows = Array.from({ length: FLOWERS }, (_, i) => {
    const { kind, petal, stem, colours } = KINDS[i % KINDS.length];
    const colour = colours[Math.floor(random() * colours.length)];
    return [(petal * (1 + 0.4 * bell())).toFixed(2), (stem * (1 + 0.4 * bell())).toFixed(1), colour, kind].join(',');
  });
  return new File([['petal,stem,colour,kind', ...rows, ''].join('\n')], 'flowers.csv', { type: 'text/csv' });
}

/** Twenty pictures of each of three things, in folders. @returns {Promise<{ file: File, path: string }[]>} */
export async function things() {
  const { EXAMPLES, exampleOf } = await import('../demo/pictures/examples.js');
  const made = [];
  for (const [which, name] of EXAMPLES.entries())
    for (let i = 0; i < EACH; i++) {
      const image = await exampleOf(which, 100 * which + i);
      const canvas = new OffscreenCanvas(image.width, image.height);
      canvas.getContext('2d')?.putImageData(image, 0, 0);
      const file = new File([await canvas.convertToBlob()], `${i + 1}.png`, { type: 'image/png' });
      made.push({ file, path: `things/${name}/${file.name}` });
    }
  return made;
}
