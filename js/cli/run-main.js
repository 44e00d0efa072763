/** Runs a command: errors as one sentence to stderr, exit code 0 (done), 1 (failed), 2 (wrong usage) or a signal's. */

import { sentenceOf, TrainletError } from '../base/errors.js';
import { EXIT_CODES, listen, stoppedBy } from './interrupt.js';
import { complain } from './terminal.js';

export class UsageError extends Error {}

/** An option's value may be refused by the engine alone, which knows what is possible. @param {unknown} error */
const isUsage = (error) =>
  error instanceof UsageError || (error instanceof TrainletError && error.code === 'invalid-argument');

/** @param {string} name @param {string} help @param {unknown} error */
function tell(name, help, error) {
  const signal = error instanceof TrainletError && error.code === 'aborted' ? stoppedBy() : undefined;
  if (signal) process.exitCode = EXIT_CODES[signal];
  else process.exitCode = isUsage(error) ? 2 : 1;
  if (signal !== 'SIGPIPE') complain(`${name}: ${sentenceOf(error)}${isUsage(error) ? ` (see ${help} --help)` : ''}`);
}

/**
 * @param {string} name of the program
 * @param {(args: string[]) => Promise<unknown>} main
 * @param {string} [help] what tells more, with --help after it
 */
export async function runMain(name, main, help = name) {
  listen();
  await main(process.argv.slice(2)).catch((error) => tell(name, help, error));
}
