/** SECURITY.md's table of limits: each row is a constant of the source, with that value. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const read = (path) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const rows = [...read('SECURITY.md').matchAll(/^\| `(\w+)` \| `([^`]+)` \| `([^`]+)` \| .+ \|$/gm)].map(
  ([, name, value, file]) => ({ name, value, file }),
);

test('there are limits of everything that grows', () => {
  assert.ok(rows.length >= 25, `${rows.length} rows`);
});

for (const { name, value, file } of rows) {
  test(`${name} of ${file} is ${value}`, () => {
    const definitions = [...read(file).matchAll(new RegExp(`\\b${name} = ([^,;}]+?)\\s*[,;}]`, 'g'))].map(([, found]) =>
      found.trim(),
    );
    assert.ok(
      definitions.includes(value),
      `${file} has ${definitions.length ? `${name} = ${definitions.join(' and ')}` : `no ${name}`}`,
    );
  });
}

test('the seconds of fuzzing in CI are those that it runs', () => {
  assert.match(read('.ci/run'), /^npm test -- --fuzz$/m);
  assert.equal([...read('tests/run.js').matchAll(/fuzz\('--short', '--seed', '1'/g)].length, 2);
  const ofFile = (text, pattern) => pattern.exec(text.replace(/\s+/g, ' '))?.slice(1);
  const said = ofFile(read('SECURITY.md'), /as takes about (\d+) seconds of a processor, at 32 bits (\d+)/);
  const short = ofFile(read('tests/fuzz/run.js'), /about (\d+) seconds of a processor \((\d+) with --m32\)/);
  assert.deepEqual(said, short);
  assert.equal(said.length, 2);
});
