// README's examples in a page without a bundler, as they are pasted, by the package's files and an import map.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { buildDist } from '../../tools/dist.mjs';
import { openRepository } from './repository.js';
import { launch } from './visitor.js';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const EXAMPLES = [...readme.matchAll(/^```js\n(.*?)^```/gms)].map(([, code]) => code);
const { exports } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
/** The import map that a page without a bundler has. */
const imports = Object.fromEntries(
  ['.', './layers', './models'].map((entry) => [
    `trainlet${entry.slice(1)}`,
    `/plain/${exports[entry].default.replace('./', '')}`,
  ]),
);

let browser;
before(async () => {
  await buildDist();
  browser = await launch();
});
after(() => browser?.close());

/** Each example's print, and the files that are loaded for it alone. */
const WANTED = [
  { printed: /^accuracy (1|0\.9\d*); the model has \d{3,} bytes$/, pictures: 0 },
  { printed: /^\[down, across\]$/, pictures: 1 },
];

for (const [i, { printed, pictures }] of WANTED.entries())
  test(`example ${i + 1} of README.md`, { timeout: 120_000 }, async () => {
    const site = await openRepository({ script: EXAMPLES[i], imports });
    const page = await browser.newPage();
    try {
      const complaints = [];
      page.on('pageerror', (error) => complaints.push(String(error)));
      const said = page.waitForEvent('console', { timeout: 100_000 });
      await page.goto(site.url('plain'));
      const text = (await said).text();
      assert.deepEqual(complaints, []);
      assert.match(text, printed);
      const loaded = site.files.filter((file) => file === 'pictures.onnx').length;
      assert.equal(loaded, pictures, 'only the page that uses the network loads it');
    } finally {
      await page.close();
      await site.close();
    }
  });
