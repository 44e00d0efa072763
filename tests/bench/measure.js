// Measures a row: opens every contender in every place, checks that all train the same network, then times them in turns.

import { isOurs } from './contenders.js';
import { lossDifference } from './statistics.js';

const ROUND_MS = 60, SLOW_MS = 1_000, SLOW_ROUNDS = 3;
const AGREE = 1e-3;

/** Opens one contender; what it cannot do becomes its `error`. */
async function open(entrant, row) {
  try {
    entrant.process = await entrant.place.start(entrant.contender, row);
    Object.assign(entrant, await entrant.process.open());
    entrant.steps = Math.max(1, Math.round(ROUND_MS / entrant.stepMs));
  } catch (error) {
    await fail(entrant, error);
  }
}

async function fail(entrant, error) {
  entrant.error = error.message;
  if (process.env.DEBUG) console.error(error.stack);
  await entrant.process?.close().catch(() => {});
}

/** Ours is the measure of the others; without ours, the first that runs. Limits have no losses. */
function checkLosses(entrants) {
  const trained = entrants.filter(({ losses, limit }) => losses && !limit);
  const reference = trained.find(({ contender }) => isOurs(contender)) ?? trained[0];
  for (const entrant of trained) {
    entrant.difference = lossDifference(entrant.losses, reference.losses);
    entrant.disagrees = !(entrant.difference <= AGREE);
  }
}

async function round(entrants, index) {
  for (const entrant of entrants) {
    if (entrant.error || (entrant.stepMs > SLOW_MS && index >= SLOW_ROUNDS)) continue;
    try {
      const { ms, loss } = await entrant.process.measure(entrant.steps);
      if (!Number.isFinite(loss)) throw new Error(`the loss is ${loss}`);
      entrant.ms[index] = ms;
    } catch (error) {
      await fail(entrant, error);
    }
  }
}

/** entrants: { contender, place, limit }; gives them back with losses, times of the rounds (with holes), memory, errors. */
export async function measureRow(row, entrants, rounds, tell) {
  for (const entrant of entrants) {
    tell(`${row}: opening ${entrant.contender}`);
    entrant.ms = [];
    await open(entrant, row);
  }
  checkLosses(entrants);
  for (let i = 0; i < rounds; i++) {
    tell(`${row}: round ${i + 1} of ${rounds}`);
    await round(entrants, i);
  }
  for (const { error, process } of entrants) if (!error) await process.close();
  return entrants;
}
