/** Names of classes as the indices that a loss reads. */

import { TrainletError } from '../errors.js';
import { say } from './terminal.js';

/** @import { Raw } from './npy.js' */

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
  const odd = names.find((name) => !classes.includes(name));
  if (odd !== undefined)
    throw new TrainletError(
      'source-unreadable',
      `${where} has the class '${odd}'; --classes has ${classes.join(', ')}`,
    );
  const places = new Map(classes.map((name, i) => [name, i]));
  const counts = classes.map((name, i) => `${i} ${name} (${names.filter((one) => one === name).length})`);
  say(`${where}: ${names.length.toLocaleString('en')} examples of ${classes.length} classes: ${counts.join(', ')}`);
  const data = Int32Array.from(names, (name) => /** @type {number} */ (places.get(name)));
  return { type: 'int32', dims: [names.length], data };
}
