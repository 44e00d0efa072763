/** What a bundler takes for browsers instead of folder.js, which is Node's: there are no folders. */

import { TrainletError } from './errors.js';

/** @returns {never} */
export function openFolder() {
  throw new TrainletError('unsupported-browser', 'this build is for browsers, where there are no folders');
}
export const contentOf = openFolder;
