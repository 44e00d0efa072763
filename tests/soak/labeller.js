// Labels samples anew until it is killed; says so of each.
// node labeller.js DIRECTORY ID...
import { writeSync } from 'node:fs';
import { SampleStore } from '../../js/storage/sample-store.js';

const [directory, ...ids] = process.argv.slice(2);
const store = await SampleStore.open({ directory });
for (let n = 1; ; n++) {
  for (const id of ids) await store.label(id, n % 2 ? 'a' : 'b');
  writeSync(1, `${n}\n`);
}
