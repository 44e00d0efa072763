/** The options of a command as one table, from which they are parsed (options.js) and their help is printed. */

/**
 * @typedef {object} Option
 * @property {'string' | 'boolean'} type of `util.parseArgs`, as are `short`, `multiple` and `default`
 * @property {string | (() => Promise<string>)} help its first line gets the default, and whether it may be given again
 * @property {string} [value] the name of its value
 * @property {string} [short]
 * @property {boolean} [multiple]
 * @property {string} [default]
 * @typedef {Record<string, Option>} OptionTable
 */

/** Columns of all lines, and of the names of options before their help. */
const [WIDTH, NAMES] = [120, 26];

/** An option without a value. @param {string} help @param {{ short?: string }} [more] @returns {Option} */
export const flag = (help, more) => ({ type: 'boolean', help, ...more });

/**
 * An option with a value.
 * @param {string} value its name @param {Option['help']} help
 * @param {Pick<Option, 'short' | 'multiple' | 'default'>} [more]
 * @returns {Option}
 */
export const text = (value, help, more) => ({ type: 'string', value, help, ...more });

/** @param {string} usage @param {OptionTable} options */
export async function helpOf(usage, options) {
  const rows = await Promise.all(Object.entries(options).map(([name, option]) => rowOf(name, option)));
  return [...usage.split('\n').flatMap((line) => wrapped(line, WIDTH)), '', ...rows.flat()].join('\n');
}

/** @param {string} name @param {Option} option */
async function rowOf(name, { value, help, short, multiple, default: usual }) {
  const names = `  ${short ? `-${short}, ` : ''}--${name}${value ? ` ${value}` : ''} `;
  const [first, ...rest] = (typeof help === 'function' ? await help() : help).split('\n');
  const text = `${first}${usual ? ` (default: ${usual})` : ''}${multiple ? '; may be given again' : ''}`;
  const lines = [text, ...rest].flatMap((line) => wrapped(line, WIDTH - NAMES));
  return lines.map((line, i) => (i ? ' '.repeat(NAMES) : names.padEnd(NAMES)) + line);
}

/**
 * Breaks a line; what follows `- ` or several spaces is a column, below which it goes on.
 * @param {string} line @param {number} width @returns {string[]}
 */
function wrapped(line, width) {
  const end = line.lastIndexOf(' ', width);
  const column = /^(?:- |.* {2,}(?=\S)|)/.exec(line)?.[0].length ?? 0;
  if (line.length <= width || end <= column) return [line];
  return [line.slice(0, end), ...wrapped(' '.repeat(column) + line.slice(end + 1), width)];
}
