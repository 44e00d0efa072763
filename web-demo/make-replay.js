// Writes replay.bin: 1,000 training and 1,000 test images of MNIST, a hundred a digit, so that the demo is a static
// folder.
import { writeFileSync } from 'node:fs';
import { readMnist } from './mnist.js';

const PER_DIGIT = 100;

/** Evenly spread over the whole set, digit by digit in turn, as replay.js reads them: labels, then pixels. */
function pick(part) {
  const set = readMnist(part);
  const places = Array.from({ length: 10 }, () => []);
  set.labels.forEach((label, i) => places[label].push(i));
  const chosen = [];
  for (let n = 0; n < PER_DIGIT; n++)
    for (const list of places) chosen.push(list[Math.floor((n * list.length) / PER_DIGIT)]);
  return [Uint8Array.from(chosen, (i) => set.labels[i]), ...chosen.map(set.image)];
}

const bytes = Buffer.concat([...pick('train'), ...pick('t10k')]);
writeFileSync(new URL('replay.bin', import.meta.url), bytes);
console.log(`replay.bin: ${bytes.length} bytes`);
