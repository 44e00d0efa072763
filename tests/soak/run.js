// Processes that save with `keep`, and one that loads all the while: a load must never say that there is nothing.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { KEEPS, soak } from './soak.js';

const HELP = `npm run soak -- [options]    loads, lists and reads samples while another process saves and labels them
  --minutes N    of checkpoints, half of them with keep ${KEEPS.join(', half with keep ')} (10)
  --samples N    minutes of samples that another process labels (1)
  --help`;

const text = { type: 'string' };
const { values } = parseArgs({ options: { minutes: text, samples: text, help: { type: 'boolean' } } });
const folder = mkdtempSync(path.join(tmpdir(), 'trainlet-soak-'));
try {
  if (values.help) console.log(HELP);
  else {
    const ms = { checkpoints: Number(values.minutes ?? 10) * 60_000, samples: Number(values.samples ?? 1) * 60_000 };
    for (const row of await soak(folder, ms)) {
      console.log(JSON.stringify(row));
      if (row.nothing) process.exitCode = 1;
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
