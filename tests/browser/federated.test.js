// trainlet/federated in Chromium, from dist/: two tabs with keys of their own, which stay, at a SuperLink of the test.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { buildDist } from '../../tools/dist.mjs';
import { FakeSuperLink, sealContent } from '../support/fake-superlink.js';
import { openSite } from './site.js';

let site;
const link = new FakeSuperLink();
let superLink;
before(async () => {
  await buildDist();
  superLink = await link.start();
  site = await openSite();
});
after(async () => {
  await site?.close();
  link.stop();
});

/** A tab that has joined, and the node's number and key. */
async function join(context, address) {
  const page = await context.newPage();
  await page.goto(address);
  const found = await page.evaluate(async () => {
    const { generateArtifacts, TrainingSession, tensor } = await import('/dist/index.js');
    const { dense, input, sequential } = await import('/dist/layers.js');
    const { SuperNode } = await import('/dist/federated.js');
    const network = await sequential([input([2]), dense(2)], { seed: 1 });
    const artifacts = await generateArtifacts(network, { loss: 'cross-entropy', optimizer: 'sgd' });
    const session = await TrainingSession.create(artifacts);
    const points = [0, 1, 2].map((i) => [i, 1 - i]);
    const data = { inputs: tensor(points), labels: tensor([0, 1, 1], 'int64') };
    const node = await SuperNode.connect('/flower', { session, data, pollMs: 20, identity: 'room' });
    Object.assign(globalThis, { node, session });
    const keys = await new Promise((resolve) => {
      const opening = indexedDB.open('trainlet-federated');
      opening.onsuccess = () => {
        const asked = opening.result.transaction('info').objectStore('info').getAll();
        asked.onsuccess = () => resolve(asked.result.map(({ meta: { key } }) => [key.type, key.extractable]));
      };
    });
    return { id: node.id, key: node.publicKey, keys };
  });
  return { page, ...found };
}

test('tabs join with keys that no script can read, train in a round, and are the same nodes next time', async () => {
  const { context, page: first } = await site.newPage();
  const address = first.url();
  await context.route('**/flower/**', async (route) => {
    const url = `${superLink}${new URL(route.request().url()).pathname.replace('/flower', '')}`;
    await route.fulfill({ response: await route.fetch({ url }) }).catch(() => {}); // a tab that is closed
  });
  const tabs = [await join(context, address), await join(context, address)];
  assert.notEqual(tabs[0].id, tabs[1].id);
  assert.deepEqual(tabs[1].keys, [
    ['private', false],
    ['private', false],
  ]);
  const content = await sealContent(
    new Map([
      ['dense/kernel', { dims: [2, 2], data: Float32Array.of(1, 2, 3, 4) }],
      ['dense/bias', { dims: [2], data: Float32Array.of(0, 0) }],
    ]),
  );
  const replies = await Promise.all(tabs.map(({ id }) => link.ask(BigInt(id), 'train', content)));
  for (const { error, contents } of replies) assert.deepEqual([error, contents.size], [undefined, 8]);
  const [{ page, key }, other] = tabs;
  await page.evaluate(async () => {
    await globalThis.node.leave();
    await globalThis.session.release();
  });
  await page.close();
  const again = await join(context, address);
  assert.deepEqual([again.id, again.key], [tabs[0].id, key]);
  await again.page.close();
  await other.page.close(); // without a word: the browser frees its key
  const last = await join(context, address);
  assert.equal(last.id, tabs[0].id);
  await context.close();
});
