// Damaged data files by the thousand through the readers (tests/hostile/readers.js).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { damageAll } from './readers.js';

const HELP = `npm run hostile -- [options]    reads damaged .npz, .npy, CSV, JSON lines, samples, adapters, metadata
  --runs N    of each kind (4000)
  --only KIND of this one alone
  --seed N    (1)
  --accepted FOLDER  writes the damaged files that were read there, for tests/hostile/python_reads.py
  --help`;

const text = { type: 'string' };
const { values } = parseArgs({
  options: { runs: text, seed: text, only: text, accepted: text, help: { type: 'boolean' } },
});
const folder = mkdtempSync(path.join(tmpdir(), 'trainlet-hostile-'));
try {
  if (values.help) console.log(HELP);
  else {
    let count = 0;
    const keep = (name, bytes) =>
      values.accepted && writeFileSync(path.join(values.accepted, `${count++}.${name}`), bytes);
    for (const row of await damageAll(
      folder,
      Number(values.runs ?? 4000),
      Number(values.seed ?? 1),
      keep,
      values.only,
    )) {
      console.error(JSON.stringify({ ...row, faults: row.faults.length }));
      for (const fault of row.faults.slice(0, 3)) console.error(fault);
      if (row.faults.length) process.exitCode = 1;
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
