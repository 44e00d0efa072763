// Damaged arrays, tables and samples: what each reader begins with, and how it reads.
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Tensor } from '../../js/base/tensor.js';
import { readArrays } from '../../js/cli/arrays.js';
import { SampleStore } from '../../js/storage/sample-store.js';
import { Samples } from '../../js/storage/samples.js';
import { memoryDisk, memoryRoom } from './memory.js';
import { mutateText } from './mutate.js';
import { infoOf, sumSealed, sumZip } from './sums.js';

const golden = (name) => readFile(fileURLToPath(new URL(`../golden/data/samples/${name}`, import.meta.url)));
const X = { name: 'x', type: 'float32', dims: ['N', 6] };
const LABELS = { name: 'labels', type: 'int64', dims: ['N'], labels: { classes: 3, axis: 1 } };
const WHOLE = [X, LABELS];
const CSV = `a,b,c,d,e,"f",labels\n${'1,2,3,4,5,6.5,"ca""t"\n-1,2e3,.5,4,5,6,dog\n'.repeat(3)}`;
const NUMBERS = 'x.0,x.1,x.2,x.3,x.4,x.5,Class\r\n1,2,3,4,5,nan,0\r\n\r\n"1", 2,3,4e2,-.5,6,2\r\n';
const LINES = '{"x": [[1, 2, 3.5], [4, 5, 6]], "labels": "cat"}\n'.repeat(4);
const ROWS = '{"x": [1, true, 3.5, 4, 5, 6], "labels": 1, "more": {}}\n\n'.repeat(2);
/** Two rows of six bytes. */
const IDX = Buffer.from([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 6, ...Array(12).keys()]);
const [X_FILE, ALL_FILE] = [(file) => `x=${file}`, String];

/** A file of (2, 6) zeros and ones. @param {number} version @param {string} type @param {number} bytes of an element */
function npyOf(version, type, bytes) {
  const text = `{'descr': '${type}', 'fortran_order': False, 'shape': (2, 6), }`;
  const header = Buffer.from(`${text.padEnd(version > 1 ? 115 : 117)}\n`);
  const length = version > 1 ? [header.length, 0, 0, 0] : [header.length, 0];
  const data = Uint8Array.from({ length: 12 * bytes }, (_, i) => Number(i % 3 === 0));
  return Buffer.concat([Buffer.from('\x93NUMPY', 'latin1'), Buffer.from([version, 0, ...length]), header, data]);
}

/** An export of two samples. @param {SampleStore | Samples} store */
async function exportOf(store) {
  for (const label of ['cat', null])
    await store.add({
      inputs: { x: new Tensor('float32', [1, 2, 3], [1, 3]), n: new Tensor('int64', [7n], [1]) },
      label,
      meta: { hand: 'left' },
    });
  return await store.export();
}

/** @param {string} folder */
export async function dataTargets(folder) {
  const inFile = (name, specOf, wanted) => async (bytes) => {
    const file = path.join(folder, name);
    await writeFile(file, bytes);
    return await readArrays(specOf(file), 'train', wanted, {});
  };
  const open = (name) => SampleStore.open({ directory: folder, name });
  const samples = await exportOf(await open('seed'));
  const take = async (bytes) => {
    const store = await open(`s${Math.random().toString(36).slice(2)}`);
    await store.import(bytes);
    if ((await store.classes()).length) await store.dataset();
  };
  return {
    npz: { seed: await golden('packed.npz'), fix: sumZip, read: inFile('a.npz', ALL_FILE, WHOLE) },
    npy: { seed: npyOf(1, '<f4', 4), read: inFile('a.npy', X_FILE, [X]) },
    csv: { seed: Buffer.from(CSV), read: inFile('a.csv', ALL_FILE, WHOLE) },
    jsonl: { seed: Buffer.from(LINES), read: inFile('a.jsonl', ALL_FILE, WHOLE) },
    samples: { seed: samples, fix: sumSealed, read: take },
    'info of samples': { ...infoOf(samples), mutate: mutateText, read: take },
  };
}

/** The same without a disk. */
export async function dataParsers() {
  const disk = memoryDisk();
  const inMemory = (name, specOf, wanted) => (bytes) => {
    disk.put(bytes);
    return readArrays(specOf(disk.place(name)), 'train', wanted, {});
  };
  const stored = () => new Samples(memoryRoom(), { maxSamples: 100, maxBytes: 2 ** 20 });
  const take = async (bytes) => {
    const store = stored();
    await store.import(bytes);
    for (const { id } of await store.list()) await store.get(id);
    if ((await store.classes()).length) await store.dataset();
    await store.export();
  };
  const samples = await exportOf(stored());
  const { seed: info, fix } = infoOf(samples);
  return {
    npz: {
      seeds: [await golden('packed.npz'), await golden('arrays.npz')],
      fix: sumZip,
      read: inMemory('a.npz', ALL_FILE, WHOLE),
    },
    npy: {
      seeds: [npyOf(1, '<f4', 4), npyOf(2, '<i8', 8), npyOf(3, '|b1', 1), IDX],
      read: inMemory('a.npy', X_FILE, [X]),
    },
    csv: { seeds: [CSV, NUMBERS].map((text) => Buffer.from(text)), read: inMemory('a.csv', ALL_FILE, WHOLE) },
    jsonl: {
      seeds: [LINES, ROWS].map((text) => Buffer.from(text)),
      mutate: mutateText,
      read: inMemory('a.jsonl', ALL_FILE, WHOLE),
    },
    samples: { seeds: [samples], fix: sumSealed, read: take },
    'info of samples': { seeds: [info], fix, mutate: mutateText, read: take },
  };
}
