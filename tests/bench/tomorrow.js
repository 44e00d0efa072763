// Time saved by a FeatureStore: fineTune on sixty pictures, then in another session on these and one more, with a store
// and without.
//
//   node tests/bench/tomorrow.js

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FeatureStore, fineTune, Tensor } from '../../js/index.js';
import { batchUnit } from '../support/recipe.js';
import { mobileNetV2 } from './models/networks.js';

const engine = { worker: false, threads: 1 };
const directory = mkdtempSync(join(tmpdir(), 'trainlet-tomorrow-'));
const ms = (value) => `${value.toFixed(0)} ms`;

/** Random pictures: their content does not affect the time. */
function dataOf(input, side, count) {
  const dims = [count, 3, side, side];
  const data = Float32Array.from({ length: count * 3 * side * side }, (_, i) => batchUnit(7, i));
  return {
    inputs: { [input]: new Tensor('float32', data, dims) },
    labels: Array.from({ length: count }, (_, i) => 'abc'[i % 3]),
  };
}

async function measure(what, model, { input, side, head }, count, store) {
  const data = dataOf(input, side, count);
  const used = process.cpuUsage();
  const { session, report } = await fineTune(model, data, { head, engine, ...(store && { cacheFeatures: { store } }) });
  const { user, system } = process.cpuUsage(used);
  await session.release();
  const { features } = report;
  const computed = features.store?.computed ?? count;
  console.log(`| ${[what, count, computed, ms(features.ms), ms(report.ms), ms((user + system) / 1000)].join(' | ')} |`);
}

console.log('| | pictures | computed | for features | all of the call | of the processor |');
console.log('|---|---:|---:|---:|---:|---:|');
const backbone = new Uint8Array(readFileSync(new URL('../../models/pictures.onnx', import.meta.url)));
for (const [name, model, how] of [
  ['backbone, 96 pixels', backbone, { input: 'image', side: 96, head: { at: 'features' } }],
  ["MobileNetV2's architecture, 224 pixels", mobileNetV2(8, 224).onnx(), { input: 'input', side: 224 }],
]) {
  const open = () => FeatureStore.open({ directory });
  await measure(`${name}: today`, model, how, 60, await open());
  await measure('– tomorrow, with the store', model, how, 61, await open());
  await measure('– tomorrow, without', model, how, 61);
}
rmSync(directory, { recursive: true });
