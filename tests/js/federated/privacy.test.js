/** Differential privacy: ε is Google's, clipping Flower's, the noise normal, and a spent budget ends it. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { epsilonOf } from '../../../js/federated/accountant.js';
import * as federated from '../../../js/federated/index.js';
import { clipped, withNoise } from '../../../js/federated/privacy.js';
import { root } from '../../support/engines.js';
import { assertNear } from '../../support/near.js';

const golden = (/** @type {string} */ name) =>
  JSON.parse(readFileSync(path.join(root, 'tests/golden/data', `${name}.json`), 'utf8'));

test('epsilon of 60 settings is that of dp-accounting', () => {
  const rows = golden('epsilon');
  assert.equal(rows.length, 60);
  for (const { epsilon, ...setting } of rows)
    assertNear(epsilonOf(setting), epsilon, { relative: 1e-6 }, JSON.stringify(setting));
  assert.equal(epsilonOf({ noiseMultiplier: 1, rounds: 0, delta: 1e-5 }), 0);
  assert.equal(epsilonOf({ noiseMultiplier: 0, rounds: 1, delta: 1e-5 }), Infinity);
});

test('updates are clipped as by Flower', () => {
  for (const { norm, ...rows } of golden('flower').clipping) {
    const [start, trained, wanted] = ['start', 'trained', 'clipped'].map((key) => Float32Array.from(rows[key]));
    assertNear(clipped(start, trained, norm), wanted, { absolute: 1e-6 }, `norm ${norm}`);
  }
  const same = Float32Array.of(1, 2);
  assert.deepEqual(clipped(same, same, 1), same, 'an update of nothing');
});

/** Fills with bits of a generator (mulberry32), so that the test is the same each time. @param {number} seed */
function seeded(seed) {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return (bits ^ (bits >>> 14)) >>> 0;
  };
  return (/** @type {Uint32Array} */ room) => room.forEach((_, i) => (room[i] = next()));
}

test('noise is normal, and comes from crypto', (t) => {
  const count = 100_001;
  const deviation = 3;
  const noise = [...withNoise(new Float32Array(count), deviation, seeded(1))].sort((a, b) => a - b);
  const moment = (/** @type {number} */ k) => noise.reduce((sum, x) => sum + (x / deviation) ** k, 0) / count;
  const wanted = [0, 1, 0, 3],
    variance = [1, 2, 15, 96];
  wanted.forEach((mean, i) => {
    assertNear(moment(i + 1), mean, { absolute: 4 * Math.sqrt(variance[i] / count) }, `moment ${i + 1}`);
  });
  // Kolmogorov's distance, of which 1.63 / √n is passed once in a hundred times
  const normal = (/** @type {number} */ x) => 1 / (1 + Math.exp(-0.07056 * x ** 3 - 1.5976 * x)); // to 0.00014
  const distance = Math.max(...noise.map((x, i) => Math.abs(normal(x / deviation) - i / count)));
  assert.ok(distance < 1.63 / Math.sqrt(count) + 0.00014, `${distance}`);
  const start = new Float32Array(20_001);
  const bits = t.mock.method(crypto, 'getRandomValues');
  const away = withNoise(start, 1);
  assert.equal(bits.mock.callCount(), 3);
  assert.ok(away.every((x) => x !== 0 && Math.abs(x) < 7));
  assert.notDeepEqual(withNoise(start, 1), withNoise(start, 1));
});

test('epsilonOf refuses what is no setting', async () => {
  const sound = { noiseMultiplier: 1, rounds: 2, delta: 1e-5 };
  assert.equal(await federated.epsilonOf(sound), epsilonOf(sound));
  for (const wrong of [{ delta: 0 }, { rounds: 1.5 }, { noiseMultiplier: -1 }, { samplingRate: 2 }, { sigma: 1 }])
    await assert.rejects(federated.epsilonOf(/** @type {any} */ ({ ...sound, ...wrong })), {
      code: 'invalid-argument',
      message: new RegExp(Object.keys(wrong)[0]),
    });
});
