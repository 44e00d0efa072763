// Accuracy and speed of fineTune on three classes that the demo's backbone never saw, twenty pictures each: the mean of
// twenty draws, and the time with MobileNetV2's architecture (and random weights) at 224 pixels.
//
//   node web-demo/pictures/backbone/glyphs.js && node tests/bench/pictures.js

import { readFileSync } from 'node:fs';
import { fineTune } from '../../js/index.js';
import { randomFrom } from '../../web-demo/pictures/views.js';
import { mobileNetV2 } from './models/networks.js';
import { accuracyOf, drawClasses, EXAMPLES, picturesOf, TESTS } from './pictures-data.js';

const DRAWS = 20;
const engine = { worker: false, threads: 1 };

/** One draw: what is held out read right before the first step and after the last, the times in ms. */
async function draw(model, { input, side, head }, seed) {
  const classes = drawClasses(randomFrom(1000 + seed));
  const train = picturesOf(classes, EXAMPLES, side, 2 * seed);
  const test = picturesOf(classes, TESTS, side, 2 * seed + 1);
  const names = classes.map(({ name }) => name);
  const data = { inputs: { [input]: train.data }, labels: train.labels };
  const ends = [];
  const onProgress = ({ phase }) => phase === 'head' && ends.push(performance.now());
  const used = process.cpuUsage();
  const { session, report, rollback } = await fineTune(model, data, {
    classes: names,
    head,
    engine,
    seed,
    onProgress,
  });
  const { user, system } = process.cpuUsage(used);
  const [{ history }] = report.phases;
  const after = await accuracyOf(session, input, test, names);
  await rollback();
  const before = await accuracyOf(session, input, test, names);
  await session.release();
  const later = (ends.at(-1) - ends[0]) / (ends.length - 1);
  const times = { ms: report.ms, processorMs: (user + system) / 1000, first: history.features.ms + later, later };
  return { before, after, ...times, epochs: ends.length, classes };
}

const percent = (x) => `${(100 * x).toFixed(1)} %`;
const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;

async function row(name, model, options, draws) {
  const sum = { before: 0, after: 0, ms: 0, processorMs: 0, first: 0, later: 0, epochs: 0 };
  let worst = { after: 1 };
  for (let seed = 0; seed < draws; seed++) {
    const one = await draw(model, options, seed);
    for (const key of Object.keys(sum)) sum[key] += one[key] / draws;
    if (one.after < worst.after) worst = one;
  }
  const figures = [
    percent(sum.before),
    percent(sum.after),
    percent(worst.after),
    seconds(sum.ms),
    seconds(sum.processorMs),
  ];
  console.log(`| ${[name, ...figures, sum.epochs.toFixed(0), percent(sum.later / sum.first)].join(' | ')} |`);
  return worst;
}

console.log('| | class means | trained | worst draw | time | of the processor | epochs | an epoch after the first |');
console.log('|---|---:|---:|---:|---:|---:|---:|---:|');
const backbone = new Uint8Array(readFileSync(new URL('../../models/pictures.onnx', import.meta.url)));
const ours = { input: 'image', side: 96, head: { at: 'features' } };
const worst = await row('backbone, 96 pixels', backbone, ours, DRAWS);
await row("MobileNetV2's architecture, 224 pixels", mobileNetV2(8, 224).onnx(), { input: 'input', side: 224 }, 1);
if (worst.classes) console.log(`worst draw: ${worst.classes.map(({ name }) => name).join(', ')}`);
process.exit(0);
