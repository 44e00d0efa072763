/** A copy of options, read once: what comes from outside may throw when it is read, or say another thing each time. */

import { checkKeys, invalid, nameOf, sentenceOf, TrainletError } from './errors.js';

/**
 * Plain objects among the options are copied too; others, as stores, are kept.
 * @template {object} T
 * @param {string} where
 * @param {T} options
 * @param {readonly string[]} keys
 * @param {readonly symbol[]} [symbols] options of our own
 * @returns {T}
 */
export function ownOptions(where, options, keys, symbols = []) {
  try {
    checkKeys(where, options, keys);
    const found = [...keys, ...symbols].map((key) => [key, owned(/** @type {any} */ (options)[key])]);
    return Object.fromEntries(found.filter(([, value]) => value !== undefined));
  } catch (error) {
    if (error instanceof TrainletError) throw error;
    throw invalid(`${where}: its options could not be read: ${sentenceOf(error)}`);
  }
}

/** @param {any} value */
function owned(value) {
  readable(value);
  if (typeof value !== 'object' || value === null) return value;
  const prototype = Object.getPrototypeOf(value); // plain: it has none, or the Object of any realm has made it
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, option]) => [key, readable(option)]));
}

/** Throws for what no message could name. @param {any} value */
function readable(value) {
  if (typeof value === 'symbol') throw new TypeError('a symbol is none');
  if (typeof value !== 'object' || value === null) return value;
  void value.constructor;
  if (Array.isArray(value)) for (const item of value) if (typeof item === 'object') Object.values(item ?? {});
  return Object.getPrototypeOf(value) === null ? { ...value } : value;
}

/** @param {string} where @param {Record<string, any>} options @param {readonly string[]} names */
export function checkListeners(where, options, names) {
  for (const name of names) {
    const listener = options[name];
    if (listener === undefined || listener === null || typeof listener === 'function') continue;
    throw invalid(`${where}: ${name} must be a function, not ${nameOf(listener)}`);
  }
}

/** @param {unknown} signal */
export function needSignal(signal) {
  const { aborted, addEventListener } = /** @type {any} */ (signal ?? {});
  if (signal === undefined || signal === null) return;
  if (typeof aborted !== 'boolean' || typeof addEventListener !== 'function')
    throw invalid(`signal must be an AbortSignal, not ${nameOf(signal)}`);
}
