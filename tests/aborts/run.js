// Aborts and releases amid long runs by the hundred (tests/aborts/aborts.js): what is heard too late is a fault.
import { parseArgs } from 'node:util';
import { abortRuns, figures, KINDS, releaseAmid } from './aborts.js';

const HELP = `npm run aborts -- [options]    aborts long runs at random moments, on an idle machine
  --runs N    of each kind (200)
  --help`;
const { values } = parseArgs({ options: { runs: { type: 'string' }, help: { type: 'boolean' } } });
const runs = Number(values.runs ?? 200);
const show = (kind, taken, most) => {
  const row = { kind, ...figures(taken), allowed: most };
  console.error(JSON.stringify(row));
  if (row.most > most) process.exitCode = 1;
};
if (values.help) console.log(HELP);
else {
  for (const [kind, { most }] of Object.entries(KINDS)) show(kind, await abortRuns(kind, runs), most);
  show('release amid MatMul', await releaseAmid('MatMul', runs), KINDS.MatMul.most);
}
