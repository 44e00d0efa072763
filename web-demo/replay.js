// Reads replay.bin: digits of MNIST to rehearse beside the person's drawings, and others to test with.
import { PIXELS } from './preprocess.js';
import { DIGITS, examples } from './trainer.js';

const COUNT = 1000; // images in each part, as make-replay.js writes them: labels, then pixels

/** @returns {Promise<{ practice: import('./trainer.js').Image[], test: ReturnType<typeof examples> }>} */
export async function loadReplay(url = new URL('replay.bin', import.meta.url)) {
  const response = await fetch(url);
  if (!response.ok)
    throw new Error(`the digits to rehearse could not be loaded: ${response.status} ${response.statusText}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const part = COUNT * (1 + PIXELS);
  return { practice: readPart(bytes.subarray(0, part)), test: examples(readPart(bytes.subarray(part)), DIGITS) };
}

function readPart(bytes) {
  return Array.from({ length: COUNT }, (_, i) => ({
    label: DIGITS[bytes[i]],
    pixels: bytes.subarray(COUNT + i * PIXELS, COUNT + (i + 1) * PIXELS),
  }));
}
