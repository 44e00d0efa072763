// A life in a process of Node: node life-in-node.js DIRECTORY WHO [sessions]; events go out as lines of JSON.
import { readFileSync, writeSync } from 'node:fs';
import * as trainlet from '../../js/index.js';
import { KEEP, live } from './life.js';
import { liveSession } from './session-life.js';

const [directory, who, kind] = process.argv.slice(2);
const golden = (file) => readFileSync(new URL(`../golden/data/${file}`, import.meta.url));
const recipe = JSON.parse(golden('w2.json'));
const store = await trainlet.CheckpointStore.open({ directory, keep: KEEP });
await (kind === 'sessions' ? liveSession : live)(trainlet, {
  who: Number(who),
  recipe,
  model: golden(recipe.model),
  store,
  tell: (event) => {
    writeSync(1, `${JSON.stringify(event)}\n`);
  },
});
