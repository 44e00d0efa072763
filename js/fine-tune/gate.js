/** The gate of fineTune: old and new weights are compared, and what is worse than before is not taken. */

import { fed } from '../data/labelled-examples.js';

/** @import { FineTuneOptions, FineTuneScores } from '../types.js' */
/** @import { TrainingSession } from '../session/training.js' */
/** @import { Examples } from '../data/labelled-examples.js' */
/** @import { SharedFeatures } from './shared-features.js' */

/**
 * If the new weights fail the check, so many bisection steps find how far towards them the model can move and still
 * pass.
 */
const HALVINGS = 3;
/**
 * Defaults of `accept`, and how many times as much speaks of labels that contradict what was known: then nothing is
 * taken.
 */
const LOSS_RISE = 0;
const REPLAY_DROP = 0.01;
const CONTRADICTION = 4;

/** All of them, statistics too. @param {TrainingSession} session */
export async function weightsOf(session) {
  const { data } = await session.getContiguousParameters(false);
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/**
 * @param {TrainingSession} session @param {{ heldOut?: Examples, replay?: Examples }} data
 * @param {SharedFeatures} [shared] @param {AbortSignal} [signal]
 * @returns {Promise<FineTuneScores>}
 */
export async function scoresOf(session, data, shared, signal) {
  /** @type {Record<string, Record<string, number>>} */
  const scores = {};
  for (const [name, examples] of Object.entries(data))
    if (examples)
      scores[name] = await (shared?.evaluate(session, examples, signal) ??
        session.evaluate(fed(examples), { batchSize: 32, signal }));
  return scores;
}

/**
 * The gate: takes the new weights, or as much of them as makes nothing worse, on the way from the old ones (Wortsman et
 * al., "Robust fine-tuning of zero-shot models", 2022); else the old ones.
 * @param {TrainingSession} session @param {Uint8Array} kept @param {FineTuneScores} before
 * @param {{ heldOut?: Examples, replay?: Examples }} judged
 * @param {Parameters<typeof worse>[2]} limits @param {SharedFeatures} [shared]
 * @param {AbortSignal} [signal] where it comes, the weights may be any
 */
export async function take(session, kept, before, judged, limits, shared, signal) {
  const [old, now] = [floatsOf(kept), floatsOf(await weightsOf(session))];
  const after = await scoresOf(session, judged, shared, signal);
  const reason = worse(before, after, limits);
  if (!reason) return { after, share: 1, reason };
  const mix = async (/** @type {number} */ share) => {
    const mixed = old.map((x, i) => x + share * (now[i] - x));
    await session.loadParametersBuffer(share ? new Uint8Array(mixed.buffer) : kept, false);
  };
  const far = worse(before, after, { ...limits, accept: scaled(limits.accept, CONTRADICTION) });
  let best = { after, share: 0, reason };
  for (let step = 0.5, share = 0.5, i = 0; i < HALVINGS && !far; i++) {
    await mix(share);
    const scores = await scoresOf(session, judged, shared, signal);
    const fits = !worse(before, scores, limits);
    if (fits) best = { after: scores, share, reason };
    step /= 2;
    share += fits ? step : -step;
  }
  await mix(best.share);
  return best;
}

/** @param {Uint8Array} bytes */
const floatsOf = ({ buffer, byteOffset, byteLength }) => new Float32Array(buffer, byteOffset, byteLength / 4);

/** @param {FineTuneOptions['accept']} accept @param {number} times */
const scaled = ({ lossRise = LOSS_RISE, replayDrop = REPLAY_DROP } = {}, times) => ({
  lossRise: lossRise * times,
  replayDrop: replayDrop * times,
});

/**
 * Why the new weights are not taken. A person's examples are few: their loss says more than how many of them are right.
 * @param {FineTuneScores} before @param {FineTuneScores} after
 * @param {{ classes: number, accept?: FineTuneOptions['accept'] }} limits
 */
function worse(before, after, { classes, accept: { lossRise = LOSS_RISE, replayDrop = REPLAY_DROP } = {} }) {
  const [loss, now] = [before.heldOut?.loss ?? Infinity, after.heldOut?.loss ?? -Infinity];
  if (now > loss * (1 + lossRise))
    return `the loss of the held-out examples is ${now.toPrecision(3)}, it was ${loss.toPrecision(3)}`;
  const chance = 1 / classes;
  if ((after.heldOut?.accuracy ?? 1) < chance)
    return (
      `of the held-out examples ${percent(after.heldOut?.accuracy ?? 0)} are right, ` +
      `${percent(chance)} would be by chance: are the labels?`
    );
  const [right, still] = [before.replay?.accuracy ?? 0, after.replay?.accuracy ?? 1];
  if (right - still > replayDrop + 1e-9)
    return `of the replay samples ${percent(still)} are right, ${percent(right)} were before`;
  return undefined;
}

/** @param {number} share */
const percent = (share) => `${(100 * share).toFixed(1)} %`;
