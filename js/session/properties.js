/** The session's property bag: a mirror that is read at once, and written through to the engine, which saves it. */

import { invalid } from '../base/errors.js';

/** @import { Property } from '../types.js' */
/** @import { Ask, PropertyEntry, PropertyLimits } from '../engine/protocol.js' */

const encoder = new TextEncoder();

export class PropertyBag {
  #ask;
  #limits;
  /** @type {Map<string, Property>} */
  #values;

  /** @param {Ask} ask @param {PropertyEntry[]} entries @param {PropertyLimits} limits */
  constructor(ask, entries, limits) {
    this.#ask = ask;
    this.#limits = limits;
    this.#values = new Map(entries.map((entry) => [entry.name, mirrored(entry)]));
  }

  /** @param {string} name */
  get(name) {
    return this.#values.get(name);
  }

  /** @param {string} name @param {Property} value */
  set(name, value) {
    const { propertyName, propertyText } = this.#limits;
    checkText("a property's name", name, propertyName);
    if (!name) throw invalid("a property's name must not be empty");
    if (typeof value === 'string') checkText(`the value of property '${name}'`, value, propertyText);
    const entry = entryOf(name, value);
    this.#values.set(name, mirrored(entry));
    // the next save reports what the engine could not take; any call reports that the engine is gone
    this.#ask('setProperty', entry).catch(() => {});
  }

  /** @param {string} name */
  delete(name) {
    const there = this.#values.delete(name);
    if (there) this.#ask('deleteProperty', name).catch(() => {});
    return there;
  }

  entries() {
    return this.#values.entries();
  }
}

/** @param {PropertyEntry} entry @returns {Property} */
function mirrored({ type, value }) {
  if (type === 'int') return BigInt(value);
  return type === 'float' ? Math.fround(value ?? NaN) : value; // JSON has no NaN
}

/**
 * Refuses what would come back as another text.
 * @param {string} what
 * @param {unknown} text
 * @param {number} most bytes of UTF-8
 */
function checkText(what, text, most) {
  if (typeof text !== 'string') throw invalid(`${what} must be a string, not ${text === null ? 'null' : typeof text}`);
  if (/\0|\p{Surrogate}/u.test(text))
    throw invalid(`${what} must not have a zero character or half of a surrogate pair in it`);
  const bytes = text.length > most ? text.length : encoder.encode(text).length;
  if (bytes > most) throw invalid(`${what} has ${bytes} bytes or more, at most ${most} are possible`);
}

/** @param {string} name @param {Property} value @returns {PropertyEntry} */
function entryOf(name, value) {
  if (typeof value === 'string') return { name, type: 'string', value };
  if (typeof value === 'number' && Number.isFinite(Math.fround(value)))
    return { name, type: 'float', value: Math.fround(value) };
  if (typeof value === 'bigint' && BigInt.asIntN(64, value) === value)
    return { name, type: 'int', value: String(value) };
  throw invalid(`property '${name}' must be a bigint of 64 bits, a finite number (of float32) or a string`);
}
