/** Python's regular expressions, beside JavaScript's where both mean the same, and hostile ones, which must end. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fullMatch } from '../../../js/base/regular-expression.js';

/** Numbers below n, by a linear congruence, so that a failure can be repeated. */
function random(seed) {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

const ATOMS = ['a', 'b', 'c', 'A', '1', '_', '.', '\\.', '-', '[abc]', '[^a]', '[a-c1]', '[\\w.]', '[^\\d_]', '[a\\-]'];
const PLACES = ['\\d', '\\w', '\\W', '\\s', '\\D', '\\S', '\\x61', '\\u0062'];
const REPEATS = ['', '', '', '*', '+', '?', '{2}', '{1,2}', '{0,1}?', '{1,}', '*?', '+?', '??'];

/** A pattern that Python and JavaScript read alike, if `-` and `_` are no letters of a class. */
function patternOf(below, depth = 2) {
  const pick = (list) => list[below(list.length)];
  const atom = () => {
    if (depth === 0 || below(3)) return below(3) ? pick(ATOMS) : pick(PLACES);
    return `${pick(['(', '(?:', '(?=', '(?!'])}${patternOf(below, depth - 1)})`;
  };
  const part = () => {
    const one = atom();
    return one.startsWith('(?=') || one.startsWith('(?!') ? one : one + pick(REPEATS);
  };
  const sequence = () => Array.from({ length: below(4) }, part).join('');
  return Array.from({ length: 1 + below(2) }, sequence).join('|');
}

test('random patterns match what JavaScript matches', () => {
  const below = random(7);
  const letters = ['a', 'b', 'c', 'A', '1', '_', '.', '-', ' '];
  let matched = 0;
  for (let i = 0; i < 2000; i++) {
    const pattern = patternOf(below);
    const [own, host] = [fullMatch(pattern), new RegExp(`^(?:${pattern})$`, 'u')];
    for (let j = 0; j < 10; j++) {
      const text = Array.from({ length: below(6) }, () => letters[below(letters.length)]).join('');
      assert.equal(own(text), host.test(text), `${pattern} on '${text}'`);
      matched += Number(own(text));
    }
  }
  assert.ok(matched > 1000, `${matched} matched`);
});

test("Python's own: ends, counts, flags, names and letters", () => {
  // These are the results of CPython 3.11's re.fullmatch.
  const rows = [
    ['a$', 'a\n', false],
    ['a$\\n', 'a\n', true],
    ['a\\Z\\n', 'a\n', false],
    ['\\Aa', 'a', true],
    ['a{,2}', 'aa', true],
    ['a{,2}', 'aaa', false],
    ['a{x}', 'a{x}', true],
    ['(?i)É[a-c]', 'éB', true],
    ['(?is).', '\n', true],
    ['.', '\n', false],
    ['(?P<layer>\\d+)\\.q', '12.q', true],
    ['\\w+', 'naïve_1', true],
    ['\\w', '-', false],
    ['[]a]', ']', true],
    ['\\bq\\b.*', 'q.v', true],
    ['.*\\.(?!lm_head)\\w+', 'model.lm_head', false],
    ['(a|ab)(c|bcd)', 'abcd', true],
  ];
  for (const [pattern, text, expected] of rows)
    assert.equal(fullMatch(pattern)(text), expected, `${pattern} on ${text}`);
});

test('what it does not read is refused', () => {
  const wrong = [
    '(',
    ')',
    '[',
    'a{2,1}',
    '*',
    'a**',
    'a++',
    '^*',
    '(a)\\1',
    '(?<=a)b',
    '(?>a)',
    '(?x)a',
    '\\q',
    '[b-a]',
    'a\\',
  ];
  for (const pattern of wrong) assert.throws(() => fullMatch(pattern), /^Error: which /, pattern);
});

test('hostile patterns end within two seconds, for 500 names', () => {
  const names = Array.from({ length: 500 }, (_, i) => `base_model.model.layers.${i}.self_attn.q_proj`);
  const hostile = [
    '(.?){40}X',
    '(a|a)*b',
    '(.*)*X',
    '((.?){100}){100}',
    '(?=(.*)*X).*',
    '((?=(.*)*).?)*',
    '(a{1000}){1000}',
  ];
  const more = [
    '(){9999}',
    '((){9999}){9999}',
    '(|){99999999}',
    '(.|..|...){300}X',
    `${'(?!'.repeat(300)}a${')'.repeat(300)}`,
  ];
  for (const pattern of [...hostile, ...more]) {
    const begun = process.cpuUsage();
    try {
      const matches = fullMatch(pattern);
      names.forEach(matches);
    } catch (error) {
      assert.match(String(error), /^Error: which (has more than 10000 states|takes too many steps)$/);
    }
    const { user } = process.cpuUsage(begun);
    assert.ok(user < 2e6, `${pattern}: ${user} µs`);
  }
});
