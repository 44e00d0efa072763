/** The option `bounds` of a session: what of it is refused. */

import { invalid } from '../base/errors.js';

/** @import { TrainingSessionOptions } from '../types.js' */

/** @param {TrainingSessionOptions['bounds']} bounds */
export function checkBounds(bounds) {
  if (typeof bounds !== 'object' || bounds === null || Array.isArray(bounds))
    throw invalid("bounds must be an object of ranges by name, as { 'w*': [0, 10] }");
  for (const [name, range] of Object.entries(bounds))
    if (!Array.isArray(range) || range.length !== 2 || !range.every((end) => typeof end === 'number'))
      throw invalid(`bounds of '${name}' must be two numbers, as [0, 10]`);
}
