// Writes the base as the page loads it, in int8, from the last checkpoint of train.js; and texts of the kind it knows.
//
//   node web-demo/writer/base/ship.js     writes web-demo/writer/base.onnx and known.json

import { writeFileSync } from 'node:fs';
import { generateArtifacts, TrainingSession } from '../../../js/index.js';
import { readCorpus } from './corpus.js';
import { open } from './train.js';

const HERE = { worker: false, threads: 1 };
/** So many characters are rehearsed, and so many show what is forgotten. */
const [REHEARSED, TESTED] = [60_000, 6000];

/** Pieces of all kinds, none of them long. @param {string[]} pieces @param {number} most characters */
function some(pieces, most) {
  const all = pieces.filter((piece) => piece.length < 1500);
  const every = Math.ceil(all.join('').length / most);
  return all.filter((_, i) => i % every === 0);
}

const { session, step } = await open();
const trained = await session.exportModel();
await session.release();
const frozen = { loss: 'cross-entropy', optimizer: 'sgd', requiresGrad: ['ln_f.bias'], quantizeFrozen: 'int8' };
const small = await TrainingSession.create(await generateArtifacts(trained, { ...frozen, ...HERE }), HERE);
const bytes = await small.exportModel();
await small.release();
writeFileSync(new URL('../base.onnx', import.meta.url), bytes);
const { learned, aside } = readCorpus();
const known = { rehearsed: some(learned, REHEARSED), tested: some(aside, TESTED) };
writeFileSync(new URL('../known.json', import.meta.url), `${JSON.stringify(known, null, 2)}\n`);
console.log(`${bytes.length} bytes, after ${step} steps`);
