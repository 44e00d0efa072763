// Time until a page trains: TrainingSession.create, first in a fresh page, and the first steps after it, ours and
// onnxruntime-web's interleaved.
//
//   npm run bench:create -- [--rounds N]

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { openSite } from '../browser/site.js';

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '9' } } });
const STEPS = 3;
const ENGINES = { trainlet: 'trainlet', ort: 'onnxruntime-web' };

const recipeOf = (name) => JSON.parse(readFileSync(new URL(`../golden/data/${name}.json`, import.meta.url), 'utf8'));

/** Title, and what a page measures: a list of milliseconds. */
const TASKS = [
  ["create, ONNX Runtime's MNIST artifacts", (site, engine) => site.inPage('timeCreate', engine).then((ms) => [ms])],
  ['steps 1, 2, 3 of the MLP, batch 64', (site, engine) => site.inPage('timeSteps', engine, recipeOf('w1'), STEPS)],
  ['steps 1, 2, 3 of the CNN, batch 64', (site, engine) => site.inPage('timeSteps', engine, recipeOf('w2'), STEPS)],
];

const summary = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  return `${sorted[0].toFixed(0)} (${sorted[sorted.length >> 1].toFixed(0)})`;
};

const site = await openSite();
try {
  console.log(`ms, the best and in brackets the median of ${options.rounds} fresh pages`);
  for (const [title, measure] of TASKS) {
    const seen = { trainlet: [], ort: [] };
    for (let round = 0; round < Number(options.rounds); round++) {
      for (const engine of Object.keys(ENGINES)) seen[engine].push(await measure(site, engine));
    }
    for (const [engine, name] of Object.entries(ENGINES)) {
      const figures = seen[engine][0].map((_, i) => summary(seen[engine].map((times) => times[i])));
      console.log(`${title.padEnd(42)} ${name.padEnd(16)} ${figures.join('  ')}`);
    }
  }
} finally {
  await site.close();
}
