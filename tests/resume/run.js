// Random resumes (tests/resume/resume.js).
import { parseArgs } from 'node:util';
import { resumeAtRandom } from './resume.js';

const HELP = `npm run resumes -- [options]    cuts random programs at random saves and goes on with them, to the bit
  --runs N    (120)
  --seed N    the first of their seeds (1)
  --help`;

const text = { type: 'string' };
const { values } = parseArgs({ options: { runs: text, seed: text, help: { type: 'boolean' } } });
if (values.help) console.log(HELP);
else {
  const counts = { runs: 0, behindTheLastSave: 0, different: 0 };
  for (let i = 0; i < Number(values.runs ?? 120); i++) {
    const result = await resumeAtRandom(Number(values.seed ?? 1) + i);
    counts.runs++;
    if (result.ended) counts.behindTheLastSave++;
    if (result.same) continue;
    counts.different++;
    console.error(JSON.stringify(result));
  }
  console.log(JSON.stringify(counts));
  if (counts.different) process.exitCode = 1;
}
