/** Reads a command's options: what is not one, or lacks its value, is refused in our own words. */

import { parseArgs } from 'node:util';
import { UsageError } from './run-main.js';

/** @typedef {NonNullable<import('node:util').ParseArgsConfig['options']>} Options */
/** @typedef {{ name: string, rawName: string, value?: string, inlineValue?: boolean }} Given */

/**
 * @param {string[]} args
 * @param {Options} options
 * @returns {{ values: Record<string, any>, positionals: string[] }}
 */
export function readOptions(args, options) {
  const { tokens, ...read } = parseArgs({ args, options, allowPositionals: true, strict: false, tokens: true });
  for (const token of tokens) if (token.kind === 'option') check(token, options);
  return read;
}

/** @param {Given} given @param {Options} options */
function check({ name, rawName, value, inlineValue }, options) {
  const option = Object.hasOwn(options, name) ? options[name] : undefined;
  if (!option) throw new UsageError(`there is no option ${rawName}; there are ${listOf(options)}`);
  if (option.type === 'boolean' && value !== undefined)
    throw new UsageError(`${rawName} takes no value, not '${value}'`);
  if (option.type === 'boolean') return;
  if (!value) throw new UsageError(`${rawName} needs a value`);
  // a negative number is a value; a name that begins so is given as --data=-name
  if (!inlineValue && value.startsWith('-') && Number.isNaN(Number(value)))
    throw new UsageError(`${rawName} needs a value, and the option ${value} came`);
}

/** @param {Options} options */
const listOf = (options) =>
  Object.entries(options)
    .map(([name, { short }]) => `${short ? `-${short}, ` : ''}--${name}`)
    .join(', ');

/** @param {Record<string, any>} values @param {string} option @returns {string} */
export function needed(values, option) {
  if (values[option]) return values[option];
  throw new UsageError(`--${option} is needed`);
}

/** The value of an option. @param {string} option @param {string} text @param {number} least */
export function wholeNumber(option, text, least) {
  const value = Number(text);
  if (text.trim() && Number.isSafeInteger(value) && value >= least) return value;
  throw new UsageError(`--${option} must be a whole number of at least ${least}, not '${text}'`);
}

/** @param {string} option @param {string | undefined} text @param {{ least?: number, most?: number }} [range] */
export function number(option, text, { least = -Infinity, most = Infinity } = {}) {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() && Number.isFinite(value) && value >= least && value <= most) return value;
  const bounds = [least > -Infinity ? ` of at least ${least}` : '', most < Infinity ? ` and at most ${most}` : ''];
  throw new UsageError(`--${option} must be a number${bounds.join('')}, not '${text}'`);
}

/**
 * Several, joined by commas.
 * @param {string} option
 * @param {string | undefined} text
 * @returns {number[] | undefined}
 */
export const numbers = (option, text) => text?.split(',').map((part) => /** @type {number} */ (number(option, part)));

/**
 * @param {string} option
 * @param {string | undefined} text
 * @param {number} least
 * @returns {number[] | undefined}
 */
export const wholeNumbers = (option, text, least) => text?.split(',').map((part) => wholeNumber(option, part, least));
