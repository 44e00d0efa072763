// Accuracy of fineTune on a foreign hand, five examples of each digit, and on MNIST afterwards, with its parts switched
// off one by one: the mean of eight draws.
//
//   node tests/bench/hand.js

import { fineTune } from '../../js/index.js';
import { accuracyOf, DIGITS, foreign, pick, readerOfDigits } from '../support/hands.js';

const engine = { worker: false, threads: 1 };
const DRAWS = 8;
const open = { lossRise: 9, replayDrop: 1 };
const model = await readerOfDigits(engine);
const [mine, others] = [pick('test', DIGITS, 100, { hand: foreign }), pick('test', DIGITS, 100)];
const replay = pick('train', DIGITS, 90, { from: 20_000 });
const ways = {
  'with replay': { replay },
  'no gate': { replay, accept: open },
  'no anchor': { replay, anchor: 0 },
  'no augmentation': { replay, augment: false },
  'no replay': {},
  'none of them': { accept: open, augment: false, anchor: 0 },
};

console.log('| | the hand | MNIST | taken | ms |\n|---|---:|---:|---:|---:|');
const percent = (x) => `${(100 * x).toFixed(1)} %`;
for (const [name, options] of Object.entries(ways)) {
  const sums = { before: [0, 0], after: [0, 0], taken: 0, ms: 0 };
  for (let seed = 0; seed < DRAWS; seed++) {
    const data = pick('train', DIGITS, 5, { from: 24_000 + 4000 * seed, hand: foreign });
    const { session, report, rollback } = await fineTune(model, data, { head: false, engine, seed, ...options });
    const measure = async (to) => {
      to[0] += (await accuracyOf(session, mine, DIGITS)) / DRAWS;
      to[1] += (await accuracyOf(session, others, DIGITS)) / DRAWS;
    };
    await measure(sums.after);
    sums.taken += report.share / DRAWS;
    sums.ms += report.ms / DRAWS;
    await rollback();
    await measure(sums.before);
    await session.release();
  }
  const row = (title, [hand, rest], more) =>
    console.log(`| ${title} | ${percent(hand)} | ${percent(rest)} | ${more} |`);
  if (name === Object.keys(ways)[0]) row('before', sums.before, '– | –');
  row(name, sums.after, `${sums.taken.toFixed(2)} | ${sums.ms.toFixed(0)}`);
}
process.exit(0);
