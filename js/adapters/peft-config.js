/** An `adapter_config.json` of Hugging Face's PEFT: its names for our options, the values of its entries. */

/** PEFT's names for ours. @type {Record<string, string>} */
export const OURS = {
  lora_alpha: 'alpha',
  lora_dropout: 'dropout',
  target_modules: 'targets',
  exclude_modules: 'exclude',
  use_rslora: 'rsLora',
  rank_pattern: 'rankPattern',
  alpha_pattern: 'alphaPattern',
  modules_to_save: 'modulesToSave',
};
export const KEYS = ['r', 'init', 'bias', 'moduleNames', ...Object.values(OURS)];
/** Entries that change nothing here: how the adapter was made, and how its weights began. */
const UNREAD = new RegExp(
  '^(peft_.*|base_model_.*|task_type|inference_mode|fan_in_fan_out|init_lora_weights|auto_mapping|revision|' +
    'megatron_.*|(loftq|eva|corda|lora_ga|velora|monteclora)_config|qalora_group_size)$',
);

const isText = (/** @type {unknown} */ value) => typeof value === 'string';
const isNumber = (/** @type {unknown} */ value) => typeof value === 'number' && Number.isFinite(value);
const isObject = (/** @type {unknown} */ value) => typeof value === 'object' && !Array.isArray(value);
const isNames = (/** @type {unknown} */ value) =>
  value === null || isText(value) || (Array.isArray(value) && value.every(isText));
/** @typedef {readonly [string, (value: unknown) => boolean]} Wanted the kind of a value, and whether one is of it */
/** @param {unknown[]} values @returns {Wanted} */
const among = (...values) => [`one of ${values.map(String).join(', ')}`, (value) => values.includes(value)];
/** @type {Wanted} */
const NAMES = ['a text or a list of texts', isNames];
/** @type {Wanted} */
const NUMBER = ['a number', isNumber];
/** @type {Wanted} */
const NUMBERS = ['an object of numbers', (value) => isObject(value) && value !== null];
/** Settings of a method. @type {Wanted} */
const SETTINGS = ['an object', isObject];
const TASKS = ['SEQ_CLS', 'SEQ_2_SEQ_LM', 'CAUSAL_LM', 'TOKEN_CLS', 'QUESTION_ANS', 'FEATURE_EXTRACTION'];

/**
 * The values that PEFT takes, beside none. Beginnings that it takes and that are not here (pissa, corda, olora, loftq,
 * lora_ga) change the weights below the adapter.
 * @type {Record<string, Wanted>}
 */
const WANTED = {
  r: NUMBER,
  lora_alpha: NUMBER,
  lora_dropout: ['a number from 0 to 1', (value) => isNumber(value) && Number(value) >= 0 && Number(value) <= 1],
  rank_pattern: NUMBERS,
  alpha_pattern: NUMBERS,
  target_modules: NAMES,
  exclude_modules: NAMES,
  modules_to_save: NAMES,
  bias: among('none', 'all', 'lora_only'),
  task_type: among(null, ...TASKS),
  init_lora_weights: among(null, true, false, 'gaussian', 'eva', 'orthogonal', 'mica'),
};

/** @param {Record<string, unknown>} config @returns {string | undefined} what is no value of its entry */
function unfitIn(config) {
  const wantedFor = (/** @type {string} */ key) =>
    Object.hasOwn(WANTED, key) ? WANTED[key] : key.endsWith('_config') ? SETTINGS : undefined;
  for (const [key, value] of Object.entries(config)) {
    const [wanted, holds] = wantedFor(key) ?? [];
    if (value !== undefined && holds && !holds(value)) return `${key} is ${shown(value)}, not ${wanted}`;
  }
  return undefined;
}

/** The beginning of a value; nested ones could be too deep for JSON.stringify. @param {unknown} value */
function shown(value) {
  if (typeof value === 'object' && value) return Array.isArray(value) ? 'a list' : 'an object';
  return isText(value) ? JSON.stringify(String(value).slice(0, 64)) : String(value);
}

/** Empty, false and null ask for nothing. @param {unknown} value */
const isAsked = (value) => Boolean(value && (typeof value !== 'object' || Object.keys(value).length));

/** @param {string} key */
export const isKnown = (key) => Object.hasOwn(OURS, key) || KEYS.includes(key);

/**
 * Tells what the configuration asks for and Trainlet does not have.
 * @param {Record<string, unknown>} config
 * @param {string[]} [also] further entries that change nothing
 * @returns {string | undefined} the rest of a sentence
 */
export function lackingFor(config, also = []) {
  if (config.peft_type !== 'LORA') return `peft_type is ${shown(config.peft_type)}, not LORA`;
  const unfit = unfitIn(config);
  if (unfit) return unfit;
  const asked = Object.entries(config).find(
    ([key, value]) => !isKnown(key) && !UNREAD.test(key) && !also.includes(key) && isAsked(value),
  );
  return asked && `PEFT's ${asked[0]} is not supported`;
}
