/** The place in a caller's code that an error leads to, where what failed was a worker. */

import { TrainletError } from './errors.js';

/** Whether the stack of what is made after an await leads on to those who await, as in V8. */
let followsAwaits = false;
(async () => {
  await (async () => {
    await undefined;
    followsAwaits = /\bat async /.test(String(new Error().stack)); // a file may be called async, too
  })();
})();

/** Where something is asked: a stack costs microseconds, so that it is noted only where there is none afterwards. */
export const placeOfCall = () => (followsAwaits ? undefined : new Error());

/**
 * The error of what a worker did, as one of the place that asked for it: there the caller's code is on the stack.
 * @param {Error | undefined} place made when it was asked; undefined: who awaits this is the place
 * @param {unknown} error
 */
export function askedAt(place, error) {
  if (!(error instanceof TrainletError)) return error;
  const { stack = '' } = place ?? new Error();
  const [title, ...frames] = stack.split('\n');
  // only V8 begins it with the error's name and message
  error.stack = title === 'Error' ? [`${error.name}: ${error.message}`, ...frames].join('\n') : stack;
  return error;
}
