/** Reads a model's notes of its LoRA adapters: metadata that anybody may have written, so each entry is checked. */

import { invalid, nameOf, TrainletError } from '../base/errors.js';

/**
 * @typedef {{ name: string, kind: 'linear' | 'conv' | 'embedding', weight: string, r: number, alpha: number }} Module
 * @typedef {{ parameter: string, name: string, turned: boolean }} Other what trains beside the adapters
 * @typedef {{ r: number, alpha: number, dropout: number, rsLora: boolean, bias: string, modules: Module[],
 * others: Other[], modulesToSave: string[] }} Lora
 * @typedef {readonly { readonly name: string, readonly dims: readonly number[] }[]} Parameters
 * @typedef {(value: any, path: string) => void} Check throws for a value that is not what it should be
 */

const KEY = 'trainlet.lora';
const MOST_RANK = 65536;

/** Names a value of JSON, whose `constructor` may be anything, as nameOf does. @param {unknown} value */
export const nameOfJson = (value) =>
  Object.prototype.toString.call(value) === '[object Object]' ? 'an object' : nameOf(value);

/** @param {string} wanted @param {(value: any) => boolean} holds @returns {Check} */
const is = (wanted, holds) => (value, path) => {
  if (!holds(value)) throw damaged(`${path} is ${nameOfJson(value)}, not ${wanted}`);
};

/** @param {Check} check @returns {Check} */
const list = (check) => (value, path) => {
  is('a list', Array.isArray)(value, path);
  value.forEach((/** @type {unknown} */ item, /** @type {number} */ i) => {
    check(item, `${path}[${i}]`);
  });
};

/** @param {Record<string, Check>} checks @returns {Check} */
const object = (checks) => (value, path) => {
  is('an object', (one) => one && typeof one === 'object' && !Array.isArray(one))(value, path);
  for (const [key, check] of Object.entries(checks)) check(value[key], `${path}.${key}`);
};

const text = is('a text', (value) => typeof value === 'string');
const flag = is('true or false', (value) => typeof value === 'boolean');
const number = is('a finite number', Number.isFinite);
const rank = is(
  `a whole number from 1 to ${MOST_RANK}`,
  (value) => Number.isInteger(value) && value > 0 && value <= MOST_RANK,
);
const kind = is('linear, conv or embedding', (value) => ['linear', 'conv', 'embedding'].includes(value));

const checkLora = object({
  r: rank,
  alpha: number,
  dropout: number,
  rsLora: flag,
  bias: text,
  modulesToSave: list(text),
  modules: list(object({ name: text, kind, weight: text, r: rank, alpha: number })),
  others: list(object({ parameter: text, name: text, turned: flag })),
});

/** @param {string} what */
const damaged = (what) => new TrainletError('invalid-model', `the model's metadata '${KEY}' is damaged: ${what}`);

/** The names of A and B. @param {Module} module */
export const pairOf = ({ name, kind }) =>
  (kind === 'embedding' ? ['lora_embedding_A', 'lora_embedding_B'] : ['lora_A.weight', 'lora_B.weight']).map(
    (end) => `${name}.${end}`,
  );

/**
 * @param {string} where the method, for messages
 * @param {string | undefined} metadata
 * @param {Parameters} parameters
 * @returns {Lora}
 */
export function loraIn(where, metadata, parameters) {
  if (!metadata) throw invalid(`${where}: the session has no adapter: make its artifacts with the option lora`);
  const lora = parsed(metadata);
  checkLora(lora, 'it');
  const dims = new Map(parameters.map((parameter) => [parameter.name, parameter.dims]));
  for (const module of lora.modules) {
    const [a, b] = pairOf(module).map((name) => dims.get(name));
    if (a?.[0] !== module.r || b?.[1] !== module.r)
      throw damaged(`no parameters of rank ${module.r} adapt its module '${module.name}'`);
  }
  const missing = lora.others.find(({ parameter }) => !dims.has(parameter));
  if (missing) throw damaged(`its parameter '${missing.parameter}' is none of the model's`);
  return lora;
}

/** @param {string} metadata @returns {Lora} */
function parsed(metadata) {
  try {
    return JSON.parse(metadata);
  } catch {
    throw damaged('it is no JSON');
  }
}
