/** Numbers beside those of another program. */

import assert from 'node:assert/strict';

/**
 * Throws unless each number is less than `absolute`, or than `relative` times the size of the wanted one, away from it.
 * @param {number | ArrayLike<number>} found
 * @param {number | ArrayLike<number>} wanted as many
 * @param {{ absolute?: number, relative?: number }} most
 * @param {string} [what] they are
 */
export function assertNear(found, wanted, { absolute = 0, relative = 0 }, what = 'numbers') {
  const [all, others] = [found, wanted].map((numbers) => (typeof numbers === 'number' ? [numbers] : numbers));
  assert.equal(all.length, others.length, `how many: ${what}`);
  for (let i = 0; i < others.length; i++) {
    const far = Math.abs(all[i] - others[i]);
    const most = Math.max(absolute, relative * Math.abs(others[i]));
    assert.ok(far < most || far === 0, `${what}: ${all[i]} at ${i}, wanted ${others[i]}`);
  }
}
