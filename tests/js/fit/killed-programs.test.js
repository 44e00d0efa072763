/** Programs that are cut at a save go on to the bit, behind the last save too. More of them: `npm run resumes`. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resumeAtRandom } from '../../resume/resume.js';

test('20 random programs, cut at a random save, end with the checkpoint of those that nothing cut', async () => {
  let ended = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const result = await resumeAtRandom(seed);
    ended += Number(result.ended);
    assert.ok(result.same, JSON.stringify(result));
  }
  assert.ok(ended > 3, `${ended} were cut behind the last save`);
});
