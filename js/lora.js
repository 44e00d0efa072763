/** LoRA's options, by our names or PEFT's, as the engine's settings. A whole `adapter_config.json` is such options. */

/** @import { ArtifactOptions } from './types.js' */
/** @typedef {Pick<typeof import('./errors.js'), 'checkKeys' | 'checkObject' | 'invalid'>} Errors */

/** PEFT's names for ours. @type {Record<string, string>} */
const OURS = {
  lora_alpha: 'alpha',
  lora_dropout: 'dropout',
  target_modules: 'targets',
  exclude_modules: 'exclude',
  use_rslora: 'rsLora',
  rank_pattern: 'rankPattern',
  alpha_pattern: 'alphaPattern',
  modules_to_save: 'modulesToSave',
};
const KEYS = ['r', 'init', 'bias', 'moduleNames', ...Object.values(OURS)];
/** What a PEFT configuration may say beside, that changes nothing here: how it was made, and how its weights began. */
const UNREAD = new RegExp(
  '^(peft_.*|base_model_.*|task_type|inference_mode|fan_in_fan_out|init_lora_.*|auto_mapping|revision|megatron_.*|' +
    '.*_config|qalora_group_size)$',
);

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
  const { target_modules: targets } = /** @type {Record<string, unknown>} */ (isPeft ? given : {});
  const isPattern = typeof targets === 'string' && targets !== 'all-linear';
  const named = Object.fromEntries(
    Object.entries(given)
      .filter(([key]) => !isPattern || key !== 'target_modules')
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
  if (!isPattern) return { settings };
  const pattern = patternOf(targets, invalid);
  return { settings, choose: (names) => matching(pattern, names, invalid) };
}

/**
 * Modules whose whole names match, or match without what a wrapper has put before the first dot.
 * @param {RegExp} pattern @param {string[]} names @param {Errors['invalid']} invalid
 * @returns {[string, string][]}
 */
function matching(pattern, names, invalid) {
  const whole = names.filter((name) => pattern.test(name));
  const found = whole.length ? whole : names.filter((name) => pattern.test(name.replace(/^[^.]*\./, '')));
  if (found.length) return found.map((name) => ['lora.targets', name]);
  throw invalid(
    `generateArtifacts: lora: target_modules, ${pattern}, matches no module that can be adapted; these are ` +
      (names.slice(0, 9).join(', ') || 'none'),
  );
}

/**
 * Refuses what it asks for and we do not have; empty, false and null ask for nothing.
 * @param {Record<string, unknown>} config @param {Errors['invalid']} invalid
 */
function ofPeft(config, invalid) {
  if (config.peft_type !== 'LORA') throw invalid(`generateArtifacts: lora: peft_type is ${config.peft_type}, not LORA`);
  const known = Object.entries(config).filter(([key]) => OURS[key] || KEYS.includes(key));
  const asked = Object.entries(config).find(
    ([key, value]) => !OURS[key] && !KEYS.includes(key) && !UNREAD.test(key) && isAsked(value),
  );
  if (asked) throw invalid(`generateArtifacts: lora: PEFT's ${asked[0]} is not supported`);
  return Object.fromEntries(known);
}

/**
 * Python's regular expression for whole names, as JavaScript's.
 * @param {string} python @param {Errors['invalid']} invalid
 */
function patternOf(python, invalid) {
  const refused = (/** @type {string} */ why) =>
    invalid(`generateArtifacts: lora: target_modules is the regular expression '${python.slice(0, 100)}', ${why}`);
  if (python.length > 1000 || repeatsTwice(python)) throw refused('which may take for ever: name the modules');
  const pattern = `^(?:${python.replace(/\(\?P</g, '(?<').replace(/\\([ !"#%&',:;<=>@_`~])/g, '$1')})$`;
  try {
    return new RegExp(pattern, 'u');
  } catch {
    throw refused('which JavaScript cannot read: name the modules');
  }
}

/** Whether a group repeats in which something repeats or is chosen: it may try for ever. @param {string} pattern */
function repeatsTwice(pattern) {
  const inside = [false];
  for (const [token] of pattern.matchAll(/\\.|\[(?:\\.|[^\]\\])*\]|\)?[*+{]|./gs)) {
    const [group, repeats] = [token.startsWith(')'), /[*+{]$/.test(token) && !/^[\\[]/.test(token)];
    if (token === '(') inside.push(false);
    const within = group && inside.length > 1 && inside.pop();
    if (within && repeats) return true;
    inside[inside.length - 1] ||= within || repeats || token === '|';
  }
  return false;
}

/** @param {unknown} value */
const isAsked = (value) => Boolean(value) && !(typeof value === 'object' && value && Object.keys(value).length === 0);

/** A number, a name, a flag, an array of names, or an object of names and what each has. @param {unknown} value */
function textsOf(value) {
  if (value === undefined) return [];
  if (Array.isArray(value)) return [...new Set(value.map(String))];
  if (typeof value === 'boolean') return [String(Number(value))];
  if (typeof value === 'object' && value) return Object.entries(value).map(([key, one]) => `${key}=${one}`);
  return [String(value)];
}
