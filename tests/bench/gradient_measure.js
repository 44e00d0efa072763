// Measures the backward pass of one row of the benchmark of operators at one size: ours, PyTorch's, and
// onnxruntime-web's build for training running our nodes, in turns.

import { gradientOf, repeatedGradient, wholeGradient } from './operator_gradient.js';
import { alone, copiesOf, inTurns, SIZES } from './operator_measure.js';
import { outputDifference } from './statistics.js';

/** Relative to the largest element of a gradient, where the row says no other. */
const AGREE = 1e-3;
/** Ms that a run may take: six take turns. */
const RUN_MS = 60;
/** Values that arrive and leave have three times as many floats as the data. */
const FLOATS_MOST = 2 ** 20;

/** A library's results; nothing where it lacks an operator. */
async function resultsOf(library, model) {
  const { outputs, ms } = await library.ranOnce(model);
  return { gradients: Object.keys(outputs).map((_, i) => outputs[`gradient${i}`].data), ms };
}

/** The largest difference of our gradients from a peer's. */
const difference = (ours, theirs) =>
  ours.reduce((worst, gradient, i) => Math.max(worst, outputDifference(gradient, theirs[i])), 0);

/** Our gradients beside those of the peers that have them, what they are made of, and how far they are apart. */
export async function comparedGradients({ trained, training, torch }, row) {
  const parts = await gradientOf(trained, row);
  const model = wholeGradient(parts);
  const ours = await resultsOf(trained, model);
  const asksOrt = row[3]?.training !== false;
  const ort = asksOrt ? await resultsOf(training, model).catch(() => undefined) : undefined;
  const pytorch = await torch?.open(row, parts);
  const peers = [ort, pytorch].filter((peer) => peer?.gradients);
  const isComparable = !row[3]?.random;
  return {
    parts,
    ort,
    pytorch: pytorch?.error ? undefined : pytorch,
    ms: Math.max(ours.ms, ort?.ms ?? 0),
    agree: row[3]?.gradients ?? AGREE,
    difference: isComparable
      ? peers.reduce((worst, { gradients }) => Math.max(worst, difference(ours.gradients, gradients)), 0)
      : 0,
  };
}

/**
 * One row at one size. @param {object} libraries
 * @param {(n: number) => unknown[]} make @param {string} place @param {number} rounds
 */
export async function measureGradient(libraries, make, place, rounds) {
  const row = make(Math.min(SIZES[place][0], FLOATS_MOST));
  const { parts, ort, pytorch, ms: once, difference, agree } = await comparedGradients(libraries, row);
  const copies = copiesOf(row, place, once, RUN_MS);
  const opened = [];
  const open = async (library, without) => {
    opened.push(await library.open(repeatedGradient(parts, { copies, without })));
    return opened.at(-1).run;
  };
  const ms = await inTurns(
    {
      ours: await open(libraries.trained, false),
      oursWithout: await open(libraries.trained, true),
      ...(ort && { ort: await open(libraries.training, false), ortWithout: await open(libraries.training, true) }),
      ...(pytorch && { torch: pytorch.run, torchWithout: pytorch.without }),
    },
    rounds,
    libraries.clock,
  );
  for (const session of opened) await session.close();
  const ours = alone(ms.ours, ms.oursWithout) / copies;
  return {
    operator: row[0],
    place,
    ours,
    torchRatio: pytorch ? alone(ms.torch, ms.torchWithout) / ours : undefined,
    ortRatio: ort ? alone(ms.ort, ms.ortWithout) / copies / ours : undefined,
    difference,
    agree,
  };
}
