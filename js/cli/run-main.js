/** Runs a command: errors as one sentence to stderr, exit code 0 (done), 1 (failed), 2 (wrong usage) or a signal's. */

import { sentenceOf } from '../errors.js';
import { EXIT_CODES, listen, stoppedBy } from './interrupt.js';
import { complain } from './terminal.js';

export class UsageError extends Error {}

/** The value of an option. @param {string} option @param {string} text @param {number} least */
export function wholeNumber(option, text, least) {
  const value = Number(text);
  if (text.trim() && Number.isSafeInteger(value) && value >= least) return value;
  throw new UsageError(`--${option} must be a whole number of at least ${least}, not '${text}'`);
}

/** @typedef {{ code?: unknown }} Coded */

/** @param {unknown} error */
const isUsage = (error) =>
  error instanceof UsageError ||
  (error instanceof TypeError && String(/** @type {Coded} */ (error).code).startsWith('ERR_PARSE_ARGS'));

/** @param {string} name @param {unknown} error */
function tell(name, error) {
  const signal = /** @type {Coded} */ (error)?.code === 'aborted' ? stoppedBy() : undefined;
  if (signal) process.exitCode = EXIT_CODES[signal];
  else process.exitCode = isUsage(error) ? 2 : 1;
  if (signal !== 'SIGPIPE') complain(`${name}: ${sentenceOf(error)}${isUsage(error) ? ` (see ${name} --help)` : ''}`);
}

/**
 * @param {string} name of the command, for the hint
 * @param {(args: string[]) => Promise<unknown>} main
 */
export async function runMain(name, main) {
  listen();
  await main(process.argv.slice(2)).catch((error) => tell(name, error));
}
