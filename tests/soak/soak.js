// Reads a folder while another process writes there, and counts what it read and how often it was told of nothing.
import { fileURLToPath } from 'node:url';
import { Tensor } from '../../js/base/tensor.js';
import { CheckpointStore } from '../../js/storage/checkpoint-store.js';
import { SampleStore } from '../../js/storage/sample-store.js';
import { startProgram, startWriter } from '../crash/witness.js';

/** The number of versions that the writer keeps. */
export const KEEPS = [1, 2];
const LABELLER = fileURLToPath(new URL('labeller.js', import.meta.url));
/** Bytes of a checkpoint: small, so that saves come fast. */
const BYTES = 200;

/**
 * Reads until the time is over.
 * @param {number} ms
 * @param {() => Promise<boolean>} read gives whether there was something
 */
async function readFor(ms, read) {
  const end = performance.now() + ms;
  const counts = { reads: 0, nothing: 0 };
  while (performance.now() < end) {
    counts.reads++;
    if (!(await read())) counts.nothing++;
  }
  return counts;
}

/** @param {string} directory @param {number} keep @param {number} ms */
async function soakCheckpoints(directory, keep, ms) {
  const store = await CheckpointStore.open({ directory, keep });
  const writer = startWriter(directory, 'run', 0, BYTES, keep);
  await writer.begun;
  let newest = 0;
  const older = [];
  const reads = [
    async () => {
      const said = writer.told.at(-1).version;
      const found = await store.load('run');
      if (found && (found.version < newest || found.version < said)) older.push(found.version);
      newest = Math.max(newest, found?.version ?? 0);
      return found !== undefined;
    },
    async () => (await store.versions('run')).length > 0,
    async () => (await store.list()).length > 0,
  ];
  let turn = 0;
  const loads = await readFor(ms, () => reads[turn++ % reads.length]());
  await writer.kill();
  return { what: `checkpoints, keep ${keep}`, ...loads, older: older.length, saves: writer.told.length };
}

/** @param {string} directory @param {number} samples @param {number} ms */
async function soakSamples(directory, samples, ms) {
  const store = await SampleStore.open({ directory, maxSamples: 4 * samples });
  const ids = [];
  for (let i = 0; i < samples; i++)
    ids.push(await store.add({ inputs: { x: new Tensor('float32', [i], [1, 1]) }, label: 'a' }));
  const labeller = startProgram(LABELLER, directory, ...ids.slice(0, 8));
  await labeller.begun;
  const reads = [
    async () => (await store.dataset()).labels.labels.dims[0] === samples,
    async () => (await store.list()).length === samples,
  ];
  let turn = 0;
  const counts = await readFor(ms, () => reads[turn++ % reads.length]());
  await labeller.kill();
  return { what: `data sets of ${samples} samples`, ...counts, saves: labeller.told.length };
}

/**
 * @param {string} folder
 * @param {{ checkpoints: number, samples: number }} ms
 */
export async function soak(folder, ms) {
  const rows = [];
  for (const keep of KEEPS) rows.push(await soakCheckpoints(`${folder}/keep-${keep}`, keep, ms.checkpoints / 2));
  for (const samples of [10, 300]) rows.push(await soakSamples(`${folder}/of-${samples}`, samples, ms.samples / 2));
  return rows;
}
