/** The changes that mutants are made of: each operand is cut as a whole. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesOf } from '../../mutants/changes.js';

const changed = (text, kind) =>
  changesOf(text)
    .filter((change) => change.kind === kind)
    .map(({ at, length, to }) => text.slice(0, at) + to + text.slice(at + length));

test('an operand that compares is dropped as a whole', () => {
  for (const compared of ['===', '!==', '==', '!=', '<=', '>=']) {
    const right = `c ${compared} d`;
    for (const [before, after] of [
      ['x = ', ';'],
      ['return ', ';'],
      ['if (', ') return 1;'],
      ['const f = (n) => ', ';'],
    ])
      assert.deepEqual(
        changed(`${before}a ${compared} b && ${right}${after}`, 'operand dropped'),
        [`${before}${right}${after}`, `${before}a ${compared} b${after}`],
        compared,
      );
  }
});

test('a condition that compares is turned round as a whole', () => {
  assert.ok(changed('return e === f ? g : h;', 'condition').includes('return !(e === f) ? g : h;'));
});
