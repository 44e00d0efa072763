/** Prints docs/guides/command-line-options.md: the help of every command, from its table of options. */

import { fileURLToPath } from 'node:url';
import { COMMANDS } from '../../js/cli/commands.js';
import { helpOf } from '../../js/cli/help.js';

export async function commandLinePage() {
  const sections = Object.entries(COMMANDS).map(async ([name, { about, usage, options }]) =>
    [
      `## ${name}`,
      `${about[0].toUpperCase()}${about.slice(1)}.`,
      `\`\`\`text\n${await helpOf(usage, options)}\n\`\`\``,
    ].join('\n\n'),
  );
  const head = ['# Options of the command line', 'Each command also takes `-h, --help`, which prints its options.'];
  return `${[...head, ...(await Promise.all(sections))].join('\n\n')}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(await commandLinePage());
