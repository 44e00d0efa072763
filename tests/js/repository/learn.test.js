/**
 * The tutorials do not lie: the code of each page runs as it stands, and prints what the page shows below it. Numbers
 * may differ by a tenth, or by 0.05.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '../../support/engines.js';
import { runInNode } from '../../support/playground.js';

const FOLDER = path.join(root, 'docs/learn');
const PAGES = readdirSync(FOLDER).filter((file) => file !== 'index.md');
const FENCE = /^```(.*)\n([\s\S]*?)^```$/gm;
const NUMBER = /-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?/g;

/** The runnable blocks of a page, each with the output that the page shows. @param {string} text */
function blocksOf(text) {
  /** @type {{ code: string, output?: string }[]} */
  const blocks = [];
  for (const [, info, body] of text.matchAll(FENCE)) {
    if (info === 'js run') blocks.push({ code: body });
    else if (info === 'text') blocks[blocks.length - 1].output = body.trimEnd();
  }
  return blocks;
}

/** @param {string} line */
const numbersOf = (line) => (line.match(NUMBER) ?? []).map((text) => Number(text.replaceAll(',', '')));
/** @param {string[]} printed @param {string} shown @param {string} where */
function assertShown(printed, shown, where) {
  const words = (/** @type {string} */ text) => text.replace(NUMBER, '#').trimEnd();
  assert.equal(words(printed.join('\n')), words(shown), where);
  const [came, wanted] = [numbersOf(printed.join('\n')), numbersOf(shown)];
  wanted.forEach((number, i) => {
    const far = Math.abs(came[i] - number);
    assert.ok(far <= Math.max(0.05, 0.1 * Math.abs(number)), `${where}: ${came[i]} came, the page says ${number}`);
  });
}

for (const page of PAGES)
  test(`${page}: each block prints what the page says`, { timeout: 120_000 }, async () => {
    const blocks = blocksOf(readFileSync(path.join(FOLDER, page), 'utf8'));
    assert.ok(blocks.length >= 3, 'it has code to run');
    const done = await runInNode(blocks.map(({ code }) => code));
    assert.ok(done.plots.length > 5, 'a chart grows');
    blocks.forEach(({ output }, i) => {
      if (output !== undefined) assertShown(done.printed[i], output, `${page}, block ${i + 1}`);
    });
    assert.ok(blocks.filter(({ output }) => output).length >= 2, 'it shows what comes out');
  });

test('the menu of the site names each tutorial', () => {
  const config = readFileSync(path.join(root, 'docs/.vitepress/config.mjs'), 'utf8');
  const [, names = ''] = /Learn: \[(.*)\]/.exec(config) ?? [];
  assert.deepEqual([...names.matchAll(/'([\w-]+)'/g)].map(([, name]) => `${name}.md`).sort(), PAGES.sort());
});
