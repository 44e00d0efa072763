// Augmentation in Chromium: its own worker, a module of the page's by URL, the same bits as in Node; refusals.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { generateArtifacts, Tensor, TrainingSession } from '../../js/index.js';
import { openSite } from './site.js';

let site;
before(async () => {
  site = await openSite();
});
after(() => site?.close());

/** In the page and in Node: the losses of a fit. */
const lossesOf = async ({ generateArtifacts, Tensor, TrainingSession }, model, augment) => {
  const artifacts = await generateArtifacts(model, { loss: 'cross-entropy' });
  const input = new Tensor(
    'float32',
    Float32Array.from({ length: 160 }, (_, i) => Math.round(9 * Math.sin(i)) / 9),
    [8, 20],
  );
  const labels = new Tensor('int64', [0, 1, 2, 3, 4, 0, 1, 2]);
  const session = await TrainingSession.create(artifacts, { reproducible: true });
  const options = { epochs: 3, batchSize: 3, seed: 5, augment };
  const told = await session.fit({ inputs: { input }, labels: { labels } }, options).then(
    ({ epochs }) => epochs.map(({ loss }) => loss),
    ({ code, message }) => [code, message],
  );
  await session.release();
  return told;
};

/** @param {string} list of the steps, as code @param {object} [configured] options of all engines */
async function inPage(list, configured = {}, prepare = async (/** @type {any} */ _page) => {}) {
  const { context, page } = await site.newPage();
  await prepare(page);
  try {
    return await page.evaluate(
      async ([code, steps, options]) => {
        (await import('/js/index.js')).configure(options);
        const model = new Uint8Array(await (await fetch('/golden/mlp_small.onnx')).arrayBuffer());
        const work = new Function('steps', `return (${code})(...steps)`);
        return await work([await import('/js/index.js'), model, new Function(`return ${steps}`)()]);
      },
      [String(lossesOf), list, configured],
    );
  } finally {
    await context.close();
  }
}

test('steps give the losses that they give in Node', async () => {
  // no sine: browsers may differ in its last bit
  const steps = "[{ type: 'shift', x: 0.3 }, { type: 'scale', by: 0.5 }]";
  const model = new Uint8Array(await readFile(new URL('../golden/data/mlp_small.onnx', import.meta.url)));
  const wanted = await lossesOf(
    { generateArtifacts, Tensor, TrainingSession },
    model,
    new Function(`return ${steps}`)(),
  );
  assert.equal(wanted.length, 3);
  assert.deepEqual(await inPage(steps), wanted);
  // the script beside a worker that lies elsewhere, and the package's own where there is none
  const configured = { worker: false, workerUrl: '/moved/worker.js' };
  assert.deepEqual(await inPage(steps, configured), wanted);
  const body = await readFile(new URL('../../js/data/worker-augment.js', import.meta.url));
  const fetched = [];
  const prepare = (/** @type {import('playwright-core').Page} */ page) =>
    page.route('**/worker-augment.js', (route) => {
      fetched.push(new URL(route.request().url()).pathname);
      return route.fulfill({ body, contentType: 'text/javascript' });
    });
  assert.deepEqual(await inPage(steps, configured, prepare), wanted);
  assert.deepEqual([...new Set(fetched)], ['/moved/worker-augment.js']);
});

test('a module of the page changes batches, and one that is not there is told', async () => {
  const code = 'export default ({ data }) => { data.fill(0.25); };';
  const losses = await inPage(`[{ module: ${JSON.stringify(`data:text/javascript,${code}`)} }]`);
  assert.ok(losses.every((loss) => loss > 0) && losses.length === 3, String(losses));
  const [error, message] = await inPage("[{ module: '/js/nothing.mjs' }]");
  assert.equal(error, 'invalid-argument');
  assert.match(message, /^augment: .*nothing\.mjs/);
});
