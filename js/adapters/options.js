/** LoRA's options, by our names or PEFT's, as the engine's settings. A whole `adapter_config.json` is such options. */

import { checkKeys, checkObject, invalid } from '../base/errors.js';
import { fullMatch, MOST_STEPS } from '../base/regular-expression.js';
import { isKnown, KEYS, lackingFor, OURS } from './peft-config.js';

/** @import { ArtifactOptions } from '../types.js' */

/**
 * The engine's keys and values; `choose` gives those of the modules that are adapted, of the names of all, where they
 * or their numbers were asked for by a regular expression.
 * @typedef {{ settings: [string, string][], choose?: (names: string[]) => [string, string][] }} LoraSettings
 */

/**
 * @param {NonNullable<ArtifactOptions['lora']>} lora
 * @returns {LoraSettings}
 */
export function loraSettings(lora) {
  checkObject('generateArtifacts: lora', lora);
  const isPeft = 'peft_type' in lora;
  const given = isPeft ? ofPeft(/** @type {Record<string, unknown>} */ (lora)) : lora;
  const patterns = isPeft ? Object.entries(given).filter((entry) => isPattern(entry) || hasPatterns(entry)) : [];
  const named = Object.fromEntries(
    Object.entries(given)
      .filter((entry) => !patterns.some(([key]) => key === entry[0]))
      .map(([key, value]) => [OURS[key] ?? key, value ?? undefined]),
  );
  checkKeys('generateArtifacts: lora', named, KEYS);
  /** @type {[string, string][]} */
  const settings = [
    ['lora.r', typeof named.r === 'object' ? 'an object' : String(named.r ?? 8)],
    ['lora.ofPeft', String(Number(isPeft))],
    ...Object.entries(named)
      .filter(([key]) => key !== 'r')
      .flatMap(([key, value]) => textsOf(value).map((text) => /** @type {[string, string]} */ ([`lora.${key}`, text]))),
  ];
  if (!patterns.length) return { settings };
  const choices = patterns.map(([key, value]) =>
    typeof value === 'string' ? chooser(key, value) : numbering(key, /** @type {object} */ (value)),
  );
  return { settings, choose: (names) => choices.flatMap((choose) => choose(names)) };
}

/** A text stands for a regular expression in PEFT, a list for ends of names. @param {[string, unknown]} entry */
const isPattern = ([key, value]) =>
  ['target_modules', 'exclude_modules'].includes(key) && typeof value === 'string' && value !== 'all-linear';

/** A name, or the end of one. A dot stands for any letter. */
const PLAIN = /^[\w-]+(\.[\w-]+)*$/;

/** Numbers by regular expressions; names the engine finds by itself. @param {[string, unknown]} entry */
const hasPatterns = ([key, value]) =>
  ['rank_pattern', 'alpha_pattern'].includes(key) &&
  Object.keys(/** @type {object} */ (value)).some((pattern) => !PLAIN.test(pattern));

/**
 * Finds modules' entries as PEFT does: the first whose key, a regular expression, matches the module's name, or the end
 * of it behind a dot. All keys together may take the steps of one pattern.
 * @param {object} patterns @param {string[]} names @param {(why: string) => Error} refused
 * @returns {Map<string, [string, unknown]>} by the name of the module
 */
export function entriesFor(patterns, names, refused) {
  const [found, work] = [new Map(), { left: MOST_STEPS }];
  for (const entry of Object.entries(patterns)) {
    const [pattern] = entry;
    const fault = (/** @type {string} */ why) => refused(`has '${pattern.slice(0, 100)}', ${why}`);
    const matches = anchored(pattern) ?? patternOf(pattern, fault, `(.*\\.)?(${pattern})`, work);
    for (const name of matching(matches, names)) if (!found.has(name)) found.set(name, entry);
  }
  return found;
}

/**
 * Plain keys need no matcher, and there may be one for every module.
 * @param {string} pattern @returns {((name: string) => boolean) | undefined}
 */
function anchored(pattern) {
  const plain = pattern.replace(/^\^/, '');
  if (!PLAIN.test(plain)) return undefined;
  return (name) => {
    const at = name.length - plain.length;
    const isStart = at === 0 || (plain === pattern && name[at - 1] === '.');
    return isStart && [...plain].every((letter, i) => letter === '.' || letter === name[at + i]);
  };
}

/**
 * @param {string} key @param {object} patterns
 * @returns {(names: string[]) => [string, string][]}
 */
function numbering(key, patterns) {
  const refused = (/** @type {string} */ why) => invalid(`generateArtifacts: lora: ${key} ${why}`);
  return (names) =>
    [...entriesFor(patterns, names, refused)].map(([name, [, number]]) => [`lora.${OURS[key]}`, `${name}=${number}`]);
}

/**
 * @param {string} key @param {string} pattern
 * @returns {(names: string[]) => [string, string][]}
 */
function chooser(key, pattern) {
  const refused = (/** @type {string} */ why) =>
    invalid(`generateArtifacts: lora: ${key} is the regular expression '${pattern.slice(0, 100)}', ${why}`);
  const matches = patternOf(pattern, refused);
  return (names) => {
    const found = matching(matches, names);
    if (found.length) return found.map((name) => [`lora.${OURS[key]}`, name]);
    const some = names.slice(0, 9).join(', ') || 'none';
    throw refused(`which matches no module that can be adapted; these are ${some}`);
  };
}

/**
 * Modules whose whole names match, or match without what a wrapper has put before the first dot.
 * @param {(name: string) => boolean} matches @param {string[]} names
 */
function matching(matches, names) {
  const whole = names.filter(matches);
  return whole.length ? whole : names.filter((name) => matches(name.replace(/^[^.]*\./, '')));
}

/**
 * Refuses what it asks for and we do not have.
 * @param {Record<string, unknown>} config
 */
function ofPeft(config) {
  const lacking = lackingFor(config);
  if (lacking) throw invalid(`generateArtifacts: lora: ${lacking}`);
  return Object.fromEntries(Object.entries(config).filter(([key]) => isKnown(key)));
}

/** Longer ones could nest deeper than a stack reaches. */
const LONGEST = 1000;

/**
 * Python's regular expression for whole names. The pattern comes from a file, so JavaScript's own matcher, which tries
 * one way after the other, could take for ever.
 * @param {string} pattern @param {(why: string) => Error} refused
 * @param {string} [whole] the pattern with what may stand before it @param {{ left: number }} [work]
 */
function patternOf(pattern, refused, whole = pattern, work = { left: MOST_STEPS }) {
  /** @template T @param {() => T} work */
  const guarded = (work) => {
    try {
      return work();
    } catch (error) {
      throw refused(`${/** @type {Error} */ (error).message}: name the modules`);
    }
  };
  if (pattern.length > LONGEST) throw refused(`which is longer than ${LONGEST} letters: name the modules`);
  const matches = guarded(() => fullMatch(whole, work));
  return (/** @type {string} */ name) => guarded(() => matches(name));
}

/** A number, a name, a flag, an array of names, or an object of names and what each has. @param {unknown} value */
function textsOf(value) {
  if (value === undefined) return [];
  if (Array.isArray(value)) return [...new Set(value.map(String))];
  if (typeof value === 'boolean') return [String(Number(value))];
  if (typeof value === 'object' && value) return Object.entries(value).map(([key, one]) => `${key}=${one}`);
  return [String(value)];
}
