// Measures a row: opens every contender in every place, checks that all train the same network, then times them in
// turns.

import { isOurs } from './contenders.js';
import { lossDifference, outputDifference } from './statistics.js';
import { checkedLosses } from './tasks.js';

const ROUND_MS = 250;
/** Who is slow takes part in fewer rounds; who is very slow was timed enough when it was opened. */
const SLOW_MS = 1_000,
  SLOW_ROUNDS = 3,
  VERY_SLOW_MS = 5_000;
const AGREE = 1e-3;

/** Opens one contender; what it cannot do becomes its `error`. */
async function open(entrant, row, patient) {
  try {
    entrant.process = await entrant.place.start(entrant.contender, row);
    Object.assign(entrant, await entrant.process.open());
    if (roundsOf(entrant, patient) === 0) entrant.ms[0] = entrant.stepMs;
    entrant.steps = Math.max(1, Math.round(ROUND_MS / entrant.stepMs));
  } catch (error) {
    await fail(entrant, error);
  }
}

async function fail(entrant, error) {
  [entrant.error] = error.message.split('\n');
  if (process.env.DEBUG) console.error(error.stack);
  await entrant.process?.close().catch(() => {});
}

/** Losses, or what an inference gives, judged by ours; without ours, by the first that runs. Limits have no losses. */
function checkLosses(row, entrants) {
  const checked = (losses) => losses.slice(0, checkedLosses(row));
  const trained = entrants.filter(({ losses, limit }) => losses && !limit);
  const reference = trained.find(({ contender }) => isOurs(contender)) ?? trained[0];
  for (const entrant of trained) {
    entrant.difference =
      entrant.outputs && reference.outputs
        ? outputDifference(entrant.outputs, reference.outputs)
        : lossDifference(checked(entrant.losses), checked(reference.losses));
    entrant.disagrees = !(entrant.difference <= AGREE);
  }
}

const roundsOf = ({ stepMs }, patient) =>
  stepMs > VERY_SLOW_MS && !patient ? 0 : stepMs > SLOW_MS ? SLOW_ROUNDS : Number.POSITIVE_INFINITY;

async function round(entrants, index, { threads, patient }) {
  for (const entrant of entrants) {
    if (entrant.error || index >= roundsOf(entrant, patient)) continue;
    try {
      const before = threads === 1 ? await entrant.process.processorMs() : Number.NaN;
      const { ms, loss } = await entrant.process.measure(entrant.steps);
      if (!Number.isFinite(loss)) throw new Error(`the loss is ${loss}`);
      entrant.ms[index] = ms;
      entrant.processorMs.push(((await entrant.process.processorMs()) - before) / entrant.steps);
    } catch (error) {
      await fail(entrant, error);
    }
  }
}

/**
 * entrants: { contender, place, limit }; gives them back with losses, times of the rounds (ms with holes), memory,
 * errors.
 */
export async function measureRow(row, entrants, options, tell) {
  for (const entrant of entrants) {
    tell(`${row}: opening ${entrant.contender}`);
    Object.assign(entrant, { ms: [], processorMs: [] });
    await open(entrant, row, options.patient);
  }
  checkLosses(row, entrants);
  for (let i = 0; i < options.rounds; i++) {
    tell(`${row}: round ${i + 1} of ${options.rounds}`);
    await round(i % 2 ? entrants.toReversed() : entrants, i, options); // whoever begins is slower by a percent or two
  }
  for (const { error, process } of entrants) if (!error) await process.close();
  return entrants;
}
