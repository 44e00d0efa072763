/** `trainlet extend`: more classes in a classifier that is being trained, with the words of extendOutput. */

import { TrainingSession } from '../index.js';
import { readArrays } from './arrays.js';
import { DATA, dataHelp, readingOf } from './data-options.js';
import { artifactsIn, checkPlaces, neededTraining, writeArtifacts } from './files.js';
import { flag, text } from './help.js';
import { needed } from './options.js';
import { UsageError } from './run-main.js';
import { say, warn } from './terminal.js';

/** @import { FineTuneData, ValueInfo } from '../types.js' */
/** @import { Values } from './commands.js' */
/** @import { OptionTable } from './help.js' */

export const EXTEND_USAGE = `trainlet extend DIR|COMPACT --add CLASS -o OUT [options]
Adds classes to what is trained in DIR or COMPACT, behind those that it has, which keep their weights, their \
optimizer state and their scores. OUT is a training directory, in which train goes on, on examples of old classes \
too.`;

/** @type {OptionTable} */
export const EXTEND_OPTIONS = {
  add: text('CLASS', 'a new class', { multiple: true }),
  output: text('NAME', 'whose classes they are', { default: 'scores' }),
  ...DATA,
  classes: text('NAMES', "names of the classes so far, joined by commas (default: the model's own)"),
  data: text(
    'DATA',
    dataHelp(
      'examples, from which the new classes answer before any step; with some of old classes they are told apart: ',
    ),
  ),
  out: text('OUT', 'where the training directory goes', { short: 'o' }),
  force: flag('overwrites files that are there'),
};

/** @param {string} place @param {Values} values */
export async function runExtend(place, values) {
  const [out, { add, output, force, data: spec }] = [needed(values, 'out'), values];
  if (!add) throw new UsageError('--add CLASS is needed');
  const reading = readingOf(values);
  await checkPlaces(Object.values(artifactsIn(out)), force);
  const { artifacts } = await neededTraining(place);
  const session = await TrainingSession.create(artifacts);
  try {
    warn(session.warnings);
    const classes = reading.classes ?? session.classNames ?? undefined;
    const reader = { ...reading, classes: classes && [...classes, ...add] };
    const examples = spec && examplesOf(await readArrays(spec, 'train', session.trainingInputs.map(unbound), reader));
    const made = await session.extendOutput(output, add, { classes, examples });
    warn(made.warnings);
    await writeArtifacts(out, made, force);
    say(`${out}: ${[...(classes ?? []), ...add].join(', ')}`);
  } finally {
    await session.release();
  }
}

/** Labels of the new classes are among them. @param {ValueInfo} input @returns {ValueInfo} */
const unbound = (input) => (input.labels ? { ...input, labels: { ...input.labels, classes: null } } : input);

/** @param {{ inputs: any, labels?: any }} data @returns {FineTuneData} */
const examplesOf = ({ inputs, labels }) => ({ inputs, labels });
