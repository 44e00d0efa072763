#!/usr/bin/env node
/** The command line of trainlet: which command, its options, its help. */

import { parseArgs } from 'node:util';
import { COMMANDS } from './commands.js';
import { runMain, UsageError } from './run-main.js';

const HELP = `trainlet COMMAND …   (trainlet COMMAND --help tells more)

${Object.entries(COMMANDS)
  .map(([name, { about }]) => `  ${name.padEnd(10)} ${about}`)
  .join('\n')}
`;

await runMain('trainlet', async ([name, ...args]) => {
  if (name === '--help' || name === '-h') return void process.stdout.write(HELP);
  if (!name) throw new UsageError('a command is needed');
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) throw new UsageError(`there is no command '${name}'; there are ${Object.keys(COMMANDS).join(', ')}`);
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { ...command.options, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help) {
    const text = typeof command.help === 'string' ? command.help : await command.help();
    return void process.stdout.write(`${text}\n`);
  }
  if (positionals.length !== 1) throw new UsageError(`${name} takes one ${command.takes}, not ${positionals.length}`);
  await command.run(positionals[0], /** @type {import('./commands.js').Values} */ (values));
});
