/** The one class of everything that is thrown, and the check that no option passes unread. */

import { isKind } from './kind.js';

/** @import { ErrorCode, History } from '../types.js' */

export class TrainletError extends Error {
  /** All public classes have it: users see their names, whatever a minifier calls them. */
  static get name() {
    return 'TrainletError';
  }

  /**
   * @param {ErrorCode} code
   * @param {string} message
   * @param {{ node?: string, history?: History, cause?: unknown }} [options]
   */
  constructor(code, message, options = {}) {
    super(message, options); // options carry the cause, if there is one
    this.name = 'TrainletError';
    this.code = code;
    // an absent field is not printed
    if (options.node !== undefined) this.node = options.node;
    if (options.history !== undefined) this.history = options.history;
  }
}

/** @param {string} message */
export const invalid = (message) => new TrainletError('invalid-argument', message);

/** An error about a tensor or feeds. @param {string} message */
export const badFeed = (message) => new TrainletError('invalid-feed', message);

/** @param {unknown} error */
export function sentenceOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/** Names a wrong value for a message; a promise is one that nobody has awaited. @param {unknown} value */
export function nameOf(value) {
  if (value === null || typeof value !== 'object') return typeof value === 'string' ? `'${value}'` : String(value);
  if (isKind(value, 'Promise')) return 'a promise: await it';
  const name = Array.isArray(value) ? 'array' : (value.constructor?.name ?? 'thing without a class');
  return `${/^[AEIOae]/.test(name) ? 'an' : 'a'} ${name}`;
}

/** Refuses what holds no fields by name; nothing at all is fine. @param {string} where @param {unknown} value */
export function checkObject(where, value) {
  if (value !== undefined) needObject(where, value);
}

/** @param {string} where @param {unknown} value */
export function needObject(where, value) {
  const plain = typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
  if (plain && !isKind(value, 'Promise')) return;
  throw invalid(`${where}: wanted an object, not ${nameOf(value)}`);
}

/** Suggests the name that a misspelt one may have meant. @param {string} name @param {readonly string[]} known */
export function suggestion(name, known) {
  const plain = (/** @type {string} */ text) => text.toLowerCase().replace(/\W|_/g, '');
  const own = plain(name);
  for (let errors = 0; errors <= Math.min(3, name.length / 4); errors++)
    for (const other of known)
      if ((other[3] && own.startsWith(plain(other))) || isNear(own, plain(other), errors)) return ` (is it ${other}?)`;
  return '';
}

/**
 * True if so many letters changed, added or left out make one of the other.
 * @type {(a: string, b: string, errors: number) => boolean}
 */
function isNear(a, b, errors) {
  if (errors < 0 || a === b) return errors >= 0;
  const [x, y] = [a.slice(1), b.slice(1)];
  return a[0] === b[0]
    ? isNear(x, y, errors)
    : [
        [x, b],
        [a, y],
        [x, y],
      ].some(([c, d]) => isNear(c, d, errors - 1));
}

/** @param {string} thing @param {string} maker */
export const notByNew = (thing, maker) => invalid(`${thing} by await ${maker}, not by new`);

/**
 * Refuses an option that is not known: a misspelt one must not be ignored in silence.
 * @param {string} where
 * @param {object | undefined} options
 * @param {readonly string[]} known
 */
export function checkKeys(where, options, known) {
  checkObject(where, options);
  for (const [key, value] of Object.entries(options ?? {})) {
    if (value !== undefined && !known.includes(key)) {
      throw invalid(`${where}: there is no option '${key}'; it knows ${known.join(', ')}${suggestion(key, known)}`);
    }
  }
}

/**
 * @param {string} where
 * @param {unknown} value
 * @param {number} least
 */
export function checkWhole(where, value, least) {
  if (!Number.isSafeInteger(value) || /** @type {number} */ (value) < least) {
    throw invalid(`${where} must be a whole number of at least ${least}, not ${nameOf(value)}`);
  }
}

/** @param {AbortSignal | undefined} signal */
export function checkSignal(signal) {
  if (signal != null && !signal.addEventListener) throw invalid('signal must be an AbortSignal');
  if (signal?.aborted) throw abortedBy(signal);
}

/** @param {AbortSignal | undefined} signal */
export function abortedBy(signal, message = 'stopped by the signal') {
  return new TrainletError('aborted', message, { cause: signal?.reason });
}
