/** The scores of a model that ends in a Sigmoid, which cross-entropy would take for scores itself. */

/** @import { Artifacts, FineTuneOptions } from '../types.js' */
/** @import { TrainingSession } from '../session/training.js' */
/** @typedef {{ artifacts: Artifacts, session: TrainingSession }} Made */

/** The longest name that a warning has whole. */
const WHOLE_NAME = 99;

/**
 * Makes a session that learns from what goes into a last Sigmoid, if that has the same classes; else gives the one that
 * is there, with its warning.
 * @param {Made} made @param {(options: FineTuneOptions) => Promise<Made>} make @param {FineTuneOptions} options
 */
export async function beforeSigmoid(made, make, options) {
  const scores = options.head === false && !options.lossInputs ? scoresIn(made.artifacts) : undefined;
  if (!scores) return made;
  const other = await make({ ...options, lossInputs: [scores] }).catch(async (error) => {
    await made.session.release();
    throw error;
  });
  const [kept, left] = classesOf(other) === classesOf(made) ? [other, made] : [made, other];
  await left.session.release();
  return kept;
}

/** @param {Artifacts} artifacts */
function scoresIn({ warnings }) {
  const found = warnings.flatMap((warning) => /^Sigmoid .* lossInputs: \['(.+)'\]$/.exec(warning)?.[1] ?? []);
  return found.find((name) => name.length <= WHOLE_NAME);
}

/** Count and axis of the classes of labels, as text. @param {Made} made */
const classesOf = ({ session }) => JSON.stringify(session.trainingInputs.map(({ labels, dims }) => [labels, dims]));
