// Threads in headless Chromium: the same bits for every count, in a worker and in the page itself, and one thread where
// memory cannot be shared.
import assert from 'node:assert/strict';
import { cpus } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { assertNearLiterals, literalsOf, openRepository, recipeOf } from './repository.js';
import { launch } from './visitor.js';

let browser, site;
before(async () => {
  site = await openRepository();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  site.close();
});

/** The bits of a network trained in a page; what the page asked for, and said. */
async function train(kind, name, engine) {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const seen = { files: [], lines: [] };
    context.on('request', (request) => {
      seen.files.push(path.basename(request.url()));
    });
    page.on('console', (message) => {
      seen.lines.push(message.text());
    });
    page.on('pageerror', (error) => {
      seen.lines.push(String(error));
    });
    await page.goto(site.url(kind));
    const bits = await page.evaluate(
      async ([recipe, options]) => {
        const { bitsInPage } = await import(`${location.pathname}tests/browser/train-in-page.js`);
        return bitsInPage(recipe, options);
      },
      [recipeOf(name), engine],
    );
    return { bits, ...seen };
  } finally {
    await context.close();
  }
}

const workersIn = (files) => files.filter((file) => file === 'worker.js').length;

for (const worker of [true, false]) {
  for (const threads of [1, 2, 4]) {
    test(`${threads} thread${threads > 1 ? 's' : ''}, worker: ${worker}`, { timeout: 120_000 }, async () => {
      for (const name of ['w2', 'transformer']) {
        const { bits, files, lines } = await train('isolated', name, { threads, worker, reproducible: true });
        assert.deepEqual(bits, literalsOf(name), name);
        assert.deepEqual(lines, []);
        const wasm = threads > 1 ? 'trainlet-threads.wasm' : 'trainlet.wasm';
        assert.deepEqual([...new Set(files.filter((file) => file.endsWith('.wasm')))], [wasm]);
        // the engine that made the artifacts is the session's
        assert.equal(workersIn(files), Number(worker) + threads - 1);
      }
    });
  }
}

for (const kind of ['isolated', 'plain']) {
  test(`unless bits are to be reproducible, relaxed SIMD is used (${kind} page)`, { timeout: 120_000 }, async () => {
    const { bits, files, lines } = await train(kind, 'w2', {});
    assert.deepEqual(lines, []);
    const wasm = new Set(files.filter((file) => file.endsWith('.wasm')));
    assert.deepEqual(
      [...wasm],
      [kind === 'isolated' && cpus().length > 1 ? 'trainlet-threads-relaxed.wasm' : 'trainlet-relaxed.wasm'],
    );
    assertNearLiterals(bits, 'w2');
  });
}

test('a page that is not isolated says so once and uses one thread', { timeout: 120_000 }, async () => {
  const asked = await train('plain', 'mlp_clip', { threads: 4, reproducible: true });
  assert.deepEqual(asked.bits, literalsOf('mlp_clip'));
  assert.equal(asked.lines.length, 1);
  assert.match(asked.lines[0], /one thread computes instead of 4, because this page is not cross-origin isolated/);
  const auto = await train('plain', 'mlp_clip', { reproducible: true });
  assert.deepEqual([auto.bits, auto.lines], [literalsOf('mlp_clip'), []]);
  for (const { files } of [asked, auto])
    assert.deepEqual([...new Set(files.filter((file) => file.endsWith('.wasm')))], ['trainlet.wasm']);
});
