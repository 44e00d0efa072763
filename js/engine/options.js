/** The options of every engine, and their checks. */

import { checkKeys, checkObject, invalid, nameOf } from '../base/errors.js';
import { lazy } from '../base/lazy.js';
import { pack } from '../base/tensor.js';

/** @import { EngineDefaults, EngineOptions } from '../types.js' */

export const ENGINE_KEYS = /** @type {const} */ ([
  'worker',
  'threads',
  'reproducible',
  'maxMemoryBytes',
  'maxWork',
  'passes',
  'wasmUrl',
  'workerUrl',
  'wasmBinary',
  'integrity',
  'externalData',
  'constants',
  'signal',
  'onProgress',
]);

/** Options of every engine that `configure` may set. */
export const DEFAULT_KEYS = /** @type {const} */ ([
  'worker',
  'threads',
  'reproducible',
  'wasmUrl',
  'workerUrl',
  'wasmBinary',
]);
/** @type {EngineDefaults} */
const defaults = {};

/** @type {typeof import('../types.js').configure} */
export function configure(options) {
  checkKeys('configure', options, DEFAULT_KEYS);
  checkEngineOptions('configure', options, []);
  Object.assign(defaults, options);
}

/** A call's options of its engine; those that it does not have, as configured. @param {EngineOptions} options */
export function engineOf(options) {
  const values = DEFAULT_KEYS.map((key) => [key, options[key] ?? defaults[key]]);
  return /** @type {EngineDefaults} */ (Object.fromEntries(values));
}

/**
 * @param {string} where
 * @param {EngineOptions} options
 * @param {readonly string[]} sources the arguments that integrity may name
 * @param {readonly string[]} [more] what is known beside the engine's options
 */
export function checkEngineOptions(where, options, sources, more = []) {
  checkObject(`${where}: options`, options);
  checkKeys(where, options, [...more, ...ENGINE_KEYS]);
  checkKeys(`${where}: integrity`, options.integrity, sources);
  checkObject(`${where}: externalData`, options.externalData);
  checkObject(`${where}: constants`, options.constants);
  /** @type {(key: keyof EngineOptions, wanted: string, isRight: (value: any) => boolean) => void} */
  const need = (key, wanted, isRight) => {
    const value = options[key];
    if (value !== undefined && !isRight(value))
      throw invalid(`${where}: ${key} must be ${wanted}, not ${nameOf(value)}`);
  };
  need('threads', "a whole number of at least 1 or 'auto'", (n) => n === 'auto' || (Number.isInteger(n) && n >= 1));
  need('passes', "an array of names or 'none'", (names) => names === 'none' || Array.isArray(names));
  need('maxMemoryBytes', 'a number of bytes', (n) => typeof n === 'number' && n >= 0);
  need('maxWork', 'a number above 0', (n) => typeof n === 'number' && n > 0);
}

/** The constants of a model's inputs, packed. @param {EngineOptions} options */
export const constantsOf = async ({ constants }) =>
  constants ? (await lazy(() => import('./constants.js'))).packConstants(constants) : pack([]);
