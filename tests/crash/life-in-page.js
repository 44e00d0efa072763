// A life in a page, whose address says ?who=…&other=…&round=…, the other one in a tab that it opens; ?person=1 is a
// person's life, ?sessions=1 one that saves whole sessions. Events are posted one after the other, and what was found
// waits for the answer.
import * as trainlet from '../../js/index.js';
import { KEEP, live } from './life.js';
import { livePerson } from './person.js';
import { liveSession } from './session-life.js';

const query = new URLSearchParams(location.search);
const other = query.get('other');
if (other) open(`?${new URLSearchParams({ who: other, round: query.get('round') })}`);
let turn = Promise.resolve();
const tell = (event) => {
  turn = turn
    .then(() => fetch(`/talk/${location.search}`, { method: 'POST', body: JSON.stringify(event) }))
    .then(() => {});
  return turn;
};
const golden = async (file) => await fetch(new URL(`../golden/data/${file}`, import.meta.url));
try {
  const recipe = await (await golden('w2.json')).json();
  const model = new Uint8Array(await (await golden(recipe.model)).arrayBuffer());
  const store = await trainlet.CheckpointStore.open({ database: 'crash', keep: KEEP });
  if (query.get('person')) {
    const samples = await trainlet.SampleStore.open({ name: 'crash' });
    await livePerson(trainlet, { model, samples, checkpoints: store, tell });
  }
  await (query.get('sessions') ? liveSession : live)(trainlet, {
    who: Number(query.get('who')),
    recipe,
    model,
    store,
    tell,
  });
} catch (error) {
  tell({ error: `${error.code ?? error.name}: ${error.message}` });
}
