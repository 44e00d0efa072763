/** Names of classes as the indices that a loss reads. */

import { TrainletError } from '../base/errors.js';
import { say } from './terminal.js';

/** @import { Raw } from './npy.js' */

/** Classes that a line names at most. */
const LISTED_MOST = 100;

/**
 * The index of each name: as --classes says, else in the order of the alphabet; said in a line.
 * @param {string} where
 * @param {readonly string[]} names one for each example
 * @param {{ classes?: string[] }} options which has the classes from then on, for whoever reads more
 * @returns {Raw}
 */
export function indicesOf(where, names, options) {
  options.classes ??= [...new Set(names)].sort();
  const { classes } = options;
  const places = new Map(classes.map((name, i) => [name, i]));
  const odd = names.find((name) => !places.has(name));
  if (odd !== undefined)
    throw new TrainletError(
      'source-unreadable',
      `${where} has the class '${odd}'; --classes has ${classes.join(', ')}`,
    );
  const data = Int32Array.from(names, (name) => /** @type {number} */ (places.get(name)));
  const counts = new Uint32Array(classes.length);
  for (const index of data) counts[index]++;
  const listed = classes.slice(0, LISTED_MOST).map((name, i) => `${i} ${name} (${counts[i]})`);
  const more = classes.length > LISTED_MOST ? ` and ${classes.length - LISTED_MOST} more` : '';
  say(
    `${where}: ${names.length.toLocaleString('en')} examples of ${classes.length} classes: ${listed.join(', ')}${more}`,
  );
  return { type: 'int32', dims: [names.length], data };
}
