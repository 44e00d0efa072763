#!/usr/bin/env node
/** The command line of trainlet: which command, its options, its help. */

import { createRequire } from 'node:module';
import { COMMANDS } from './commands.js';
import { flag, helpOf } from './help.js';
import { readOptions } from './options.js';
import { runMain, UsageError } from './run-main.js';

const HELP = `trainlet COMMAND …   (trainlet COMMAND --help tells more)

${Object.entries(COMMANDS)
  .map(([name, { about }]) => `  ${name.padEnd(10)} ${about}`)
  .join('\n')}

  --version  which trainlet this is
`;
const [first = ''] = process.argv.slice(2);
const known = Object.hasOwn(COMMANDS, first);

await runMain('trainlet', main, known ? `trainlet ${first}` : 'trainlet');

/** @param {string[]} args */
async function main([name, ...args]) {
  if (name === '--help' || name === '-h') return void process.stdout.write(HELP);
  if (name === '--version') return void process.stdout.write(`${await version()}\n`);
  if (!name) throw new UsageError('a command is needed');
  if (!known) throw new UsageError(`there is no command '${name}'; there are ${Object.keys(COMMANDS).join(', ')}`);
  await runCommand(name, args);
}

/** @param {string} name @param {string[]} args */
async function runCommand(name, args) {
  const command = COMMANDS[name];
  const options = { ...command.options, help: flag('prints this', { short: 'h' }) };
  const { values, positionals } = readOptions(args, options);
  if (values.help) return void process.stdout.write(`${await helpOf(command.usage, options)}\n`);
  if (command.runAlone && positionals.length)
    throw new UsageError(`${name} takes options alone, not '${positionals[0]}'`);
  if (command.runAlone) return await command.runAlone(values);
  if (command.runAll && positionals.length) return await command.runAll(positionals, values);
  if (command.runAll) throw new UsageError(`${name} takes one ${command.takes} or more`);
  if (positionals.length !== 1) throw new UsageError(`${name} takes one ${command.takes}, not ${positionals.length}`);
  await command.run?.(positionals[0], values);
}

/** The package's own. */
async function version() {
  return createRequire(import.meta.url)('trainlet/package.json').version;
}
