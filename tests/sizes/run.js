// Prints what everything weighs beside the committed table, and takes the new figures over where they are wanted.

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ROWS } from './rows.js';
import { complaintOf, readTable, TABLE, weigh } from './weigh.js';

const HELP = `npm run sizes -- [options]    what the built files weigh, in bytes, \
and by how much they grew since tests/sizes/table.json
  --take    writes the table anew
  --help
A row that grew by 2 % fails npm test; rows are in tests/sizes/rows.js. \
In a pull request that grows on purpose, take the
figures over and say why.`;

const { values } = parseArgs({ options: { help: { type: 'boolean' }, take: { type: 'boolean' } } });
if (values.help) console.log(HELP);
else {
  const table = readTable();
  const taken = {};
  for (const row of ROWS) {
    const now = await weigh(row);
    const before = table[row.name];
    taken[row.name] = now;
    const by = before ? `${now.brotli < before.brotli ? '' : '+'}${now.brotli - before.brotli}` : 'new';
    const { files, raw, gzip, brotli } = now;
    console.log(
      `${row.name}: ${files > 1 ? `${files} files, ` : ''}raw ${raw}, gzip ${gzip}, brotli ${brotli} (${by})`,
    );
    const complaint = complaintOf(row, now, before);
    if (complaint && !values.take) console.log(complaint);
  }
  if (values.take) writeFileSync(TABLE, `${JSON.stringify(taken, null, 1)}\n`);
}
