// Reads replay.bin: digits of MNIST to practise along with the person's own, and others to test with.
import { feedsOf } from './model.js';
import { PIXELS } from './preprocess.js';

const COUNT = 1000; // of each part, as make-replay.js writes them: labels, then pixels

/** @typedef {{ label: number, pixels: Uint8Array }} Sample */

/** @returns {Promise<{ practice: Sample[], test: ReturnType<typeof feedsOf> }>} */
export async function loadReplay(url = new URL('replay.bin', import.meta.url)) {
  const response = await fetch(url);
  if (!response.ok)
    throw new Error(`The practice digits could not be loaded: ${response.status} ${response.statusText}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const part = COUNT * (1 + PIXELS);
  return { practice: readPart(bytes.subarray(0, part)), test: feedsOf(readPart(bytes.subarray(part))) };
}

function readPart(bytes) {
  return Array.from({ length: COUNT }, (_, i) => ({
    label: bytes[i],
    pixels: bytes.subarray(COUNT + i * PIXELS, COUNT + (i + 1) * PIXELS),
  }));
}
