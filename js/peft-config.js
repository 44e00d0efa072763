/** An `adapter_config.json` of Hugging Face's PEFT: its names for our options, and what is not here. */

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
  '^(peft_.*|base_model_.*|task_type|inference_mode|fan_in_fan_out|init_lora_.*|auto_mapping|revision|megatron_.*|' +
    '.*_config|qalora_group_size)$',
);

/** Empty, false and null ask for nothing. @param {unknown} value */
const isAsked = (value) => Boolean(value) && !(typeof value === 'object' && value && Object.keys(value).length === 0);

/** @param {string} key */
export const isKnown = (key) => Object.hasOwn(OURS, key) || KEYS.includes(key);

/**
 * Tells what the configuration asks for and Trainlet does not have.
 * @param {Record<string, unknown>} config
 * @param {string[]} [also] further entries that change nothing
 * @returns {string | undefined} the rest of a sentence
 */
export function lackingFor(config, also = []) {
  if (config.peft_type !== 'LORA') return `peft_type is ${JSON.stringify(config.peft_type)}, not LORA`;
  const asked = Object.entries(config).find(
    ([key, value]) => !isKnown(key) && !UNREAD.test(key) && !also.includes(key) && isAsked(value),
  );
  return asked && `PEFT's ${asked[0]} is not supported`;
}
