/** Runs a command: errors as one sentence to stderr, exit code 0 (done), 1 (failed) or 2 (wrong usage). */

import { sentenceOf } from '../errors.js';

export class UsageError extends Error {}

/** The value of an option. @param {string} option @param {string} text @param {number} least */
export function wholeNumber(option, text, least) {
  const value = Number(text);
  if (text.trim() && Number.isSafeInteger(value) && value >= least) return value;
  throw new UsageError(`--${option} must be a whole number of at least ${least}, not '${text}'`);
}

/** @param {unknown} error */
const isUsage = (error) => error instanceof UsageError
  || (error instanceof TypeError && String(/** @type {{ code?: string }} */ (error).code).startsWith('ERR_PARSE_ARGS'));

/**
 * @param {string} name of the command, for the hint
 * @param {(args: string[]) => Promise<unknown>} main
 */
export async function runMain(name, main) {
  try {
    await main(process.argv.slice(2));
  } catch (error) {
    process.exitCode = isUsage(error) ? 2 : 1;
    process.stderr.write(`${name}: ${sentenceOf(error)}${isUsage(error) ? ` (see ${name} --help)` : ''}\n`);
  }
}
