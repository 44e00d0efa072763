/** All of ONNX's backend cases pass, but those of a list that says why; a case that passes may not be on it. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { allCases, runCase } from './onnx-cases.js';

/** Names of cases by the reason why they do not pass. */
const LEFT_OUT = JSON.parse(readFileSync(new URL('onnx-cases-left-out.json', import.meta.url), 'utf8'));
const leftOut = new Map(Object.entries(LEFT_OUT).flatMap(([reason, names]) => names.map((name) => [name, reason])));
const cases = allCases();

test('every case that is left out is there, once', () => {
  assert.deepEqual(
    [...leftOut.keys()].filter((name) => !cases.includes(name)),
    [],
  );
  assert.equal(leftOut.size, Object.values(LEFT_OUT).flat().length);
});

test('the cases pass as the list says', async (t) => {
  /** @type {string[]} */
  const wrong = [];
  let passed = 0;
  for (const name of cases) {
    const failure = await runCase(name).then(
      () => undefined,
      (error) => String(error.message).split('\n')[0],
    );
    if (failure === undefined) passed++;
    if ((failure !== undefined) === leftOut.has(name)) continue;
    wrong.push(failure === undefined ? `${name} passes: take it off the list` : `${name}: ${failure}`);
  }
  t.diagnostic(`${passed} of ${cases.length} cases pass`);
  assert.deepEqual(wrong, []);
});
