// Firefox, headless and without a driver: a page trains by itself and posts what came of it. The same bits as
// everywhere else.
import assert from 'node:assert/strict';
import { cpus } from 'node:os';
import { after, before, test } from 'node:test';
import { startFirefox } from './firefox.js';
import { assertNearLiterals, literalsOf, openRepository, recipeOf } from './repository.js';

const THREADS = [1, 2, 4];
const work = [
  ...THREADS.flatMap((threads) =>
    ['w2', 'transformer'].map((name) => ({ what: 'bitsInPage', name, options: { threads, reproducible: true } })),
  ),
  { what: 'bitsInPage', name: 'w2', options: {} },
  { what: 'resumedInPage', name: 'w2', options: { reproducible: true } },
];
const tasks = work.map((item) => ({ ...item, recipe: recipeOf(item.name) }));
const script = `
  import * as page from './tests/browser/train-in-page.js';
  for (const { what, recipe, options } of ${JSON.stringify(tasks)}) {
    const answer = await page[what](recipe, options).catch((error) => ({ error: String(error) }));
    await fetch('/talk/answer', { method: 'POST', body: JSON.stringify({ ...answer, isolated: crossOriginIsolated }) });
  }`;

let firefox, site;
/**
 * The page's posts, in the order of `work`, with the names of all files loaded by then; each is awaited where it is
 * used.
 */
const resolvers = [];
const answers = work.map(
  () =>
    new Promise((resolve) => {
      resolvers.push(resolve);
    }),
);
before(async () => {
  let heard = 0;
  site = await openRepository({
    script,
    talk: async (request, response) => {
      resolvers[heard++]({ ...(await new Response(request).json()), files: new Set(site.files) });
      response.end();
    },
  });
  firefox = startFirefox(site.url('isolated'));
  firefox.ended.then((error) => resolvers.forEach((resolve) => resolve({ error })));
});
after(async () => {
  await firefox.close();
  site.close();
});

const answered = async (wanted) => {
  const { isolated, ...answer } = await answers[work.findIndex(wanted)];
  assert.equal(answer.error, undefined);
  assert.equal(isolated, true);
  return answer;
};

for (const threads of THREADS) {
  test(`Firefox, ${threads} thread${threads > 1 ? 's' : ''}: the literal bits`, { timeout: 120_000 }, async () => {
    for (const name of ['w2', 'transformer']) {
      const { files, ...bits } = await answered((item) => item.name === name && item.options.threads === threads);
      assert.deepEqual(bits, literalsOf(name), name);
      // the first, which one thread trained, was there before
      assert.equal(files.has('trainlet-threads.wasm'), threads > 1);
    }
  });
}

test('Firefox: the default build trains the same within rounding', { timeout: 120_000 }, async () => {
  const { files, ...bits } = await answered(({ options }) => Object.keys(options).length === 0);
  assert.ok(
    files.has(cpus().length > 1 ? 'trainlet-threads-relaxed.wasm' : 'trainlet-relaxed.wasm'),
    [...files].join(' '),
  );
  assertNearLiterals(bits, 'w2');
});

test('Firefox: a session resumes from IndexedDB to the bit', { timeout: 120_000 }, async () => {
  assert.deepEqual(
    (await answered(({ what }) => what === 'resumedInPage')).losses,
    literalsOf('w2').losses.slice(0, 4),
  );
});
