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
  const ran = [...read('tests/run.js').matchAll(/'--seconds', '(\d+)'/g)].map(([, seconds]) => seconds);
  const [, ...said] = /CI runs each for (\d+) seconds, at 32 bits for (\d+)/.exec(
    read('SECURITY.md').replace(/\s+/g, ' '),
  );
  assert.deepEqual(said, ran);
});
