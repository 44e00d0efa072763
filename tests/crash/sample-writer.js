// Adds samples until it is killed, labels every third anew and deletes every fifth; says so when each is acknowledged.
// node sample-writer.js DIRECTORY NAME WHO
import { writeSync } from 'node:fs';
import { SampleStore, Tensor } from '../../js/index.js';

const [directory, name, who] = process.argv.slice(2);
const store = await SampleStore.open({ directory, name });
const tell = (told) => writeSync(1, `${JSON.stringify(told)}\n`);
for (let n = 1; ; n++) {
  const x = new Tensor('float32', new Float32Array(5000).fill(n), [1, 5000]);
  const id = await store.add({ inputs: { x }, label: `of ${who}`, meta: { n } });
  tell({ id, n, label: `of ${who}` });
  if (n % 3 === 0) {
    tell({ id, n, labelling: 'third' });
    await store.label(id, 'third');
    tell({ id, n, label: 'third' });
  }
  if (n % 5 === 0) {
    tell({ id, n, deleting: true });
    await store.delete(id);
    tell({ id, n, deleted: true });
  }
}
