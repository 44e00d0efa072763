/** LoRA's options, by our names or PEFT's, as the engine's settings. A whole `adapter_config.json` is such options. */

import { isKnown, KEYS, lackingFor, OURS } from './peft-config.js';
import { fullMatch } from './regular-expression.js';

/** @import { ArtifactOptions } from './types.js' */
/** @typedef {Pick<typeof import('./errors.js'), 'checkKeys' | 'checkObject' | 'invalid'>} Errors */

/**
 * The engine's keys and values; `choose` gives those of the modules that are adapted, of the names of all, where they
 * were asked for by a regular expression.
 * @typedef {{ settings: [string, string][], choose?: (names: string[]) => [string, string][] }} LoraSettings
 */

/**
 * @param {NonNullable<ArtifactOptions['lora']>} lora
 * @param {Errors} errors handed over, so that bundlers leave that file where it is
 * @returns {LoraSettings}
 */
export function loraSettings(lora, { checkKeys, checkObject, invalid }) {
  checkObject('generateArtifacts: lora', lora);
  const isPeft = 'peft_type' in lora;
  const given = isPeft ? ofPeft(/** @type {Record<string, unknown>} */ (lora), invalid) : lora;
  const patterns = isPeft ? Object.entries(given).filter((entry) => isPattern(entry) || hasPatterns(entry)) : [];
  const named = Object.fromEntries(
    Object.entries(given)
      .filter((entry) => !patterns.some(([key]) => key === entry[0]))
      .map(([key, value]) => [OURS[key] ?? key, value ?? undefined]),
  );
  checkKeys('generateArtifacts: lora', named, KEYS);
  /** @type {[string, string][]} */
  const settings = [
    ['lora.r', String(named.r ?? 8)],
    ['lora.ofPeft', String(Number(isPeft))],
    ...Object.entries(named)
      .filter(([key]) => key !== 'r')
      .flatMap(([key, value]) => textsOf(value).map((text) => /** @type {[string, string]} */ ([`lora.${key}`, text]))),
  ];
  if (!patterns.length) return { settings };
  const choices = patterns.map(([key, value]) =>
    typeof value === 'string' ? chooser(key, value, invalid) : numbering(key, /** @type {object} */ (value), invalid),
  );
  return { settings, choose: (names) => choices.flatMap((choose) => choose(names)) };
}

/** A text stands for a regular expression in PEFT, a list for ends of names. @param {[string, unknown]} entry */
const isPattern = ([key, value]) =>
  ['target_modules', 'exclude_modules'].includes(key) && typeof value === 'string' && value !== 'all-linear';

/** Numbers by regular expressions; names the engine finds by itself. @param {[string, unknown]} entry */
const hasPatterns = ([key, value]) =>
  ['rank_pattern', 'alpha_pattern'].includes(key) &&
  Object.keys(/** @type {object} */ (value)).some((pattern) => !/^[\w.-]+$/.test(pattern));

/**
 * Finds a module's entry as PEFT does: the first whose key, a regular expression, matches the module's name or the end
 * of it behind a dot.
 * @param {object} patterns @param {(why: string) => Error} refused
 * @returns {(name: string) => [string, unknown] | undefined}
 */
export function entryFinder(patterns, refused) {
  const entries = Object.entries(patterns).map((entry) => {
    const [pattern] = entry;
    const fault = (/** @type {string} */ why) => refused(`has '${pattern.slice(0, 100)}', ${why}`);
    return { entry, matches: patternOf(`(.*\\.)?(${pattern})`, fault) };
  });
  return (name) => entries.find(({ matches }) => matches(name))?.entry;
}

/**
 * @param {string} key @param {object} patterns @param {Errors['invalid']} invalid
 * @returns {(names: string[]) => [string, string][]}
 */
function numbering(key, patterns, invalid) {
  const find = entryFinder(patterns, (why) => invalid(`generateArtifacts: lora: ${key} ${why}`));
  return (names) =>
    names.flatMap((name) => {
      const found = find(name);
      return found ? [/** @type {[string, string]} */ ([`lora.${OURS[key]}`, `${name}=${found[1]}`])] : [];
    });
}

/**
 * @param {string} key @param {string} pattern @param {Errors['invalid']} invalid
 * @returns {(names: string[]) => [string, string][]}
 */
function chooser(key, pattern, invalid) {
  const refused = (/** @type {string} */ why) =>
    invalid(`generateArtifacts: lora: ${key} is the regular expression '${pattern.slice(0, 100)}', ${why}`);
  const matches = patternOf(pattern, refused);
  return (names) => matching(matches, names, refused).map((name) => [`lora.${OURS[key]}`, name]);
}

/**
 * Modules whose whole names match, or match without what a wrapper has put before the first dot.
 * @param {(name: string) => boolean} matches @param {string[]} names @param {(why: string) => Error} refused
 */
function matching(matches, names, refused) {
  const whole = names.filter(matches);
  const found = whole.length ? whole : names.filter((name) => matches(name.replace(/^[^.]*\./, '')));
  if (found.length) return found;
  const some = names.slice(0, 9).join(', ') || 'none';
  throw refused(`which matches no module that can be adapted; these are ${some}`);
}

/**
 * Refuses what it asks for and we do not have.
 * @param {Record<string, unknown>} config @param {Errors['invalid']} invalid
 */
function ofPeft(config, invalid) {
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
 */
function patternOf(pattern, refused) {
  /** @template T @param {() => T} work */
  const guarded = (work) => {
    try {
      return work();
    } catch (error) {
      throw refused(`${/** @type {Error} */ (error).message}: name the modules`);
    }
  };
  if (pattern.length > LONGEST) throw refused(`which is longer than ${LONGEST} letters: name the modules`);
  const matches = guarded(() => fullMatch(pattern));
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
