/** The page of errors has each code of the contract and no other, and all code throws these alone. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '../../support/engines.js';

const read = (/** @type {string} */ file) => readFileSync(path.join(root, file), 'utf8');
const CONTRACT = read('js/types/errors.d.ts');
const [, union] = /export type ErrorCode =([^;]*);/.exec(CONTRACT.replace(/\/\*\*[\s\S]*?\*\//g, '')) ?? [];
const CODES = [...union.matchAll(/'([a-z-]+)'/g)].map(([, code]) => code);
const PAGE = read('docs/guides/errors.md');

test('each code of the contract has its anchor, with cause and cure, in the same order', () => {
  const sections = PAGE.split(/^## /m).slice(1);
  assert.deepEqual(
    sections.map((section) => section.split('\n')[0]),
    CODES,
  );
  for (const section of sections) assert.match(section, /\n\*\*Cause\.\*\* [\s\S]+\n\n\*\*Cure\.\*\* /);
  assert.ok(CODES.length >= 19);
});

test('the contract points to the page', () => {
  assert.match(CONTRACT, /\/\*\*[^/]*docs\/guides\/errors\.md[^/]*\*\/\nexport type ErrorCode/);
  assert.match(read('README.md'), /\(docs\/guides\/errors\.md\)/);
});

test('the engine and the package throw codes of the contract alone', () => {
  const engine = [...read('src/status.def').matchAll(/^STATUS\(\w+, "([a-z-]+)"/gm)].map(([, code]) => code);
  assert.deepEqual(
    engine.filter((code) => code !== 'ok' && !CODES.includes(code)),
    [],
  );
  const files = execFileSync('git', ['ls-files', 'js/*.js'], { cwd: root, encoding: 'utf8' }).trim().split('\n');
  const thrown = files.flatMap((file) =>
    [...read(file).matchAll(/new TrainletError\(\s*'([a-z-]+)'/g)].map(([, code]) => code),
  );
  assert.ok(thrown.length > 40);
  assert.deepEqual(
    thrown.filter((code) => !CODES.includes(code)),
    [],
  );
});
