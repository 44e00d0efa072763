// Files that a page loads first and on first use: offline that call fails with a sentence, nothing else is lost, online
// again it works.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openSite } from './site.js';

let site;
before(async () => {
  site = await openSite();
});
after(() => site?.close());

/** In the page: a session of a small network, its data, and the package. */
async function open() {
  const trainlet = await import('/js/index.js');
  const model = new Uint8Array(await (await fetch('/golden/mlp_small.onnx')).arrayBuffer());
  const artifacts = await trainlet.generateArtifacts(model, { loss: 'cross-entropy' });
  const input = new trainlet.Tensor('float32', new Float32Array(160).fill(0.5), [8, 20]);
  const labels = new trainlet.Tensor('int64', [0, 1, 2, 3, 4, 0, 1, 2]);
  const session = await trainlet.TrainingSession.create(artifacts);
  Object.assign(globalThis, {
    trainlet,
    session,
    feeds: { input, labels },
    data: { inputs: { input }, labels: { labels } },
  });
}

/** Result of a call, or its error. @param {string} name */
const call = async (name) => {
  const { session, trainlet, feeds, data } = globalThis;
  const calls = {
    fit: async () => (await session.fit(data, { batchSize: 8 })).stopped,
    evaluate: async () => Number.isFinite((await session.evaluate(data)).loss),
    ort: async () => (await session.exportModel({ format: 'ort' })).length > 1000,
    step: async () => Number.isFinite((await session.step(feeds)).loss),
    store: async () => (await trainlet.CheckpointStore.open()).save('run', await session.saveCheckpoint()),
  };
  return await calls[name]().catch(({ code, message }) => ({ code, message }));
};

test('offline, what was not loaded yet is told in a sentence, and works when the page is online again', async () => {
  const { context, page } = await site.newPage();
  const loaded = [];
  page.on('request', (request) => loaded.push(new URL(request.url()).pathname));
  await page.evaluate(open);
  for (const late of [
    'fit/fit',
    'fit/evaluate',
    'data/dataset',
    'storage/versions',
    'storage/indexeddb',
    'media/image',
    'data/augment',
    'data/worker-augment',
    'storage/samples',
    'storage/sample-file',
    'media/audio',
    'engine/transport-inline',
    'session/external-loss',
    'formats/ort-model',
    'engine/serve',
    'engine/core',
    'storage/folder',
    'engine/transport-node',
  ])
    assert.ok(!loaded.includes(`/js/${late}.js`), `${late}.js was loaded at first: ${loaded.join(', ')}`);

  await context.setOffline(true);
  const names = ['fit', 'evaluate', 'store', 'ort'];
  for (const name of names) {
    const { code, message } = await page.evaluate(call, name);
    assert.equal(code, 'source-unreadable', message);
    assert.match(message, /^a part of trainlet could not be loaded \(offline, /);
  }
  assert.equal(await page.evaluate(call, 'step'), true, 'the session goes on');

  await context.setOffline(false);
  const came = [];
  for (const name of names) came.push(await page.evaluate(call, name));
  assert.deepEqual(came, ['completed', true, 1, true]);
  await context.close();
});
