/**
 * The programs of examples/ do what the same programs do in PyTorch (tests/golden/scripts/make_examples.py), for 20
 * steps.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { buildDist } from '../../../tools/dist.mjs';

const wanted = JSON.parse(readFileSync(new URL('../../golden/data/examples.json', import.meta.url), 'utf8'));

before(buildDist); // the examples import the package by its name

for (const [name, file] of Object.entries({
  contrastive: 'contrastive.mjs',
  policyGradient: 'policy-gradient.mjs',
  gan: 'gan.mjs',
})) {
  test(file, async () => {
    const { train } = await import(`../../../examples/${file}`);
    const told = await train(20);
    assert.equal(told.length, 20);
    told.flat().forEach((came, i) => {
      const want = wanted[name].flat()[i];
      assert.ok(Math.abs(came - want) < 1e-4, `${i}: ${came} instead of ${want}`);
    });
  });
}
