// Damaged files through the readers that take them: each is read or refused by a TrainletError, soon and in little
// memory.
import { adapterTargets } from './adapters.js';
import { dataTargets } from './data.js';
import { featureTargets } from './features.js';
import { judge } from './judge.js';
import { mutate as damage, randomFrom } from './mutate.js';

/** @param {string} folder */
const targetsIn = async (folder) => ({
  ...(await dataTargets(folder)),
  ...(await featureTargets(folder)),
  ...(await adapterTargets()),
});

/**
 * @param {string} folder
 * @param {number} runs of each target
 * @param {number} seed
 * @param {(name: string, bytes: Uint8Array, value: unknown) => unknown} [accepted] is handed what was read, first the
 * undamaged file of each target
 * @param {string} [only] the name of one target
 */
export async function damageAll(folder, runs, seed, accepted = () => {}, only = undefined) {
  const rows = [];
  for (const [name, target] of Object.entries(await targetsIn(folder))) {
    if (only && only !== name) continue;
    const { seed: whole, read, mutate = damage, fix = (bytes) => bytes } = target;
    const random = randomFrom(seed);
    const undamaged = fix(Buffer.from(whole));
    await accepted(name, undamaged, await read(undamaged));
    const row = { name, runs, read: 0, slowest: 0, faults: [] };
    for (let i = 0; i < runs; i++) {
      const bytes = fix(mutate(whole, random));
      const { ms, value, isRead, fault } = await judge(read, bytes);
      row.slowest = Math.max(row.slowest, Math.round(ms));
      row.read += Number(isRead);
      if (isRead) await accepted(name, bytes, value);
      if (fault) row.faults.push({ i, ...fault });
    }
    rows.push(row);
  }
  return rows;
}
