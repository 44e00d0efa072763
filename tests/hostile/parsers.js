// Readers alone, without engine and disk, executed until as much of their code as can be was reached.
import { adapterParsers } from './adapters.js';
import { dataParsers } from './data.js';
import { execute } from './execute.js';
import { featureParsers } from './features.js';
import { digestAtOnce } from './memory.js';
import { mutate as damage } from './mutate.js';

/** The files in js/ that read what is damaged. */
const READERS = [
  ...['cli/arrays.js', 'cli/npy.js', 'cli/npz.js', 'cli/table.js', 'cli/classes.js', 'data/csv.js'],
  ...[
    'storage/sample-file.js',
    'storage/sample.js',
    'storage/samples.js',
    'storage/envelope.js',
    'features/pack.js',
    'features/cache.js',
    'features/gather.js',
  ],
  ...[
    'formats/safetensors.js',
    'adapters/onnx.js',
    'adapters/peft-config.js',
    'adapters/metadata.js',
    'adapters/adapter.js',
  ],
];

/**
 * @param {number} count of executions of each @param {number} seed
 * @param {import('./coverage.js').Coverage} coverage
 * @param {(row: object) => void} tell is called after each reader
 * @param {string} [only] the name of one
 */
export async function executeAll(count, seed, coverage, tell, only) {
  digestAtOnce();
  const all = { ...(await dataParsers()), ...(await featureParsers()), ...(await adapterParsers()) };
  for (const [name, { seeds, read, mutate = damage, fix = (bytes) => bytes }] of Object.entries(all))
    if (!only || only === name) tell({ name, ...(await execute({ seeds, read, mutate, fix }, count, seed, coverage)) });
}

/** The number of lines of each reader's code that were executed. @param {import('./coverage.js').Coverage} coverage */
export const reachedBy = (coverage) =>
  Promise.all(READERS.map(async (file) => ({ file, ...(await coverage.linesOf(file)) })));
