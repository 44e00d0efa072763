/** The session's property bag: a mirror that is read at once, and written through to the engine, which saves it. */

import { TrainletError } from './errors.js';

/** @import { Property } from './types.js' */
/** @import { Ask, PropertyEntry } from './protocol.js' */

export class PropertyBag {
  #ask;
  /** @type {Map<string, Property>} */
  #values;

  /** @param {Ask} ask @param {PropertyEntry[]} entries */
  constructor(ask, entries) {
    this.#ask = ask;
    this.#values = new Map(entries.map((entry) => [entry.name, mirrored(entry)]));
  }

  /** @param {string} name */
  get(name) { return this.#values.get(name); }

  /** @param {string} name @param {Property} value */
  set(name, value) {
    const entry = entryOf(name, value);
    this.#values.set(name, mirrored(entry));
    this.#ask('setProperty', entry).catch(() => {}); // a session that is gone says so at its next call
  }

  /** @param {string} name */
  delete(name) {
    this.#ask('deleteProperty', name).catch(() => {});
    return this.#values.delete(name);
  }

  entries() { return this.#values.entries(); }
}

/** @param {PropertyEntry} entry @returns {Property} */
function mirrored({ type, value }) {
  if (type === 'int') return BigInt(value);
  return type === 'float' ? Math.fround(value ?? NaN) : value; // JSON has no NaN
}

/** @param {string} name @param {Property} value @returns {PropertyEntry} */
function entryOf(name, value) {
  if (typeof value === 'string') return { name, type: 'string', value };
  if (Number.isFinite(value)) return { name, type: 'float', value: Math.fround(/** @type {number} */ (value)) };
  if (typeof value === 'bigint' && BigInt.asIntN(64, value) === value) return { name, type: 'int', value: String(value) };
  throw new TrainletError('invalid-argument', `property '${name}' must be a bigint of 64 bits, a finite number or a string`);
}
