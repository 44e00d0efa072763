// Damaged files by the thousand through the readers (readers.js), by the million through these alone (parsers.js).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Coverage } from './coverage.js';

const HELP = `npm run hostile -- [options]

Reads damaged arrays, tables, samples, packs of features, adapters and metadata.
  --runs N        of each kind (4000)
  --executions N  of each reader, without engine and disk, inputs that reach new code damaged further
  --only KIND     of this one alone
  --seed N        (1)
  --accepted FOLDER  writes the damaged files that were read there, for tests/hostile/python_reads.py
  --help`;

const text = { type: 'string' };
const { values } = parseArgs({
  options: { runs: text, executions: text, seed: text, only: text, accepted: text, help: { type: 'boolean' } },
});
const seed = Number(values.seed ?? 1);

function tell({ faults, ...row }) {
  console.error(JSON.stringify({ ...row, faults: faults.length }));
  for (const fault of faults.slice(0, 3)) console.error(fault);
  if (faults.length) process.exitCode = 1;
}

async function execute() {
  const coverage = await Coverage.start(); // before the readers are imported
  const { executeAll, reachedBy } = await import('./parsers.js');
  process.stdout.write = () => true; // classes that are told
  await executeAll(Number(values.executions), seed, coverage, tell, values.only);
  for (const { file, count, missed } of await reachedBy(coverage))
    console.error(`${file}: ${missed.length} of ${count} lines not reached: ${missed.join(' ')}`);
}

/** A file that was read, and the numbers that were read in it. */
function keep(folder) {
  let count = 0;
  return (name, bytes, value) => {
    const file = path.join(folder, `${count++}.${name}`);
    writeFileSync(file, bytes);
    const arrays = Object.entries({ ...value?.inputs, ...value?.labels });
    const numbers = arrays.map(([key, { dims, data }]) => [key, { dims, data: Array.from(data, String) }]);
    if (arrays.length) writeFileSync(`${file}.numbers`, JSON.stringify(Object.fromEntries(numbers)));
  };
}

async function damage() {
  const { damageAll } = await import('./readers.js');
  const folder = mkdtempSync(path.join(tmpdir(), 'trainlet-hostile-'));
  try {
    const accepted = values.accepted ? keep(values.accepted) : undefined;
    const rows = await damageAll(folder, Number(values.runs ?? 4000), seed, accepted, values.only);
    rows.forEach(tell);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

if (values.help) console.log(HELP);
else if (values.executions) await execute();
else await damage();
