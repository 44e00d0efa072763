/**
 * The sources of the site, without its packages: every exported name has a sentence, the landing's figures are the
 * README's, menus name pages, newcomers' questions are answered, and the page on tests counts those that there are.
 * `npm run site:test` visits the site itself.
 */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { testingPage } from '../../docs/testing.js';
import { root } from '../../support/engines.js';

const read = (/** @type {string} */ file) => readFileSync(path.join(root, file), 'utf8');
const TYPES = ['js/types', 'js/types/layers'].flatMap((folder) =>
  readdirSync(path.join(root, folder))
    .filter((file) => file.endsWith('.d.ts'))
    .map((file) => `${folder}/${file}`),
);

/** Exported names of a file of types above which no comment ends; of overloads one is enough. @param {string} text */
function bareNames(text) {
  const lines = text.split('\n');
  const names = lines.flatMap((line, i) => {
    const [, name] = /^export (?:declare |abstract )*(?:const|function|class|interface|type) (\w+)/.exec(line) ?? [];
    return name ? [{ name, isTold: lines[i - 1]?.trimEnd().endsWith('*/') }] : [];
  });
  const told = new Set(names.filter(({ isTold }) => isTold).map(({ name }) => name));
  return [...new Set(names.map(({ name }) => name))].filter((name) => !told.has(name));
}

test('every exported name has a sentence in the reference', () => {
  assert.ok(TYPES.length > 20, `${TYPES.length} files`);
  assert.deepEqual(
    TYPES.flatMap((file) => bareNames(read(file)).map((name) => `${file}: ${name}`)),
    [],
  );
  assert.deepEqual(bareNames('/** A. */\nexport type A = 1;\n\nexport interface B {}\n'), ['B']);
});

test("the menus name pages that are there, and the landing's figures stand in the README", () => {
  const config = read('docs/.vitepress/config.mjs');
  const groups = [...config.matchAll(/^const ([A-Z]+) = (\{\n.*?^\});/gms)];
  const folders = { GUIDES: 'guides', MEASURED: 'measured', INTERNALS: 'internals' };
  const elsewhere = [...read('tools/site.mjs').matchAll(/^ {2}'([\w/-]+\.md)': /gm)].map(([, page]) => page);
  for (const [, name, text] of groups.filter(([, name]) => name in folders)) {
    const pages = [...text.matchAll(/'([a-z0-9-]+)'(?!:)/g)].map(([, page]) => `${folders[name]}/${page}.md`);
    assert.ok(pages.length > 4, name);
    const isThere = (page) => elsewhere.includes(page) || existsSync(path.join(root, 'docs', page));
    assert.deepEqual(
      pages.filter((page) => !isThere(page)),
      [],
    );
  }
  assert.equal(groups.filter(([, name]) => name in folders).length, 3);
  assert.equal(read('README.md').match(/^\| \*\*.*\*\* \| .* \| `npm run .*` \|$/gm)?.length, 4);
  assert.match(read('docs/index.md'), /^README\.md's figures$/m);
});

test("the landing's pad finds in the demo's modules what it calls", async () => {
  const files = [...read('docs/.vitepress/theme/heart.js').matchAll(/'([\w-]+\.js)'/g)].map(([, file]) => file);
  assert.ok(files.length > 2, `${files}`);
  const modules = await Promise.all(files.map((file) => import(path.join(root, 'web-demo', file))));
  const demo = Object.assign({}, ...modules);
  const code = read('docs/.vitepress/theme/heart.js') + read('docs/.vitepress/theme/HeartPad.vue');
  const called = [...code.matchAll(/demo\.(\w+)/g)].map(([, name]) => name);
  const taken = [...code.matchAll(/const \{ (.*) \} = this\.#demo/g)].flatMap(([, names]) => names.split(', '));
  assert.ok(called.length > 4 && taken.length > 2, `${called}; ${taken}`);
  assert.deepEqual(
    [...called, ...taken].filter((name) => !(name in demo)),
    [],
  );
});

test('twenty questions of newcomers are answered, each with a page that says more', () => {
  const answers = read('docs/guides/faq.md').split(/^### /m).slice(1);
  assert.ok(answers.length >= 20, `${answers.length} questions`);
  for (const answer of answers) assert.ok(/^.*\?\n/.test(answer) && answer.includes(']('), answer.split('\n')[0]);
});

test('the page on tests counts what is there, within a tenth', () => {
  const NUMBER = /\d[\d,]*/g;
  const [page, now] = [read('docs/measured/testing.md'), testingPage()];
  assert.equal(page.replace(NUMBER, '#'), now.replace(NUMBER, '#'), 'npm run docs:testing writes the page');
  const [told, counted] = [page, now].map((text) => text.match(NUMBER).map((n) => Number(n.replaceAll(',', ''))));
  assert.ok(counted.length > 20 && counted.every(Number.isFinite));
  told.forEach((n, i) => {
    assert.ok(
      Math.abs(n - counted[i]) <= Math.max(2, counted[i] / 10),
      `${n}, not ${counted[i]}: npm run docs:testing`,
    );
  });
});
