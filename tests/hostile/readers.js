// Damaged data files through the readers that take them: each is read or refused by a TrainletError, soon and in little
// memory.
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { readArrays } from '../../js/cli/arrays.js';
import { TrainletError } from '../../js/errors.js';
import { readSamples } from '../../js/sample-file.js';
import { SampleStore } from '../../js/sample-store.js';
import { Tensor } from '../../js/tensor.js';
import { adapterTargets } from './adapters.js';
import { mutate as damage, randomFrom } from './mutate.js';

const MOST_MS = 2000;
const MOST_BYTES = 2 ** 30;

const golden = (name) => readFile(fileURLToPath(new URL(`../golden/samples/${name}`, import.meta.url)));
const X = { name: 'x', type: 'float32', dims: ['N', 6] };
const LABELS = { name: 'labels', type: 'int64', dims: ['N'], labels: { classes: 3, axis: 1 } };
const CSV = `a,b,c,d,e,"f",labels\n${'1,2,3,4,5,6.5,"ca""t"\n-1,2e3,.5,4,5,6,dog\n'.repeat(3)}`;
const LINES = '{"x": [[1, 2, 3.5], [4, 5, 6]], "labels": "cat"}\n'.repeat(4);

/** The checksum over what was damaged, so that the damage is what is read. @param {Uint8Array} file */
function sumUp(file) {
  const sum = createHash('sha256').update(file.subarray(40)).digest();
  if (file.length > 40) file.set(sum, 8);
  return file;
}

/** An export of two samples. @param {string} folder */
async function exported(folder) {
  const store = await SampleStore.open({ directory: folder, name: 'seed' });
  for (const label of ['cat', null])
    await store.add({
      inputs: { x: new Tensor('float32', [1, 2, 3], [1, 3]), n: new Tensor('int64', [7n], [1]) },
      label,
      meta: { hand: 'left' },
    });
  return await store.export();
}

/** @param {string} folder */
export async function targetsIn(folder) {
  const npz = await golden('packed.npz');
  const npy = Buffer.from(npz); // its first array, as a file
  const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 6), }".padEnd(117);
  const array = Buffer.concat([
    Buffer.from('\x93NUMPY\x01\x00\x76\x00', 'latin1'),
    Buffer.from(`${header}\n`),
    npy.subarray(0, 48),
  ]);
  const inFile = (name, spec, wanted) => async (bytes) => {
    const file = path.join(folder, name);
    await writeFile(file, bytes);
    await readArrays(spec(file), 'train', wanted, {});
  };
  const whole = [X, LABELS];
  const take = async (bytes) => {
    const store = await SampleStore.open({ directory: folder, name: `s${Math.random().toString(36).slice(2)}` });
    await store.import(bytes);
    if ((await store.classes()).length) await store.dataset();
  };
  return {
    npz: { seed: npz, read: inFile('a.npz', String, whole) },
    npy: { seed: array, read: inFile('a.npy', (file) => `x=${file}`, [X]) },
    csv: { seed: Buffer.from(CSV), read: inFile('a.csv', String, whole) },
    'JSON lines': { seed: Buffer.from(LINES), read: inFile('a.jsonl', String, whole) },
    samples: { seed: await exported(folder), fix: sumUp, read: take },
    'samples, sealed': { seed: await exported(folder), read: readSamples },
    ...(await adapterTargets()),
  };
}

/**
 * @param {string} folder
 * @param {number} runs of each target
 * @param {number} seed
 * @param {(name: string, bytes: Uint8Array) => unknown} [accepted] is handed what was read
 * @param {string} [only] the name of one target
 */
export async function damageAll(folder, runs, seed, accepted = () => {}, only = undefined) {
  const rows = [];
  for (const [name, target] of Object.entries(await targetsIn(folder))) {
    if (only && only !== name) continue;
    const { seed: whole, read, mutate = damage, fix = (bytes) => bytes } = target;
    const random = randomFrom(seed);
    await read(fix(Buffer.from(whole))); // undamaged
    const row = { name, runs, read: 0, slowest: 0, faults: [] };
    for (let i = 0; i < runs; i++) {
      const bytes = fix(mutate(whole, random));
      const since = performance.now();
      const failure = await read(bytes).then(
        () => undefined,
        (error) => error,
      );
      const ms = performance.now() - since;
      row.slowest = Math.max(row.slowest, Math.round(ms));
      if (failure === undefined) row.read++;
      if (failure === undefined) await accepted(name, bytes);
      const raw = failure !== undefined && !(failure instanceof TrainletError);
      if (raw || ms > MOST_MS || process.memoryUsage.rss() > MOST_BYTES)
        row.faults.push({ i, ms, error: raw ? failure.stack : undefined, bytes: bytes.toString('base64') });
    }
    rows.push(row);
  }
  return rows;
}
