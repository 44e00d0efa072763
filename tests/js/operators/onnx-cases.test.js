/**
 * ONNX's backend cases pass, but those of a list that says why; a case that passes may not be on it. They are those of
 * Debian's package, of an ONNX with opset 17, and those that are new or changed in a package of today (tests/onnx).
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { packedCases } from '../../onnx/packed.js';
import { casesIn, runCases } from '../../onnx/cases.js';

const read = (file) => JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'));

/** Sets of cases by owner, and the names that do not pass, by reason. */
const SETS = {
  "Debian's": [casesIn('/usr/share/libonnx-testdata/data'), read('../../onnx/left-out-debian.json')],
  'the newer ones': [packedCases(), read('../../onnx/left-out.json')],
};

for (const [whose, [cases, leftOut]] of Object.entries(SETS))
  test(`${whose} pass as their list says`, async (t) => {
    const { passed, wrong } = await runCases(cases, leftOut);
    t.diagnostic(`${passed} of ${cases.length} cases pass`);
    assert.deepEqual(wrong, []);
  });

test("every case that Debian's list leaves out is there, once", () => {
  const [cases, leftOut] = SETS["Debian's"];
  const listed = Object.values(leftOut).flat();
  const names = new Set(cases.map(({ name }) => name));
  assert.deepEqual(
    listed.filter((name) => !names.has(name)),
    [],
  );
  assert.equal(new Set(listed).size, listed.length);
});
