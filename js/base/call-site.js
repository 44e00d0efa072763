/** The place in a caller's code that an error leads to, where what failed was a worker. */

import { TrainletError } from './errors.js';

/** True if the stack of an error made after an await includes the awaiting callers, as in V8. */
let followsAwaits = false;
(async () => {
  await (async () => {
    await undefined;
    followsAwaits = /\bat async /.test(String(new Error().stack)); // a file may be called async, too
  })();
})();

/** The call site: an Error costs microseconds, so it is made only if stacks do not follow awaits. */
export const callSite = () => (followsAwaits ? undefined : new Error());

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
